from pathlib import Path

import pytest

from regard.languages import languages_from_names, languages_swapped


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("train.en", "train.ko", ("en", "ko")),
        ("a.b/train.lc.tok.en", "train.lc.tok.ko", ("en", "ko")),
        ("train.en.gz", "train.de.txt.gz", ("en", "de")),
        ("train.eng", "train.deu", ("eng", "deu")),
        ("train.pt-BR", "train.zh_CN", ("pt-BR", "zh_CN")),
        ("train.en", "other.en", ()),
        ("train.src", "train.tgt", ()),
        ("train.xx", "train.ko", ()),
        ("source.txt", "target.txt", ()),
        ("en", "ko", ()),
        ("train.english", "train.ko", ()),
    ],
)
def test_codes_come_from_two_names_or_none(source: str, target: str, languages: tuple[str, ...]) -> None:
    assert languages_from_names(Path(source), Path(target)) == languages


@pytest.mark.parametrize(
    ("names", "direction", "is_swapped"),
    [
        ("a.zh-CN a.zh-TW", "zh-CN zh-TW", False),
        ("a.zh-TW a.zh-CN", "zh-CN zh-TW", True),
        ("a.en_US a.en_GB", "en-US en-GB", False),
        ("a.en_GB a.en_US", "en-US en-GB", True),
        ("a.pt-BR a.pt-PT", "pt-br pt-pt", False),
        ("a.pt a.pt-PT", "pt-PT pt-BR", False),  # the codes do not tell
        ("a.en-GB a.ko", "en ko", False),
        ("a.ko a.en-GB", "en-US ko", True),
        ("a.ko a.en", "", False),
    ],
)
def test_sides_are_swapped_according_to_codes(names: str, direction: str, is_swapped: bool) -> None:
    source, target = map(Path, names.split())
    assert bool(languages_swapped(source, target, direction.split())) == is_swapped

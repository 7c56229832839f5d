from pathlib import Path

import pytest

from regard.cli.running.endings import languages_by_ending


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
def test_codes_are_read_off_two_names_or_not_at_all(source: str, target: str, languages: tuple[str, ...]) -> None:
    assert languages_by_ending(Path(source), Path(target)) == languages

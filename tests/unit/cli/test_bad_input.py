"""What people give by mistake: always a clear line and exit code 2, never a traceback."""

import shutil
from pathlib import Path

import pytest

from tests.support.commands import Regard
from tests.support.toy_language import with_languages

BAD = {
    "short": (b"one\n", "has 24 lines and"),
    "latin": (b"one\n" * 6 + b"caf\xe9\n", "latin:7: byte 4 (0xe9) is not UTF-8"),
    "empty": (b"", "has 24 lines and"),
    "endless": (b"a" * (16 * 2**20 + 2), "endless:1: the line is longer than"),
}


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bad")
    for name, (content, _) in BAD.items():
        (directory / name).write_bytes(content)
    return directory


@pytest.mark.parametrize("name", [*BAD, "missing"])
@pytest.mark.parametrize("verb", ["evaluate", "compare", "align", "train"])
def test_a_bad_file_is_named_by_every_command(
    regard: Regard, transformer: Path, corpus: Path, bad: Path, tmp_path: Path, verb: str, name: str
) -> None:
    good, other = corpus / "test.en", bad / name
    words: list[object] = [verb, transformer, "--source", good]
    words += ["--target" if verb == "align" else "--reference", other]
    if verb == "train":
        paths = f"data.train=['{good}', '{other}']"
        words = ["train", corpus / "transformer.toml", "--run", tmp_path / "run", "--set", paths]
    ended = regard(*words)
    problem = BAD[name][1] if name in BAD else "missing cannot be read"
    assert ended.code == 2
    assert problem in ended.err
    assert str(other) in ended.err
    assert not ended.out or verb == "train"


def test_empty_corpus_is_reported(regard: Regard, corpus: Path, bad: Path, tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    paths = f"data.train=['{bad / 'empty'}', '{tmp_path / 'nothing'}']"
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", "--set", paths)
    assert ended.code == 2
    assert "empty is empty" in ended.err


def test_odd_lines_are_measured_line_by_line(regard: Regard, attending: Path, tmp_path: Path) -> None:
    odd, same = tmp_path / "odd", tmp_path / "same"
    for path in (odd, same):
        path.write_bytes(b"\n\x00\ncat\x00dog\r\n \nlone\rreturn\n" + b"cat " * 3000 + b"\n")
    words = ["--source", odd, "--reference", same, "--beam", 1, "--resamples", 2, "--output", tmp_path / "out"]
    ended = regard("evaluate", attending, *words)
    assert ended.code == 0, ended.err
    assert "source line 6 has more than 1024 tokens" in ended.err
    assert (tmp_path / "out").read_bytes().count(b"\n") == 6


def test_a_damaged_model_is_refused_by_name(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "config.toml", "target.spm"):
        copy = tmp_path / name / "model"
        shutil.copytree(transformer / "model", copy, ignore=shutil.ignore_patterns("engines"))
        content = bytearray((copy / name).read_bytes())
        content[len(content) // 2] ^= 1
        (copy / name).write_bytes(content)
        ended = regard("translate", copy, "--input", corpus / "test.en")
        assert ended.code == 2
        is_config = name == "config.toml"  # it is parsed before its hash is checked
        assert (name if is_config else f"{name} is damaged") in ended.err


@pytest.mark.parametrize("verb", ["info", "translate", "evaluate", "compare", "align"])
def test_directory_without_a_model_is_refused(regard: Regard, corpus: Path, verb: str) -> None:
    more: dict[str, list[object]] = {
        "translate": ["--input", corpus / "test.en"],
        "evaluate": ["--source", corpus / "test.en", "--reference", corpus / "test.ko"],
        "compare": ["--source", corpus / "test.en", "--reference", corpus / "test.ko"],
        "align": ["--source", corpus / "test.en", "--target", corpus / "test.ko"],
    }
    ended = regard(verb, corpus, *more.get(verb, []))
    assert ended.code == 2
    assert f"{corpus} is not a model" in ended.err


SIDES = {"evaluate": ("source", "reference"), "compare": ("source", "reference"), "align": ("source", "target")}


def words_of(verb: str, model: Path, first: Path, second: Path) -> list[object]:
    own, other = SIDES[verb]
    return [verb, model, f"--{own}", first, f"--{other}", second]


@pytest.mark.parametrize("verb", SIDES)
def test_swapped_files_are_reported(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, verb: str) -> None:
    ended = regard(*words_of(verb, transformer, corpus / "test.ko", corpus / "test.en"))
    assert (ended.code, ended.out) == (2, "")
    assert f"test.en end in ko and en, but {transformer} translates en to ko" in ended.err
    assert f"Swap --source and --{SIDES[verb][1]}" in ended.err
    fitting = with_languages(transformer, tmp_path / "fitting", "['ko-KR', 'en']")
    nameless = with_languages(transformer, tmp_path / "nameless", "[]")
    for model in (fitting, nameless):
        assert regard(*words_of(verb, model, corpus / "test.ko", corpus / "test.en")).code == 0


@pytest.mark.parametrize("verb", SIDES)
def test_one_file_is_not_both_sides(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, verb: str) -> None:
    (tmp_path / "link.ko").symlink_to(corpus / "test.en")
    for second in (corpus / "test.en", tmp_path / "link.ko"):
        ended = regard(*words_of(verb, transformer, corpus / "test.en", second))
        assert (ended.code, ended.out) == (2, "")
        assert f"--source and --{SIDES[verb][1]} are the same file" in ended.err


def test_swapped_development_set_is_reported(regard: Regard, transformer: Path, corpus: Path) -> None:
    words = ["--dev-source", corpus / "valid.ko", "--dev-target", corpus / "valid.en"]
    words += ["--dev-gold", corpus / "valid.align", "--best-head"]
    ended = regard(*words_of("align", transformer, corpus / "test.en", corpus / "test.ko"), *words)
    assert ended.code == 2
    assert "Swap --dev-source and --dev-target" in ended.err

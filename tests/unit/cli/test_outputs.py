"""Where commands write: never over what they read, and not at the price of what they found."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import Regard, command, environment

TEXTS = ["--source", "test.en", "--reference", "test.ko"]
PAIRS = ["--source", "test.en", "--target", "test.ko"]


@pytest.fixture
def desk(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with files to read, and other names for the first of them."""
    for name in ("test.en", "test.ko", "test.align"):
        shutil.copy(corpus / name, tmp_path)
    (tmp_path / "link").symlink_to("test.en")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("translate", ["--input", "test.en", "--output", "test.en"]),
        ("translate", ["--input", "test.en", "--output", "./test.en"]),
        ("translate", ["--input", "test.en", "--output", "link"]),
        ("translate", ["--input", "link", "--output", "test.en"]),
        ("translate", ["--input", "test.en", "--alignments", "test.en"]),
        ("evaluate", [*TEXTS, "--output", "test.en"]),
        ("evaluate", [*TEXTS, "--output", "test.ko"]),
        ("compare", [*TEXTS, "--report", "test.ko"]),
        ("align", [*PAIRS, "--output", "test.ko"]),
        ("align", [*PAIRS, "--gold", "test.align", "--output", "test.align"]),
    ],
)
def test_input_files_are_not_overwritten(
    regard: Regard, transformer: Path, desk: Path, verb: str, words: list[str]
) -> None:
    before = contents(desk)
    ended = regard(verb, transformer, *words)
    assert ended.code == 2
    assert f"{words[-2]} {words[-1].removeprefix('./')} is also an input file" in ended.err
    assert ended.out == ""
    assert contents(desk) == before


def test_image_or_caption_file_is_not_overwritten(
    regard: Regard, describing: Path, scenes: Path, tmp_path: Path
) -> None:
    picture, captions = tmp_path / "picture.png", scenes / "captions.txt"
    shutil.copy(next((scenes / "images" / "test").iterdir()), picture)
    for words in (["show", describing, picture, "--out", picture],
                  ["evaluate", describing, "--captions", scenes, "--output", captions]):  # fmt: skip
        before = Path(str(words[-1])).read_bytes()
        ended = regard(*words)
        assert ended.code == 2
        assert f"{words[-2]} {words[-1]} is also an input file" in ended.err
        assert Path(str(words[-1])).read_bytes() == before


def test_device_may_be_written_but_not_read(regard: Regard, transformer: Path, corpus: Path) -> None:
    assert regard("translate", transformer, "--input", corpus / "valid.en", "--output", os.devnull).code == 0
    ended = regard("translate", transformer, "--input", os.devnull, "--output", os.devnull)
    assert (ended.code, "Is a device" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("translate", ["--input", "test.en", "--alignments", "no/out"]),
        ("evaluate", [*TEXTS, "--output", "no/out"]),
        ("evaluate", [*TEXTS, "--plot", "no/out.svg"]),
        ("evaluate", ["--captions", "{scenes}", "--output", "no/out"]),
        ("compare", [*TEXTS, "--report", "no/out"]),
        ("align", [*PAIRS, "--output", "no/out"]),
    ],
)
@pytest.mark.usefixtures("desk")
def test_unwritable_output_fails_before_loading_a_model(
    regard: Regard, scenes: Path, verb: str, words: list[str]
) -> None:
    ended = regard(verb, "nowhere", *(word.format(scenes=scenes) for word in words))
    assert ended.code == 2
    assert ended.err.startswith(f"error: {words[-1]} cannot be written: No such file or directory")


@pytest.mark.parametrize(("verb", "option"), [("evaluate", "--output"), ("compare", "--report")])
@pytest.mark.usefixtures("desk")
def test_scores_are_printed_despite_full_disk(regard: Regard, transformer: Path, verb: str, option: str) -> None:
    ended = regard(verb, transformer, *TEXTS, "--beam", 1, "--resamples", 2, option, "/dev/full")
    assert ended.code == 1
    assert "\nBLEU   nrefs:1" in ended.out
    assert "No space left on device" in ended.err


def test_caption_scores_are_printed_despite_full_disk(regard: Regard, describing: Path, scenes: Path) -> None:
    captions = ["--captions", scenes, "--split", "test", "--resamples", 2]
    ended = regard("evaluate", describing, *captions, "--output", "/dev/full")
    assert ended.code == 1
    assert "exact match" in ended.out
    assert "No space left on device" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "options"),
    [("evaluate", ["--output", "out.txt", "--plot", "out.svg"]), ("compare", ["--plot", "out.svg", "--report", "q"])],
)
def test_files_are_written_without_a_stdout_reader(
    transformer: Path, desk: Path, verb: str, options: list[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = command(verb, transformer, *TEXTS, "--beam", 1, "--resamples", 2, *options)
    subprocess.run(words, stdout=writing, stderr=subprocess.DEVNULL, env=environment(), check=False, timeout=120)
    os.close(writing)
    assert all((desk / name).stat().st_size for name in options[1::2])


@pytest.mark.slow
def test_captions_are_written_without_a_stdout_reader(describing: Path, scenes: Path, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    options = ["--captions", scenes, "--split", "test", "--resamples", 2, "--output", tmp_path / "out"]
    words = command("evaluate", describing, *options)
    subprocess.run(words, stdout=writing, stderr=subprocess.DEVNULL, env=environment(), check=False, timeout=120)
    os.close(writing)
    assert (tmp_path / "out").stat().st_size

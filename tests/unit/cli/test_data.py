import signal
import time
from pathlib import Path

import pytest

from regard.worlds import is_complete_corpus
from tests.support.commands import Regard, command, environment, started

SMALL = ["--train", 12, "--valid", 3, "--test", 2]


def test_world_is_written_and_may_be_rewritten(regard: Regard, tmp_path: Path) -> None:
    world = tmp_path / "world"
    for seed in (1, 2, 1):
        ended = regard("data", "generate", "sentences", "--out", world, *SMALL, "--seed", seed)
        assert (ended.code, ended.err) == (0, "")
        assert "12 train, 3 valid, 2 test pairs" in ended.out
    for kind in ("en", "ko", "align"):
        assert len((world / f"train.{kind}").read_text(encoding="utf-8").splitlines()) == 12


def test_labels_are_written_and_may_be_rewritten(regard: Regard, tmp_path: Path) -> None:
    for kind, task in (("sentences", "tense"), ("scenes", "left-of")):
        for _ in range(2):
            ended = regard("data", "generate", kind, "--out", tmp_path / kind, *SMALL, "--labels", task)
            assert (ended.code, ended.err) == (0, "")
    assert len((tmp_path / "sentences" / "train.ko.tsv").read_text(encoding="utf-8").splitlines()) == 12
    assert len((tmp_path / "scenes" / "train.tsv").read_text().splitlines()) == 12
    assert (
        regard("data", "generate", "scenes", "--out", tmp_path / "scenes", *SMALL).code == 2
    )  # captions beside labels


def test_foreign_file_is_never_overwritten(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("mine\n")
    ended = regard("data", "generate", "sentences", "--out", tmp_path, *SMALL)
    assert ended.code == 2
    assert "train.en exists" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["train.en"]


@pytest.mark.parametrize("count", [-1, 1_000_001, 10**30])
def test_impossible_pair_count_is_refused(regard: Regard, tmp_path: Path, count: int) -> None:
    for kind in ("sentences", "scenes"):
        assert regard("data", "generate", kind, "--out", tmp_path, "--train", count).code == 2


def test_output_that_is_a_file_is_refused(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine\n")
    for kind in ("sentences", "scenes"):
        ended = regard("data", "generate", kind, "--out", tmp_path / "file", *SMALL)
        assert (ended.code, "is not a directory" in ended.err) == (2, True)


def test_scenes_are_written_and_may_be_rewritten(regard: Regard, tmp_path: Path) -> None:
    world = tmp_path / "scenes"
    for language in ("ko", "en"):
        ended = regard("data", "generate", "scenes", "--out", world, *SMALL, "--language", language, "--size", 32)
        assert (ended.code, ended.err) == (0, "")
        assert "12 train, 3 valid, 2 test images" in ended.out
    assert len(list((world / "images").glob("*/*.png"))) == 17
    assert len((world / "captions.txt").read_text(encoding="utf-8").splitlines()) == 17


@pytest.mark.slow
def test_interrupted_scenes_are_incomplete_and_rewritten(regard: Regard, tmp_path: Path) -> None:
    world = tmp_path / "scenes"
    large = command("data", "generate", "scenes", "--out", world, "--train", 5_000, "--size", 256)
    for was_finished in (False, True):  # in a new folder, and over a world that was written to its end
        assert is_complete_corpus(world) == was_finished
        with started(large, env=environment()) as process:
            while is_complete_corpus(world) or not (world / "images").exists():
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        assert not is_complete_corpus(world)
        ended = regard("data", "generate", "scenes", "--out", world, *SMALL)
        assert (ended.code, ended.err) == (0, "")
    assert len((world / "captions.txt").read_text(encoding="utf-8").splitlines()) == 17


def test_foreign_captions_are_never_overwritten(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text("mine\n")
    ended = regard("data", "generate", "scenes", "--out", tmp_path, *SMALL)
    assert ended.code == 2
    assert "captions.txt exists" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["captions.txt"]


def test_image_size_zero_is_refused(regard: Regard, tmp_path: Path) -> None:
    ended = regard("data", "generate", "scenes", "--out", tmp_path / "scenes", "--size", 3)
    assert ended.code == 2
    assert "16<=x<=1024" in ended.err


def test_idx_images_are_extracted_to_train_on(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 255, 0]))
    (tmp_path / "labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 0]))
    given = ("data", "extract", tmp_path / "images", tmp_path / "labels", "--out", tmp_path / "out")
    ended = regard(*given, "--classes", "dark, light")
    assert (ended.code, ended.err) == (0, "")
    assert "2 images" in ended.out
    assert "2 classes: dark 1 (50%), light 1 (50%)" in ended.out
    assert [path.parent.name for path in sorted((tmp_path / "out").rglob("*.png"))] == ["dark", "light"]
    again = regard(*given)
    assert again.code == 2
    assert "Choose another one with --out" in again.err


def inspect(regard: Regard, folder: Path, shift: int, languages: str) -> list[str]:
    """The warnings of `data inspect` for sentences with numbers, with each target `shift` lines after its source."""
    (folder / "a.en").write_text("".join(f"there are {number} red cats\n" for number in range(40)))
    (folder / "a.ko").write_text(
        "".join(f"빨간 고양이가 {number + shift} 마리\n" for number in range(40)), encoding="utf-8"
    )
    files = ["--source", folder / "a.en", "--target", folder / "a.ko", "--languages", languages]
    ended = regard("data", "inspect", *files, "--set", "tokenizer.vocab_size=60")
    assert ended.code == 0, ended.err
    return [line for line in (ended.out + ended.err).splitlines() if line.startswith("warning: ")]


def test_files_shifted_by_a_line_are_reported(regard: Regard, tmp_path: Path) -> None:
    advice = "Check that line n of the targets translates line n of the sources."
    assert not any(advice in line for line in inspect(regard, tmp_path, 0, "en,ko"))
    assert any(advice in line for line in inspect(regard, tmp_path, 1, "en,ko"))


def test_unknown_language_code_is_reported_with_another(regard: Regard, tmp_path: Path) -> None:
    found = [line for line in inspect(regard, tmp_path, 0, "eng,korean") if "ISO 639-1" in line]
    assert [line.split("which")[0] for line in found] == [
        "warning: data.languages has 'eng' (did you mean 'en'?), ",
        "warning: data.languages has 'korean' (did you mean 'ko'?), ",
    ]

import signal
import time
from pathlib import Path

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


def test_negative_pair_count_is_refused(regard: Regard, tmp_path: Path) -> None:
    assert regard("data", "generate", "sentences", "--out", tmp_path, "--train", -1).code == 2


def test_scenes_are_written_and_may_be_rewritten(regard: Regard, tmp_path: Path) -> None:
    world = tmp_path / "scenes"
    for language in ("ko", "en"):
        ended = regard("data", "generate", "scenes", "--out", world, *SMALL, "--language", language, "--size", 32)
        assert (ended.code, ended.err) == (0, "")
        assert "12 train, 3 valid, 2 test images" in ended.out
    assert len(list((world / "images").glob("*/*.png"))) == 17
    assert len((world / "captions.txt").read_text(encoding="utf-8").splitlines()) == 17


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

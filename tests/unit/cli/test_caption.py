import json
import os
from pathlib import Path

import pytest

from tests.support.commands import Regard


def written(capfdbinary: pytest.CaptureFixture[bytes]) -> list[str]:
    return capfdbinary.readouterr().out.decode().splitlines()


def test_one_image_gives_caption_and_several_give_lines(
    describing: Path, scenes: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from regard.cli import run as command

    pictures = [str(path) for path in sorted((scenes / "images" / "test").iterdir())]
    assert command(["caption", str(describing), *pictures]) == 0
    several = written(capfdbinary)
    assert [line.split("\t")[0] for line in several] == pictures
    assert command(["caption", str(describing), pictures[0]]) == 0
    assert written(capfdbinary) == [several[0].split("\t")[1]]
    assert command(["caption", str(describing), pictures[0], "--beam", "3", "--nbest", "2"]) == 0
    assert [line.split(" ||| ")[0] for line in written(capfdbinary)] == ["0", "0"]


def test_json_can_hold_the_map_of_each_word(
    describing: Path, scenes: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from regard.cli import run as command

    picture = str(scenes / "images" / "test" / "00001.png")
    assert command(["caption", str(describing), picture, "--json", "--maps"]) == 0
    record = json.loads(written(capfdbinary)[0])
    assert record["image"] == picture
    assert record.keys() == {"image", "text", "score", "log_probability", "is_finished", "words"}
    assert [word["word"] for word in record["words"]] == record["text"].split()
    assert all(len(word["weights"]) == len(word["weights"][0]) == 4 for word in record["words"])


def test_uncaptionable_input_is_reported(regard: Regard, describing: Path, scenes: Path) -> None:
    ended = regard("caption", describing, scenes / "captions.txt")
    assert ended.code == 2
    assert "is not a readable image" in ended.err
    assert "Add --json" in regard("caption", describing, scenes / "captions.txt", "--maps").err
    assert "Use `regard caption`" in regard("translate", describing, "--input", scenes / "captions.txt").err


def test_unreadable_images_are_named_and_others_captioned(
    describing: Path, scenes: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from regard.cli import run as command

    first, second, *_ = sorted((scenes / "images" / "test").iterdir())
    odd, cut = tmp_path / os.fsdecode(b"caf\xe9.png"), tmp_path / "cut.png"
    odd.write_bytes(first.read_bytes())
    cut.write_bytes(first.read_bytes()[:60])
    assert command(["caption", str(describing), str(odd), str(cut), str(second)]) == 2
    result = capfdbinary.readouterr()
    assert [line.split(b"\t")[0] for line in result.out.splitlines()] == [os.fsencode(odd), os.fsencode(second)]
    assert b"cut.png is damaged" in result.err
    assert b"1 of 3 images were skipped" in result.err
    assert command(["caption", str(describing), str(odd), "--json"]) == 0
    assert json.loads(written(capfdbinary)[0])["image"].endswith("caf\\udce9.png")
    assert command(["caption", str(describing), str(tmp_path)]) == 2
    assert f"Give the images in it, as {tmp_path}/*.png" in capfdbinary.readouterr().err.decode()


def test_captioner_is_evaluated_on_captioned_images(
    describing: Path, scenes: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    from regard.cli import run as command

    wish = ["evaluate", str(describing), "--captions", str(scenes), "--split", "test", "--resamples", "5"]
    assert command([*wish, "--json", "--output", str(tmp_path / "out.txt")]) == 0
    figures = json.loads(written(capfdbinary)[0])
    names = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    assert [score["name"] for score in figures["scores"]] == names
    assert figures["images"] == len((tmp_path / "out.txt").read_text().splitlines()) == 4
    assert 0 <= figures["exact_match"] <= 1
    assert figures["pointing"][0]["score"]["words"] > 4
    assert command(wish) == 0
    table = "\n".join(written(capfdbinary))
    assert "exact match" in table
    assert "peak in the box" in table


def test_options_of_the_other_model_kind_are_refused(regard: Regard, describing: Path, scenes: Path) -> None:
    for words, reason in [
        (["--captions", scenes, "--source", scenes], "Give --source and --reference"),
        ([], "Give --source and --reference"),
        (["--captions", scenes, "--lowercase"], "--lowercase is for translators"),
        (["--source", scenes, "--reference", scenes, "--split", "test"], "--split is for captioners"),
    ]:
        ended = regard("evaluate", describing, *words)
        assert ended.code == 2
        assert reason in ended.err

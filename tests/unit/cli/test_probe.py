"""`regard probe`, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Regard


@pytest.fixture
def words(corpus: Path, tmp_path: Path) -> Path:
    """The first 24 test sentences; the tag of a word is its initial."""
    lines = (corpus / "test.en").read_text("utf-8").splitlines()
    tagged = ["".join(f"{word}\t{word[0]}\n" for word in line.split()) for line in lines]
    path = tmp_path / "words.tsv"
    path.write_text("\n".join(tagged), "utf-8")
    return path


def test_layers_of_a_translator_are_probed(regard: Regard, transformer: Path, words: Path, tmp_path: Path) -> None:
    plot = tmp_path / "layers.svg"
    ended = regard("probe", transformer, "--words", words, "--seeds", 2, "--plot", plot, "--json")
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert [task["task"] for task in report["tasks"]] == ["word", "position", "tag"]
    assert report["stack"] == "encoder"
    for task in report["tasks"]:
        assert [layer["name"] for layer in task["layers"]] == ["embedding", "layer 1", "layer 2"]
        assert all(len(layer["accuracies"]) == len(layer["control_accuracies"]) == 2 for layer in task["layers"])
    assert report["tasks"][0]["layers"][0]["accuracies"] == [1.0, 1.0]
    assert "position, control" in plot.read_text()
    table = regard("probe", transformer, "--words", words, "--task", "tag", "--pooling", "first")
    assert "layer 2" in table.out
    assert "position" not in table.out


def test_decoder_needs_sources_line_by_line(regard: Regard, attending: Path, words: Path, corpus: Path) -> None:
    choice = ["probe", attending, "--words", words, "--stack", "decoder", "--task", "position"]
    ended = regard(*choice, "--source", corpus / "test.ko")
    assert ended.code == 0, ended.err
    assert "attentional state" in ended.out
    assert "--source" in regard(*choice).err
    short = regard(*choice, "--source", corpus / "valid.ko")
    assert short.code == 2
    assert "10 lines" in short.err
    assert regard("probe", attending, "--source", corpus / "test.ko").code == 2


def test_a_model_of_images_is_refused(regard: Regard, describing: Path) -> None:
    ended = regard("probe", describing, "--language", "en")
    assert ended.code == 2
    assert "no layers that read words" in ended.err

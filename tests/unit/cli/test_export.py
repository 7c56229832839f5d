import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.commands import Regard, run_command

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")


@pytest.fixture(scope="module")
def transformer(corpus: Path) -> Path:
    """The small Transformer trained further: two engines need not agree on which of two equal outputs is the better."""
    run = corpus / "runs" / "exported"
    longer = ["--set=training.steps=160", "--set=training.validate_every=80", "--set=training.checkpoint_every=80"]
    ended = run_command("train", corpus / "transformer.toml", "--run", run, *longer)
    assert ended.code == 0, ended.err
    return run


@pytest.fixture(scope="module")
def exported(transformer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("exported") / "export"
    ended = run_command("export", transformer, "--to", "ctranslate2", directory, "--quantization", "float32")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"To use it: regard translate {directory}\n"
    return directory


def test_export_translates_like_a_model(regard: Regard, transformer: Path, exported: Path, corpus: Path) -> None:
    source = corpus / "test.en"
    ours, theirs = (regard("translate", model, "--input", source).out for model in (transformer, exported))
    assert ours == theirs
    assert ours.count("\n") == 24


def test_auto_reports_the_chosen_engine(regard: Regard, transformer: Path, attending: Path, corpus: Path) -> None:
    source = corpus / "valid.en"
    fast = regard("translate", transformer, "--input", source, "--engine", "auto")
    assert (fast.code, fast.err) == (0, "engine: ctranslate2, float32\n")
    assert fast.out.count("\n") == 10
    slow = regard("translate", attending, "--input", source, "--engine", "auto")
    assert slow.code == 0
    assert slow.err.startswith("engine: torch (model.kind is 'rnn-attention'")


def test_ctranslate2_gives_same_text_and_alignment_quietly(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    found = {}
    for engine in ("torch", "ctranslate2"):
        links = tmp_path / engine
        ended = regard(
            "translate", transformer, "--input", corpus / "test.en", "--engine", engine, "--alignments", links
        )
        assert ended.code == 0
        assert ended.err.startswith(f"engine: {engine}")
        found[engine] = (ended.out, links.read_text())
    assert found["torch"] == found["ctranslate2"]


def test_requested_scores_are_close_to_torch(regard: Regard, transformer: Path, exported: Path, corpus: Path) -> None:
    """A greedy search by CTranslate2 does not know them without an option.

    An export cannot say padding, for instance, to which a model that has hardly learnt gives a little probability.
    """
    ways = (["--scores"], ["--json"], ["--beam", "2", "--nbest", "2"])
    for way in ways:
        ours, theirs = (
            regard("translate", model, "--input", corpus / "test.en", "--beam", "1", *way).out
            for model in (transformer, exported)
        )
        result, expected = ([float(number) for number in re.findall(r"-\d+\.\d+", text)] for text in (theirs, ours))
        assert len(result) >= 24
        assert result == pytest.approx(expected, rel=0.5)
        assert "nan" not in theirs.lower()


def test_quantized_export_prints_its_measured_difference(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    ended = regard("export", transformer, "--to", "ctranslate2", tmp_path / "int8", "--quantization", "int8")
    assert ended.code == 0, ended.err
    found = re.match(
        r"int8 changes (\d+) of 10 lines .* of the validation set\.\nBLEU of int8 against float32: ", ended.out
    )
    assert found
    ours, theirs = (
        regard("translate", model, "--input", transformer.parents[1] / "valid.en").out.splitlines()
        for model in (transformer, tmp_path / "int8")
    )
    assert int(found[1]) == sum(one != other for one, other in zip(ours, theirs, strict=True))
    assert "tok:" in ended.out
    moved = tmp_path / "moved"
    shutil.copytree(transformer / "model", moved)
    ended = regard("export", moved, "--to", "ctranslate2", tmp_path / "other", "--quantization", "int8")
    assert "has no validation set here: how many lines int8 changes is not known" in ended.err


def test_unexportable_model_is_refused_with_the_reason(
    regard: Regard, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    for arguments in (
        ["translate", attending, "--input", corpus / "valid.en", "--engine", "ctranslate2"],
        ["export", attending, "--to", "ctranslate2", tmp_path / "export"],
        ["export", attending, "--to", "huggingface", tmp_path / "export"],
    ):
        ended = regard(*arguments)
        assert ended.code == 2
        assert "model.kind is 'rnn-attention'" in ended.err
    assert not (tmp_path / "export").exists()


def test_the_toys_word_vocabulary_is_refused_by_marian(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    ended = regard("export", transformer, "--to", "huggingface", tmp_path / "marian")
    assert ended.code == 2
    assert 'tokenizer.model_type is "word"' in ended.err


def test_evaluate_and_compare_take_an_engine(regard: Regard, transformer: Path, exported: Path, corpus: Path) -> None:
    files = ["--source", corpus / "test.en", "--reference", corpus / "test.ko", "--resamples", 2, "--json"]
    ours = json.loads(regard("evaluate", transformer, *files).out)
    theirs = json.loads(regard("evaluate", transformer, *files, "--engine", "ctranslate2").out)
    alone = json.loads(regard("evaluate", exported, *files).out)
    assert ours["scores"] == theirs["scores"] == alone["scores"]
    assert ours["parameters"] == alone["parameters"]
    ended = regard("compare", transformer, exported, *files, "--gold", corpus / "test.align")
    both = json.loads(ended.out)["models"]
    assert both[0]["scores"] == both[1]["scores"]
    assert [one["alignment"] is None for one in both] == [False, True]
    assert f"{exported} is an export, which has no attention" in ended.err


def test_a_directory_that_is_there_is_left_alone(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "mine").write_text("mine")
    ended = regard("export", transformer, "--to", "ctranslate2", tmp_path / "export")
    assert ended.code == 2
    assert "exists already" in ended.err
    assert [path.name for path in (tmp_path / "export").iterdir()] == ["mine"]


def test_an_export_has_no_alignments_and_no_torch(regard: Regard, exported: Path, corpus: Path, tmp_path: Path) -> None:
    given = ["translate", exported, "--input", corpus / "valid.en"]
    refused = regard(*given, "--alignments", tmp_path / "links")
    assert refused.code == 2
    assert "Open the model that the export was made from" in refused.err
    assert regard(*given, "--engine", "torch").code == 2


@pytest.mark.parametrize("words", [["info"], ["show", "one cat"]], ids=lambda words: words[0])
def test_commands_that_need_the_model_name_the_export(regard: Regard, exported: Path, words: list[str]) -> None:
    ended = regard(words[0], exported, *words[1:])
    assert ended.code == 2
    assert ended.err == f"error: {exported} is an export for ctranslate2. Give the model it was made from.\n"


def test_a_quantization_alone_is_not_ignored(regard: Regard, attending: Path, corpus: Path) -> None:
    ended = regard("translate", attending, "--input", corpus / "valid.en", "--quantization", "int8")
    assert ended.code == 2
    assert "the ctranslate2 engine cannot run" in ended.err

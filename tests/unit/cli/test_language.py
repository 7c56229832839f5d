"""`regard complete`, `fill`, `evaluate --text`, `show` and `train --text`, on a language that a second teaches."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Regard, run_command
from tests.support.shared_results import build_once
from tests.support.small_language import make_language, turns


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "language", make_language)[0]


@pytest.fixture
def texts(learnt: Path, tmp_path: Path) -> Path:
    """A directory of this test's own, with the lines, the recipes and the runs in it."""
    for one in learnt.iterdir():
        (tmp_path / one.name).symlink_to(one)
    return tmp_path


def test_texts_are_completed_line_by_line(regard: Regard, texts: Path) -> None:
    result = regard("complete", texts / "writer", turns(0, 2), turns(3, 2))
    assert result.code == 0
    first, second = result.out.splitlines()
    assert first.startswith(turns(0, 3))
    assert second.startswith(turns(3, 3))
    (texts / "beginnings").write_text(f"{turns(0, 2)}\n\n{turns(3, 2)}\n", encoding="utf-8")
    from_file = regard("complete", texts / "writer" / "model", "--input", texts / "beginnings").out.splitlines()
    assert [from_file[0], from_file[2]] == [first, second]


def test_several_ways_to_go_on_and_json(regard: Regard, texts: Path) -> None:
    several = regard("complete", texts / "writer", turns(0, 2), "--nbest", 3).out.splitlines()
    assert [line.split(" ||| ")[0] for line in several] == ["0"] * 3
    record = json.loads(regard("complete", texts / "writer", turns(0, 2), "--nbest", 3, "--json").out)
    assert [one["text"] for one in record["nbest"]] == [line.split(" ||| ")[1] for line in several]
    assert record["line"] == 1
    assert record["text"] == record["nbest"][0]["text"]


def test_samples_follow_the_seed_and_length_limit(regard: Regard, texts: Path) -> None:
    options = ("complete", texts / "writer", "", "--sample", "--nbest", 6, "--temperature", 3)
    assert regard(*options, "--seed", 1).out == regard(*options, "--seed", 1).out
    assert regard(*options, "--seed", 1).out != regard(*options, "--seed", 2).out
    short = regard("complete", texts / "writer", turns(0, 2), "--max-new-tokens", 1)
    assert short.out == f"{turns(0, 3)}\n"


def test_blanks_are_filled_with_alternatives_listed(regard: Regard, texts: Path) -> None:
    result = regard("fill", texts / "reader", "가 ___ 다", "--top-k", 2)
    text, guesses = result.out.splitlines()
    assert text == turns(0, 3)
    assert guesses.startswith("    mask 1: 나 0.")
    assert guesses.count(",") == 1
    (texts / "cloze").write_text("가 ___ 다\n___ 마\n", encoding="utf-8")
    assert regard("fill", texts / "reader", "--input", texts / "cloze").out == f"{turns(0, 3)}\n{turns(3, 2)}\n"
    record = json.loads(regard("fill", texts / "reader", "가 ___ 다", "--json").out)
    assert record["text"] == turns(0, 3)
    assert record["masks"][0][0]["token"] == "나"  # noqa: S105


@pytest.mark.parametrize(("name", "first"), [("writer", "perplexity per token"), ("reader", "pseudo-perplexity")])
def test_scores_are_printed_with_intervals(regard: Regard, texts: Path, name: str, first: str) -> None:
    result = regard("evaluate", texts / name, "--text", texts / "valid.ko", "--resamples", 20)
    assert result.code == 0
    assert first in result.out
    assert "token accuracy (%)" in result.out
    record = json.loads(regard("evaluate", texts / name, "--text", texts / "valid.ko", "--json").out)
    assert record["texts"] == 12
    assert 1.0 < record["scores"][0]["value"] < 3.0  # six words could stand anywhere
    assert record["scores"][0]["low"] <= record["scores"][0]["value"] <= record["scores"][0]["high"]


@pytest.mark.parametrize(
    ("name", "result"), [("writer", "decoder self-attention"), ("reader", "encoder self-attention")]
)
def test_text_attention_shows_in_terminal_and_files(regard: Regard, texts: Path, name: str, result: str) -> None:
    shown = regard("show", texts / name, turns(0, 4))
    assert shown.code == 0
    assert f"{result}: mean of 2 heads, mean of 2 layers" in shown.out
    for kind in ("svg", "png", "html"):
        file = texts / f"{name}.{kind}"
        assert regard("show", texts / name, turns(0, 4), "--out", file).code == 0
        assert file.stat().st_size > 1000
    assert result in (texts / f"{name}.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (["complete", "{writer}"], "give texts in quotation marks, or --input"),
        (["complete", "{writer}", "가", "--input", "{texts}/valid.ko"], "give texts in quotation marks, or --input"),
        (
            ["complete", "{writer}", "가", "--seed", "1", "--top-k", "3"],
            "--top-k, --seed has an effect with --sample only",
        ),
        (["complete", "{reader}", "가"], "is a model for fill-mask, not for text-generation"),
        (["complete", "{writer}", "--input", "{texts}/none"], "none"),
        (["complete", "{writer}", "가", "--nbest", "4", "--beam", "2"], "a beam holds at most beam_size outputs"),
        (["fill", "{writer}", "가 ___"], "is a model for text-generation, not for fill-mask"),
        (["fill", "{texts}/none", "가 ___"], "is not a model: it has no manifest.json"),
        (["classify", "{texts}/none", "가"], "is not a model: it has no manifest.json"),
        (["fill", "{reader}", "가 나"], "has no mask. Write ___ where a word is missing"),
        (["translate", "{writer}"], "not for translation. Use `regard complete`"),
        (["caption", "{writer}", "x.png"], "not for image-to-text"),
        (["show", "{writer}", "가", "--target", "나"], "--target is for translators and captioners"),
        (["show", "{reader}", "가", "--role", "cross"], "this model has no cross attention; it has encoder-self"),
        (
            ["evaluate", "{writer}", "--source", "a", "--reference", "b", "--text", "c"],
            "--text for a language model; or --labels",
        ),
        (
            ["evaluate", "{writer}", "--text", "{texts}/valid.ko", "--beam", "2"],
            "--beam is for translators and captioners",
        ),
        (["export", "{writer}", "--to", "ctranslate2", "{texts}/out"], "CTranslate2 cannot represent this model"),
        (
            ["train", "{texts}/writer.toml", "--set", "training.validation_metric=bleu", "--run", "{texts}/new"],
            "is not measured for text-generation, the task of model.kind 'decoder-only'. Choose loss.",
        ),
        (
            ["train", "{texts}/reader.toml", "--set", "model.classes=3", "--run", "{texts}/new"],
            "an unknown format for labels",
        ),
        (
            ["train", "{texts}/reader.toml", "--set", "training.mask_rate=1", "--run", "{texts}/new"],
            "training.mask_rate",
        ),
        (["train", "{texts}/writer.toml", "--set", 'data.languages=["a", "b"]', "--run", "{texts}/new"], "of the text"),
        (["train", "{texts}/writer.toml", "--set", 'data.train=["a.tsv"]', "--run", "{texts}/new"], "a.tsv"),
        (["train", "--text", "{texts}/train.ko", "--pairs", "a.tsv"], "--text is for a language model"),
        (["train", "--text", "{texts}/train.ko", "--valid-pairs", "a.tsv"], "--text needs --valid-text"),
        (["train", "--valid-text", "{texts}/train.ko"], "without a file to train on"),
    ],
)
def test_unfitting_input_is_refused_with_an_explanation(
    regard: Regard, texts: Path, arguments: list[str], result: str
) -> None:
    places = {"texts": texts, "writer": texts / "writer", "reader": texts / "reader"}
    refused = regard(*(argument.format(**places) for argument in arguments))
    assert refused.code == 2
    assert result in refused.err
    assert not (texts / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["decoder-only", "encoder-only"])
def test_text_alone_is_enough_to_train_on(texts: Path, kind: str) -> None:
    settings = [
        "model.transformer={layers=1, width=16, heads=2, ffn_width=16}",
        "training.steps=4",
        f"model.kind={kind}",
    ]
    options = [part for setting in settings for part in ("--set", setting)]
    result = run_command("train", "--text", texts / "train.ko", "--run", texts / "run", *options)
    assert result.code == 0, result.err
    assert "96 lines, about" in result.out
    assert f"{kind} model of 1 layers" in result.out
    assert "held out of the training files" in result.out
    command = "complete" if kind == "decoder-only" else "fill"
    assert f"regard {command} {texts / 'run' / 'model'}" in result.out.splitlines()[-1]

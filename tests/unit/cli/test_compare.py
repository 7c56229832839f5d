import json
import shutil
from pathlib import Path

import pytest

from regard.cli.compare import table_rows
from regard.inference.evaluation import TOKENIZED_LINES, TranslationReport, tokenized_text_warning
from regard.metrics.alignment import format_alignment, parse_alignments
from regard.metrics.text import Score
from tests.support.commands import Regard
from tests.support.small_images import RECURRENT, picture_config
from tests.support.small_run import run_to_the_end
from tests.support.toy_language import untrained_rnn, with_languages


def wish(corpus: Path) -> list[object]:
    return ["--source", corpus / "test.en", "--reference", corpus / "test.ko", "--beam", 1, "--resamples", 5]


def test_models_stand_side_by_side(
    regard: Regard, transformer: Path, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "length.svg"
    ended = regard("compare", transformer, attending / "model", *wish(corpus), "--plot", plot)
    assert ended.code == 0, ended.err
    head = ended.out.splitlines()[0].split()
    assert head == ["transformer", "attending"]
    for row in (
        "kind",
        "BLEU",
        "chrF2",
        "TER",
        "BLEU, 1–10 words (24)",
        "sentences/s",
        "tokens/s",
        "parameters",
        "bytes on disk",
    ):
        assert f"\n{row} " in ended.out
    drawn = plot.read_text(encoding="utf-8")
    assert ">transformer<" in drawn
    assert ">attending<" in drawn


def test_json_gives_the_figures_of_each_model(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    twin = tmp_path / "transformer" / "model"
    shutil.copytree(transformer / "model", twin)
    record = json.loads(regard("compare", transformer, twin, *wish(corpus), "--json").out)
    models = record["models"]
    assert [one["model"] for one in models] == [str(transformer), str(twin)]  # the same name twice says nothing
    assert models[0]["scores"] == models[1]["scores"]
    assert record["differences"] == [
        {
            "model": str(twin),
            "against": str(transformer),
            "scores": [{"name": name, "value": 0.0, "p_value": 1.0} for name in ("BLEU", "chrF2")],
        }
    ]
    assert models[0]["disk_bytes"] == sum(path.stat().st_size for path in twin.iterdir() if path.is_file())
    assert all(one["tokens_per_second"] > one["sentences_per_second"] > 0 for one in models)


def test_models_are_listed_with_difference_from_the_first(
    regard: Regard, transformer: Path, attending: Path, corpus: Path
) -> None:
    words = ["compare", transformer, attending, transformer, *wish(corpus), "--lowercase", "--tokenize", "char"]
    record = json.loads(regard(*words, "--json").out)
    scores = [[score["value"] for score in one["scores"][:2]] for one in record["models"]]
    found = [[score["value"] for score in one["scores"]] for one in record["differences"]]
    assert found == [[own - first for own, first in zip(one, scores[0], strict=True)] for one in scores[1:]]
    assert any(found[0])  # the other model says other things
    [own] = [line for line in regard(*words).out.splitlines() if line.startswith("BLEU against the first ")]
    result = record["differences"][0]["scores"][0]
    assert f" {result['value']:+.1f} (p = {result['p_value']:.2g}) " in own
    assert own.endswith(" +0.0 (p = 1)")


def test_gold_links_add_alignment_error_per_model(
    regard: Regard, transformer: Path, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    fixed, quality = untrained_rnn(tmp_path / "fixed", transformer), tmp_path / "evaluation.json"
    words = ["compare", transformer, attending, fixed, *wish(corpus), "--gold", corpus / "test.align"]
    done = regard(*words, "--json", "--report", quality)
    assert done.code == 0, done.err
    models = json.loads(done.out)["models"]
    for model, result in zip((transformer, attending), models, strict=False):
        text = ["--source", corpus / "test.en", "--target", corpus / "test.ko", "--gold", corpus / "test.align"]
        best = json.loads(regard("align", model, *text, "--all-heads", "--json").out)["heads"][0]
        assert result["alignment"] == best
    assert models[2]["alignment"] is None
    assert [one["alignment"] for one in json.loads(quality.read_bytes())["models"]] == [
        one["alignment"] for one in models
    ]
    rows = {line[:17].strip(): line[17:].split() for line in regard(*words).out.splitlines()}
    assert rows["alignment error"] == [f"{one['alignment']['aer']:.4f}" for one in models[:2]] + ["–"]
    assert rows["attention"][-1] == "–"
    assert " ".join(rows["attention"]).startswith(f"layer {models[0]['alignment']['layer']}, ")


def test_gold_of_other_sentences_or_base_is_reported(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    words = ["compare", transformer, *wish(corpus)]
    ended = regard(*words, "--gold", corpus / "valid.align")
    assert (ended.code, "24 sentence pairs and 10 lines of gold links" in ended.err) == (2, True)
    moved = tmp_path / "moved.align"
    gold = parse_alignments((corpus / "test.align").read_text().splitlines())
    moved.write_text("".join(f"{format_alignment(one, one_based=True)}\n" for one in gold))
    ended = regard(*words, "--gold", moved)
    assert (ended.code, "add --gold-index-base 1 if they count from 1" in ended.err) == (2, True)
    assert "alignment error" in regard(*words, "--gold", moved, "--gold-index-base", 1).out
    ended = regard(*words, "--gold-index-base", 1)
    assert (ended.code, "--gold-index-base needs --gold" in ended.err) == (2, True)


def test_rnn_is_labelled_by_score_and_wiring(regard: Regard, attending: Path, corpus: Path) -> None:
    words = ["compare", attending, *wish(corpus)]
    [result] = json.loads(regard(*words, "--json").out)["models"]
    assert (result["kind"], result["score"], result["query_state"]) == ("rnn-attention", "additive", "previous")
    assert "rnn-attention (additive, previous)" in regard(*words).out


def test_captioners_stand_side_by_side(regard: Regard, describing: Path, scenes: Path, tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    run_to_the_end(picture_config(scenes, model=RECURRENT, steps=2), blind)
    words = ["--captions", scenes, "--split", "test", "--resamples", 5]
    models = json.loads(regard("compare", describing, blind, *words, "--json").out)["models"]
    timed = ("decoding_seconds", "images_per_second", "model")
    for path, result in zip((describing, blind), models, strict=True):
        alone = json.loads(regard("evaluate", path, *words, "--json").out)
        assert {name: result[name] for name in result if name not in timed} == {
            name: alone[name] for name in alone if name not in timed
        }
    ended = regard("compare", describing, blind, *words)
    rows = {line[:16].strip(): line[16:].split() for line in ended.out.splitlines()}
    assert {"BLEU-4", "CIDEr-D", "exact match", "images/s", "parameters", "bytes on disk"} < set(rows)
    assert rows["peak in the box"] == [f"{models[0]['pointing'][0]['score']['peak']:.3f}", "–"]


def test_options_of_the_other_model_kind_are_refused(regard: Regard, describing: Path, scenes: Path) -> None:
    for words, reason in [
        (["--captions", scenes, "--source", scenes], "Give --source and --reference"),
        ([], "Give --source and --reference"),
        (
            ["--captions", scenes, "--gold", scenes, "--gold-index-base", 1],
            "--gold, --gold-index-base is for translators",
        ),
        (["--captions", scenes, "--report", scenes / "q"], "--report is for translators"),
        (["--source", scenes, "--reference", scenes, "--split", "test"], "--split is for captioners"),
    ]:
        ended = regard("compare", describing, *words)
        assert ended.code == 2
        assert reason in ended.err


def test_one_resample_or_model_shows_no_difference(
    regard: Regard, transformer: Path, attending: Path, corpus: Path
) -> None:
    for words in ([transformer, attending, *wish(corpus)[:-1], 1], [transformer, *wish(corpus)]):
        ended = regard("compare", *words)
        assert ended.code == 0, ended.err
        assert "against the first" not in ended.out


def test_one_tokenisation_holds_for_all_models(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    nameless = with_languages(transformer, tmp_path / "nameless", "[]")
    for models in ([nameless, transformer], [transformer, nameless], [nameless, nameless]):
        both = json.loads(regard("compare", *models, *wish(corpus), "--json").out)["models"]
        assert both[0]["scores"] == both[1]["scores"]
        assert "tok:13a" not in both[0]["scores"][0]["signature"]


def test_models_with_different_tokenisation_are_not_compared(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    german = with_languages(transformer, tmp_path / "german", "['en', 'de']")
    ended = regard("compare", transformer, german, *wish(corpus))
    assert ended.code == 2
    assert f"{german} (de): 13a" in ended.err
    both = json.loads(regard("compare", transformer, german, *wish(corpus), "--json", "--tokenize", "char").out)
    assert all("tok:char" in one["scores"][0]["signature"] for one in both["models"])


@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_tokenised_words_are_reported_once_for_all_models(
    regard: Regard, transformer: Path, attending: Path, tmp_path: Path, verb: str
) -> None:
    source, reference = tmp_path / "cut.en", tmp_path / "cut.ko"
    source.write_text("one cat\n" * TOKENIZED_LINES)
    reference.write_text("하나 고양이 .\n" * TOKENIZED_LINES, encoding="utf-8")
    models = [transformer, attending] if verb == "compare" else [transformer]
    words = [verb, *models, "--source", source, "--reference", reference, "--beam", 1, "--resamples", 2, "--tokenize"]
    ended = regard(*words, "13a")
    assert "warning: 100 or more references end with a separate full stop" in ended.err
    assert ended.err.count("warning:") == ended.err.count("use --tokenize none") == 1
    assert ended.err.count("engine:") == len(models)
    assert "warning:" not in regard(*words, "none").err


def test_tokenized_translations_are_warned_about() -> None:
    whole, tokenized = ["a cat."] * TOKENIZED_LINES, ["a cat ."] * TOKENIZED_LINES
    assert tokenized_text_warning(whole, [whole, tokenized[1:] + whole[:1]], "13a") is None
    warning = tokenized_text_warning(whole, [whole, tokenized], "13a") or ""
    assert "100 or more translations end with a separate full stop" in warning


def test_metric_that_a_model_lacks_stays_empty() -> None:
    both, one = (
        [Score("BLEU", 30.0, "", 29.0, 31.0), Score("TER", 50.0, "", 49.0, 51.0)],
        [Score("BLEU", 20.0, "", 19.0, 21.0)],
    )
    rows = table_rows([measured("first", both), measured("second", one)], [])
    assert rows[1:3] == [["BLEU", "30.0 [29.0, 31.0]", "20.0 [19.0, 21.0]"], ["TER", "50.0 [49.0, 51.0]", "–"]]


def measured(name: str, scores: list[Score]) -> TranslationReport:
    speed = {"decoding_seconds": 1.0, "sentences_per_second": 2.0, "tokens_per_second": 20.0}
    design = {"kind": "transformer", "score": None, "query_state": None, "parameters": 1, "disk_bytes": 1}
    return TranslationReport(model=name, sentences=2, scores=scores, lengths=[], **design, **speed)  # type: ignore[arg-type]

"""Evaluation from Python: the figures are those of the metrics, and a report file is read as it was written."""

from pathlib import Path

import msgspec
import pytest

import regard
from regard.bundle import save_bundle
from regard.config import TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference.evaluation import EvaluationReport, common_tokenization, tokenized_text_warning
from regard.inference.translator import Translator
from regard.metrics.text import bleu_by_length
from regard.metrics.text import evaluate as score_translations
from regard.tracing.alignment import HeadAlignment
from tests.support.random_translators import random_translator, texts

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
SOURCES = texts(24)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "model"
    save_bundle(path, random_translator(TransformerConfig(encoder=STACK, decoder=STACK)))
    return path


@pytest.fixture(scope="module")
def translator(model: Path) -> Translator:
    return regard.load(model, task="translation")


def test_figures_are_those_of_the_metrics(translator: Translator, model: Path) -> None:
    references = [one.text or "ba" for one in translator.translate(SOURCES, beam_size=3)]
    report = regard.evaluate(translator, SOURCES, references, beam_size=1, resamples=50)
    outputs = [one.text for one in translator.translate(SOURCES, beam_size=1)]
    assert report.outputs == outputs
    assert report.scores == score_translations(outputs, references, resamples=50)
    assert report.lengths == bleu_by_length(SOURCES, outputs, references)
    assert (report.model, report.kind, report.sentences) == (model.parent.name, "transformer", len(SOURCES))
    assert report.parameters == translator.num_parameters
    assert report.disk_bytes == sum(file.stat().st_size for file in model.iterdir() if file.is_file())


def test_a_line_beyond_the_limit_is_listed(translator: Translator) -> None:
    report = regard.evaluate(translator, ["ba", " ".join(["ba"] * 1100)], ["ba", "ba"], beam_size=1, resamples=1)
    assert report.truncated == [2]


def test_a_report_file_is_read_as_written(translator: Translator, tmp_path: Path) -> None:
    figures = regard.evaluate(translator, SOURCES, SOURCES, beam_size=1, resamples=1)
    best = HeadAlignment(layer=1, head=None, at="input", aer=0.25, precision=0.75, recall=0.75)
    written = EvaluationReport(
        models=[msgspec.structs.replace(figures, alignment=best)], sources=SOURCES, references=SOURCES
    )
    written.write(tmp_path / "report.json")
    assert EvaluationReport.read(tmp_path / "report.json") == written
    msgspec.structs.replace(written, references=SOURCES[:2]).write(tmp_path / "report.json")
    with pytest.raises(RegardError, match="is incomplete"):
        EvaluationReport.read(tmp_path / "report.json")


def test_wrong_arguments_explain_what_to_give(translator: Translator) -> None:
    with pytest.raises(RegardError, match="needs references"):
        regard.evaluate(translator, SOURCES)  # type: ignore[call-overload]
    with pytest.raises(RegardError, match="expected a loaded model, and got str"):
        regard.evaluate("runs/x", SOURCES, SOURCES)  # type: ignore[call-overload]


def test_models_share_one_tokenization() -> None:
    assert common_tokenization({"de": "a", "en": "b"}, ["ein Satz"]) == "13a"
    assert common_tokenization({"": "a"}, ["世界は広い"]) == common_tokenization({"ja": "a"}, [])
    with pytest.raises(RegardError, match="different tokenisations"):
        common_tokenization({"zh": "a", "en": "b"}, [])


def test_tokenised_references_give_a_warning() -> None:
    assert tokenized_text_warning(["a ."] * 100, [["a."]], "13a")
    assert tokenized_text_warning(["a."] * 100, [["a ."] * 100], "13a")
    assert tokenized_text_warning(["a ."] * 100, [["a ."] * 100], "none") is None
    assert tokenized_text_warning(["a."] * 100, [["a."] * 100], "13a") is None


def test_a_saved_model_gives_the_same_text(translator: Translator, tmp_path: Path) -> None:
    translator.save(tmp_path / "copy")
    again = regard.load(tmp_path / "copy", task="translation")
    assert [one.text for one in again.translate(SOURCES)] == [one.text for one in translator.translate(SOURCES)]

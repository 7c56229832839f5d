"""Running `regard evaluate` on text of one language."""

import time
from dataclasses import dataclass
from pathlib import Path

from regard.bundle import load_bundle
from regard.cli.running.models import short_name
from regard.cli.running.telling import bar, tell_json, tell_table
from regard.config import EncoderOnlyConfig
from regard.data import check_one_side, read_texts
from regard.errors import RegardError
from regard.language.opening import LanguageModel, language_model
from regard.manifest import model_directory
from regard.metrics.language import Known, evaluate_language
from regard.metrics.translation import Score


@dataclass(frozen=True)
class Measured:
    """A language model's figures."""

    model: str
    texts: int
    tokens: int
    scores: list[Score]
    seconds: float
    tokens_per_second: float
    parameters: int


def run_language_evaluation(model: Path, source: Path, *, resamples: int, as_json: bool) -> None:
    """Let the model name every token of a text, and tell how well it did."""
    check_one_side(source)
    texts = [pair.target for pair in read_texts([source]) if pair.has_words(one_sided=True)]
    if not texts:
        raise RegardError(f"{source} has no line with words in it. Give another file.")
    bundle = load_bundle(model_directory(model))
    is_reader = isinstance(bundle.config.model, EncoderOnlyConfig)
    known, seconds = _known(language_model(bundle), texts)
    tokens = sum(one.tokens for one in known)
    measured = Measured(
        model=short_name(model),
        texts=len(texts),
        tokens=tokens,
        scores=evaluate_language(known, texts, is_pseudo=is_reader, resamples=resamples),
        seconds=seconds,
        tokens_per_second=tokens / seconds,
        parameters=sum(parameter.numel() for parameter in bundle.model.parameters()),
    )
    if as_json:
        tell_json(measured)
    else:
        _tell_figures(measured)


def _known(model: LanguageModel, texts: list[str]) -> tuple[list[Known], float]:
    started, known = time.monotonic(), []
    with bar("reading", len(texts)) as progress:
        for one in model.known(texts):
            known.append(one)
            progress(1)
    return known, time.monotonic() - started


def _tell_figures(measured: Measured) -> None:
    rows = [[one.name, f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"] for one in measured.scores]
    tell_table([f"{measured.texts:,} texts, {measured.tokens:,} tokens", "figure [95 %]"], rows)

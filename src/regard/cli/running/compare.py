"""Running `regard compare`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regard.cli.running.align_gold import Gold
from regard.cli.running.measuring import (
    NOTHING,
    Measured,
    Scoring,
    TestSet,
    check_plot,
    measure,
    shown,
    warn_of_cut_words,
    with_tokenization,
    words,
    write_length_plot,
)
from regard.cli.running.models import distinct_names
from regard.cli.running.outputs import check_outputs
from regard.cli.running.telling import tell, tell_json, tell_table, warn
from regard.data import Pair
from regard.manifest import EXPORT, kind_of, model_directory
from regard.metrics import Difference, differences
from regard.staged import staged_file

if TYPE_CHECKING:  # it brings torch, which an export does without
    from regard.cli.running.align_readings import ReadingScore


@dataclass(frozen=True)
class Files:
    """What is read: sentences, their translations by people, and the links between their words where they are known."""

    source: Path
    reference: Path
    gold: Path | None
    gold_base: int


@dataclass(frozen=True)
class Report:
    """Where the figures go besides the table."""

    plot: Path | None
    quality: Path | None
    as_json: bool


def run_comparison(models: Sequence[Path], files: Files, scoring: Scoring, report: Report) -> None:
    """Measure each model on the same text, and set the figures side by side."""
    check_plot(report.plot)
    check_outputs({"--plot": report.plot, "--quality": report.quality}, [files.source, files.reference, files.gold])
    test = TestSet.read(files.source, files.reference, models)
    gold = _read_gold(files, test)
    scoring = with_tokenization(scoring, models, test)
    both = [measure(model, test, scoring) for model in models]
    measured, texts = _named([one for one, _ in both], models), [own for _, own in both]
    if gold is not None:
        measured = [replace(one, alignment=_best_reading(Path(one.directory), test, gold)) for one in measured]
    warn_of_cut_words(test.references, texts, scoring.tokenize)
    against = _against_the_first(texts, test, scoring)
    try:  # files first: whoever reads the figures may have left; and the figures though a disk be full
        if report.plot is not None:
            write_length_plot(report.plot, measured)
        if report.quality is not None:
            _write_quality(report.quality, test, measured, texts)
    finally:
        if report.as_json:
            tell_json(_record(measured, against))
        else:
            _tell_figures(measured, against, has_gold=gold is not None)


def _against_the_first(texts: list[list[str]], test: TestSet, scoring: Scoring) -> list[list[Difference]]:
    """The differences of all models but the first; none where there is one model, or no draw to tell them from chance.

    The models' own intervals do not say it: other sentences would move all models up and down together.
    """
    if len(texts) == 1 or scoring.resamples == 1:
        return []
    how = {"tokenize": scoring.tokenize, "lowercase": scoring.lowercase, "resamples": scoring.resamples}
    return differences(texts, test.references, **how)  # type: ignore[arg-type]


def _record(models: list[Measured], against: list[list[Difference]]) -> dict[str, Any]:
    told = [
        {"model": one.model, "against": models[0].model, "scores": own}
        for one, own in zip(models[1:], against, strict=False)
    ]
    return {"models": models, "differences": told}


def _tell_figures(measured: list[Measured], against: list[list[Difference]], *, has_gold: bool) -> None:
    tell_table(["", *(one.model for one in measured)], figures(measured, against, has_gold=has_gold))
    for signature in dict.fromkeys(f"{score.name:<6} {score.signature}" for one in measured for score in one.scores):
        tell(signature)


def _write_quality(path: Path, test: TestSet, models: list[Measured], texts: list[list[str]]) -> None:
    """Figures, sentences and translations in one file, which `regard serve --quality` shows."""
    told = [asdict(one) | {"outputs": own} for one, own in zip(models, texts, strict=True)]
    content = {"models": told, "sources": test.sources, "references": test.references}
    with staged_file(path) as file:
        file.write(msgspec.json.encode(content))


def _named(measured: list[Measured], models: Sequence[Path]) -> list[Measured]:
    return [replace(one, model=name) for one, name in zip(measured, distinct_names(models), strict=True)]


def _read_gold(files: Files, test: TestSet) -> Gold | None:
    if files.gold is None:
        return None
    gold = Gold.read(files.gold, files.gold_base)
    pairs = zip(test.sources, test.references, strict=True)
    gold.check([Pair(source, reference, line) for line, (source, reference) in enumerate(pairs, start=1)])
    gold.warn_of_counting()
    return gold


def _best_reading(model: Path, test: TestSet, gold: Gold) -> "ReadingScore | None":
    """The reading that errs least; none where the target does not look at the source, or nothing keeps how it does."""
    from regard.cli.running.align_readings import every_reading

    if kind_of(model_directory(model)) == EXPORT:
        warn(f"{model} is an export, which keeps no attention to align by. Give the model that it was made from.")
        return None
    return next(iter(every_reading(model, test.sources, test.references, gold.alignments)), None)


def figures(models: list[Measured], against: list[list[Difference]], *, has_gold: bool = False) -> list[list[str]]:
    """A row for each figure, a cell for each model: names are long, figures are many, models are few."""
    names = dict.fromkeys(score.name for one in models for score in one.scores)
    quality = [[name, *(_score(one, name) for one in models)] for name in names]
    lengths = [
        [f"BLEU, {words(buckets[0])} words ({buckets[0].count:,})", *(f"{bucket.score:.1f}" for bucket in buckets)]
        for buckets in zip(*(one.lengths for one in models), strict=True)
    ]
    return [
        ["kind", *map(_kind, models)],
        *quality,
        *_rows_of_differences(against),
        *lengths,
        *(_alignment_rows(models) if has_gold else []),
        ["sentences/s", *(f"{one.sentences_per_second:,.1f}" for one in models)],
        ["tokens/s", *(f"{one.tokens_per_second:,.0f}" for one in models)],
        ["parameters", *(f"{one.parameters:,}" for one in models)],
        ["bytes on disk", *(f"{one.bytes:,}" for one in models)],
    ]


def _kind(model: Measured) -> str:
    """What a model is: RNNs that attend differ in score and wiring, which their names may not say."""
    return f"{model.kind} ({model.score}, {model.wiring})" if model.wiring else model.kind


def _alignment_rows(models: list[Measured]) -> list[list[str]]:
    """The error of each model's best reading, and which it is."""
    return [
        ["alignment error", *(f"{one.alignment.error:.4f}" if one.alignment else NOTHING for one in models)],
        ["read from", *(str(one.alignment) if one.alignment else NOTHING for one in models)],
    ]


def _rows_of_differences(against: list[list[Difference]]) -> list[list[str]]:
    return [
        [f"{own[0].name} against the first", "", *(f"{one.value:+.1f} (p = {one.p:.2g})" for one in own)]
        for own in zip(*against, strict=True)
    ]


def _score(model: Measured, name: str) -> str:
    """A metric of a model; TER is not taken where a model's output is too long for it."""
    return next((shown(score) for score in model.scores if score.name == name), NOTHING)

"""Evaluate a model on a test set, with a progress bar, and format its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regard.cli.console import progress_bar, warn
from regard.cli.evaluation_options import EvaluationOptions, ScoringOptions
from regard.cli.test_sets import ImageTestSet, read_labelled_set
from regard.config import decode_options

if TYPE_CHECKING:
    from regard.inference.evaluation import CaptionReport, ClassificationReport, TranslationReport
    from regard.inference.translator import Translator
    from regard.metrics.text import LengthBucket, Score


def measure_translator(
    translator: Translator, sources: list[str], references: list[str], scoring: ScoringOptions
) -> TranslationReport:
    """A translator's figures, with a progress bar and warnings of truncated sources."""

    from regard.inference.evaluation import evaluate_translator

    with progress_bar(f"translating with {translator.name}", len(sources)) as progress:
        report = evaluate_translator(
            translator,
            sources,
            references,
            tokenize=scoring.tokenize,
            lowercase=scoring.lowercase,
            resamples=scoring.resamples,
            progress=progress,
            **decode_options(beam_size=scoring.beam_size),
        )
    for number in report.truncated:
        limit = f"more than {translator.max_source_tokens} tokens"
        warn(f"source line {number} has {limit}; only its beginning was translated")
    return report


def warn_about_tokenized_text(references: list[str], reports: Sequence[TranslationReport], tokenize: str) -> None:
    """One warning for all models if the text seems to be tokenised already."""

    from regard.inference.evaluation import tokenized_text_warning

    if warning := tokenized_text_warning(references, [report.outputs for report in reports], tokenize):
        warn(warning)


def figures_of(report: TranslationReport | CaptionReport | ClassificationReport) -> dict[str, Any]:
    """The figures of a report without its texts."""
    record: dict[str, Any] = msgspec.to_builtins(report)
    return {name: value for name, value in record.items() if name not in ("outputs", "truncated", "probabilities")}


def format_score(score: Score) -> str:
    """A score with its confidence interval."""
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"


def format_word_range(bucket: LengthBucket) -> str:
    """The range of source lengths of a bucket."""
    return f"{bucket.low}–{bucket.high}"


def write_length_plot(path: Path, reports: Sequence[TranslationReport]) -> None:
    """Plot BLEU by source length, one line for each model."""
    from regard.plotting.line_plot import Line, plot_curves, save_figure

    buckets = reports[0].lengths  # of the sources, so they are the same for every model
    lines = [Line(one.model, [(index, bucket.score) for index, bucket in enumerate(one.lengths)]) for one in reports]
    ticks = [(index, f"{format_word_range(bucket)}\n{bucket.count:,} lines") for index, bucket in enumerate(buckets)]
    figure = plot_curves(
        lines,
        title="Quality by sentence length",
        x_label="words in the source sentence",
        y_label="BLEU",
        x_ticks=ticks,
    )
    save_figure(figure, path)


def measure_captioner(model: Path, images: ImageTestSet, options: EvaluationOptions) -> CaptionReport:
    """A captioner's figures, with a progress bar."""

    from regard.inference.evaluation import evaluate_captioner
    from regard.inference.open import load

    captioner = load(model, task="image-to-text")
    with progress_bar("describing", len(images.captioned)) as progress:
        return evaluate_captioner(
            captioner,
            [one.image for one in images.captioned],
            [one.captions for one in images.captioned],
            boxed=images.boxed(captioner),
            resamples=options.resamples,
            progress=progress,
            **decode_options(beam_size=options.beam_size),
        )


def measure_classifier(model: Path, labels: Path, *, resamples: int) -> ClassificationReport:
    """A classifier's figures, with a progress bar."""
    from regard.inference.evaluation import evaluate_classifier
    from regard.inference.open import load

    classifier = load(model, task="classification")
    inputs, gold = read_labelled_set(labels, classifier)
    with progress_bar(f"classifying with {classifier.name}", len(inputs)) as progress:
        return evaluate_classifier(classifier, inputs, gold, resamples=resamples, progress=progress)

"""`regard evaluate`: measure a model of any task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regard.cli.console import echo, print_json, print_table, progress_bar
from regard.cli.evaluation_options import EvaluationOptions, evaluation_options
from regard.cli.inputs import check_outputs, load_translator
from regard.cli.model_evaluation import (
    figures_of,
    format_score,
    format_word_range,
    measure_captioner,
    measure_classifier,
    measure_translator,
    warn_about_tokenized_text,
    write_length_plot,
)
from regard.cli.options import PATH, model_argument, reject_options
from regard.cli.test_sets import ImageTestSet, read_translation_set
from regard.errors import RegardError
from regard.files import atomic_file

if TYPE_CHECKING:
    from regard.inference.evaluation import CaptionReport, ClassificationReport, TranslationReport

SHOWN_HEADS = 3
Report = TypeVar("Report", "TranslationReport", "CaptionReport", "ClassificationReport")


@click.command(
    name="evaluate",
    epilog="""\b
Examples:
  regard evaluate runs/x/model --source test.en --reference test.ko --plot quality.svg
  regard evaluate runs/x/model --pairs test.tsv --beam 5 --output test.out
  regard evaluate runs/scenes-attention/model --captions runs/scenes/data --split test
  regard evaluate runs/world-decoder-only/model --text test.txt
  regard evaluate runs/reviews/model --labels test.tsv""",
)
@model_argument
@evaluation_options
@click.option("--text", type=PATH, help="For a decoder-only or encoder-only model: plain text, one text per line.")
@click.option("--output", type=PATH, help="File for the translations or captions.")
def command(model: Path, text: Path | None, output: Path | None, **given: Any) -> None:
    """Translate with MODEL and score against the reference: BLEU, chrF and TER with sacrebleu's signatures.

    For a captioner give --captions: BLEU-1 to 4, ROUGE-L, CIDEr-D, the exact matches and, if there are gold boxes
    beside the captions, how often the attention peaks inside the box.

    For a language model give --text: perplexity by token and by word, bits per character, and token accuracy. A
    decoder-only model predicts each token from those before it, an encoder-only model from all others.

    For a classifier give --labels: accuracy, macro F1, the expected calibration error (ECE), and precision and recall
    of each class. --plot draws the confusion matrix and the calibration.

    Brackets hold the 95 % confidence interval. BLEU is also given by source length.
    """
    options = EvaluationOptions(**given)
    match bool(options.files), options.captions, text, options.labels:
        case True, None, None, None:
            reject_options({"split": options.split}, "captioners", "--source")
            check_outputs({"--output": output, "--plot": options.plot}, options.files)
            sources, references = read_translation_set(options, [model])
            scoring = options.scoring([model], references)
            translator = load_translator(model, options.engine, options.quantization)
            report = measure_translator(translator, sources, references, scoring)
            warn_about_tokenized_text(references, [report], scoring.tokenize)
            _write_report(report, options, output, print_translation_report)
        case False, Path() as captions, None, None:
            reject_options(options.for_translators, "translators", "--captions")
            images = ImageTestSet.read(captions, options.split)
            check_outputs({"--output": output}, [images.file])
            _write_report(measure_captioner(model, images, options), options, output, print_caption_report)
        case False, None, None, Path() as labels:
            reject_options(
                {**options.for_translators, "plot": None, "split": options.split, "beam": options.beam_size},
                "other models",
                "--labels",
            )
            check_outputs({"--output": output, "--plot": options.plot}, [labels])
            classified = measure_classifier(model, labels, resamples=options.resamples)
            _write_report(classified, options, output, print_classification_report)
        case False, None, Path(), None:
            generation = {"split": options.split, "beam": options.beam_size, "output": output}
            reject_options(options.for_translators | generation, "translators and captioners", "--text")
            _evaluate_language_model(model, text, resamples=options.resamples, as_json=options.as_json)
        case _:
            raise click.UsageError(
                "Give --source and --reference, or --pairs, for a translator; --captions for a captioner; --text for a "
                "language model; or --labels for a classifier."
            )


def _write_report(
    report: Report, options: EvaluationOptions, output: Path | None, print_figures: Callable[[Report], None]
) -> None:
    """Write the outputs and the plot, and print the figures."""
    try:  # files first, because the reader of standard output may be gone; the figures even if the disk is full
        if output is not None:
            with atomic_file(output) as file:
                file.writelines(f"{text}\n".encode() for text in report.outputs)
        if options.plot is not None:
            write_plot(options.plot, report)
    finally:
        if options.as_json:
            print_json(figures_of(report))
        else:
            print_figures(report)


def write_plot(path: Path, report: TranslationReport | CaptionReport | ClassificationReport) -> None:
    """Plot a translator's quality by length, or a classifier's confusion matrix and calibration."""
    from regard.inference.evaluation import ClassificationReport, TranslationReport

    if isinstance(report, TranslationReport):
        write_length_plot(path, [report])
    elif isinstance(report, ClassificationReport):
        from regard.plotting.confusion import plot_confusion
        from regard.plotting.line_plot import save_figure

        names = [one.label for one in report.classes]
        title = f"{report.model}: {report.examples:,} examples"
        save_figure(plot_confusion(report.confusion, names, calibration=report.calibration, title=title), path)


def print_translation_report(report: TranslationReport) -> None:
    """The scores, BLEU by source length, and the signatures."""
    scores = [[one.name, format_score(one)] for one in report.scores]
    print_table([f"{report.sentences:,} sentences", "score [95 %]"], scores)
    rows = [[format_word_range(one), f"{one.count:,}", f"{one.score:.1f}"] for one in report.lengths]
    print_table(["source words", "sentences", "BLEU"], rows)
    for score in report.scores:
        echo(f"{score.name:<6} {score.signature}")


def print_caption_report(report: CaptionReport) -> None:
    """The scores, how often the attention of the best heads peaks inside the boxes, and the signatures."""
    print_table([f"{report.images:,} images", "score [95 %]"], [[one.name, format_score(one)] for one in report.scores])
    echo(f"exact match: {100 * report.exact_match:.1f} %")
    if report.pointing:
        rows = [
            [str(one.selection), f"{one.score.peak:.3f}", f"{one.score.mass:.3f}", f"{one.score.chance:.3f}"]
            for one in report.pointing[:SHOWN_HEADS]
        ]
        print_table(["pointing", "peak in the box", "mass in the box", "by chance"], rows)
    for score in report.scores:
        echo(f"{score.name:<8} {score.signature}")


def print_classification_report(report: ClassificationReport) -> None:
    """The scores, and the figures of each class."""
    rows = [[one.name, format_score(one)] for one in report.scores]
    print_table([f"{report.examples:,} examples", "% [95 %]"], rows)
    classes = [
        [one.label, f"{one.precision:.1f}", f"{one.recall:.1f}", f"{one.f1:.1f}", f"{one.examples:,}"]
        for one in report.classes
    ]
    print_table(["class", "precision", "recall", "F1", "examples"], classes)


def _evaluate_language_model(model: Path, source: Path, *, resamples: int, as_json: bool) -> None:
    from regard.data.pair_readers import check_monolingual
    from regard.data.pair_readers.text import read_monolingual
    from regard.inference.evaluation import evaluate_language_model
    from regard.inference.open import load

    check_monolingual(source)
    texts = [pair.target for pair in read_monolingual([source]) if pair.has_text(monolingual=True)]
    if not texts:
        raise RegardError(f"{source} has no line with words. Give another file.")
    opened = load(model)
    if opened.task not in ("text-generation", "fill-mask"):
        raise RegardError(f"{model} is a model for {opened.task}, but --text is for language models. Remove --text.")
    with progress_bar("evaluating", len(texts)) as progress:
        report = evaluate_language_model(opened, texts, resamples=resamples, progress=progress)
    if as_json:
        print_json(report)
        return
    rows = [[one.name, f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"] for one in report.scores]
    print_table([f"{report.texts:,} texts, {report.tokens:,} tokens", "figure [95 %]"], rows)

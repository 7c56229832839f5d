"""`regard evaluate`: measure a model of any task; and what `regard compare` shares with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli.console import echo, print_json, print_table, progress_bar, warn
from regard.cli.options import (
    PATH,
    beam_option,
    captions_option,
    check_direction,
    check_outputs,
    engine_option,
    json_option,
    labels_option,
    languages_of,
    load_translator,
    lowercase_option,
    model_argument,
    pairs_option,
    plot_option,
    quantization_option,
    reference_option,
    reject_options,
    resamples_option,
    skip_language_check_option,
    source_option,
    split_option,
    tokenize_option,
    write_texts,
)
from regard.config import decode_options
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.captions import CaptionedImage
    from regard.inference.captioner import Captioner
    from regard.inference.classifier import Classifier
    from regard.inference.evaluation import CaptionReport, ClassificationReport, TranslationReport
    from regard.inference.interface import EngineName
    from regard.inference.translator import Translator
    from regard.interop.ctranslate2 import Quantization
    from regard.metrics.text import LengthBucket, Score
    from regard.tracing.image_maps import BoxedCaption
    from regard.worlds.scenes import GoldBoxes

BOXES_FILE = "boxes.jsonl"
SHOWN_HEADS = 3
PLOT_SUFFIXES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class EvaluationOptions:
    """The options that `regard evaluate` and `regard compare` share."""

    source: Path | None
    reference: Path | None
    pairs: Path | None
    skip_language_check: bool
    captions: Path | None
    labels: Path | None
    split: str | None
    beam_size: int | None
    engine: EngineName | None
    quantization: Quantization | None
    tokenize: str | None
    lowercase: bool
    resamples: int
    plot: Path | None
    as_json: bool

    @property
    def files(self) -> list[Path]:
        """The files of translations: one of pairs, or a source and a reference; none if no option names them."""
        if self.pairs is not None and (self.source or self.reference):
            raise click.UsageError("--pairs has sources and references. Remove --source and --reference, or --pairs.")
        if (self.source is None) != (self.reference is None):
            raise click.UsageError("Give --source and --reference together, or --pairs.")
        return [self.pairs] if self.pairs else [self.source, self.reference] if self.source and self.reference else []

    @property
    def for_translators(self) -> dict[str, object]:
        """The options that only translators have, by name."""
        return {name: getattr(self, name) for name in ("engine", "quantization", "tokenize", "lowercase", "plot")}

    def scoring(self, models: Sequence[Path], references: Sequence[str]) -> ScoringOptions:
        """How the translations of all models are generated and scored."""
        tokenize = choose_tokenization(self.tokenize, models, references)
        return ScoringOptions(self.beam_size, tokenize, self.lowercase, self.resamples)


def evaluation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `EvaluationOptions` to a command."""
    data = [source_option, reference_option, pairs_option, skip_language_check_option]
    data += [captions_option, labels_option, split_option]
    search = [beam_option, engine_option, quantization_option]
    scoring = [tokenize_option, lowercase_option, resamples_option, plot_option, json_option]
    for option in reversed([*data, *search, *scoring]):
        command = option(command)
    return command


@click.command(name="evaluate")
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
            check_plot_path(options.plot)
            check_outputs({"--output": output, "--plot": options.plot}, options.files)
            sources, references = read_test_set(options, [model])
            scoring = options.scoring([model], references)
            translator = load_translator(model, options.engine, options.quantization)
            report = measure_translator(translator, sources, references, scoring)
            warn_about_tokenized_text(references, [report], scoring.tokenize)
            _write_translation_report(report, plot=options.plot, output=output, as_json=options.as_json)
        case False, Path() as captions, None, None:
            reject_options(options.for_translators, "translators", "--captions")
            images = ImageTestSet.read(captions, options.split)
            check_outputs({"--output": output}, [images.file])
            caption_report = measure_captioner(model, images, options)
            _write_caption_report(caption_report, output=output, as_json=options.as_json)
        case False, None, None, Path() as labels:
            reject_options(
                {**options.for_translators, "plot": None, "split": options.split, "beam": options.beam_size},
                "other models",
                "--labels",
            )
            check_plot_path(options.plot)
            check_outputs({"--output": output, "--plot": options.plot}, [labels])
            classified = measure_classifier(model, labels, resamples=options.resamples)
            _write_classification_report(classified, plot=options.plot, output=output, as_json=options.as_json)
        case False, None, Path(), None:
            generation = {"split": options.split, "beam": options.beam_size, "output": output}
            reject_options(options.for_translators | generation, "translators and captioners", "--text")
            _evaluate_language_model(model, text, resamples=options.resamples, as_json=options.as_json)
        case _:
            raise click.UsageError(
                "Give --source and --reference, or --pairs, for a translator; --captions for a captioner; --text for a "
                "language model; or --labels for a classifier."
            )


# --- translators


@dataclass(frozen=True)
class ScoringOptions:
    """How translations are generated and scored."""

    beam_size: int | None
    tokenize: str
    lowercase: bool
    resamples: int


def read_test_set(options: EvaluationOptions, models: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Sources and references from one file of pairs or from two files of lines, in the direction of the models."""

    from regard.data.inspection import MAX_CHECKED_PAIRS, are_columns_swapped
    from regard.data.readers import read_pairs

    files = options.files
    if len(files) == 2:
        check_direction(models, files[0], files[1], ("--source", "--reference"))
    languages = next((codes for model in models if len(codes := languages_of(model)) == 2), [])
    pairs = list(read_pairs(files, languages=languages))
    if languages and not options.skip_language_check and are_columns_swapped(pairs[:MAX_CHECKED_PAIRS], *languages):
        raise RegardError(
            f"{' and '.join(map(str, files))}: the sources are {languages[1]} and the references are {languages[0]}, "
            f"but the model translates {' to '.join(languages)}. Swap them. If the languages are right, add "
            "--skip-language-check."
        )
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def choose_tokenization(tokenize: str | None, models: Sequence[Path], references: Sequence[str]) -> str:
    """The tokenizer of BLEU for all models: the given one, or by target language, or by the references' script."""

    from regard.inference.evaluation import common_tokenization
    from regard.metrics.text import language_by_script, tokenization_note

    if tokenize is not None:
        return tokenize
    targets = {code: str(model) for model in models for code in languages_of(model)[-1:]}
    chosen = common_tokenization(targets, references)
    language = next(iter(targets), None) or language_by_script(references)
    if not targets and language:
        warn(
            f"no model names its languages; BLEU is tokenised for {language} ({chosen}), by the script of the reference"
        )
    if note := tokenization_note(language, chosen):
        warn(note)
    return chosen


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


def _write_translation_report(
    report: TranslationReport, *, plot: Path | None, output: Path | None, as_json: bool
) -> None:
    try:  # files first, because the reader of standard output may be gone; the figures even if the disk is full
        if output is not None:
            write_texts(output, report.outputs)
        if plot is not None:
            write_length_plot(plot, [report])
    finally:
        if as_json:
            print_json(figures_of(report))
        else:
            print_table(
                [f"{report.sentences:,} sentences", "score [95 %]"],
                [[one.name, format_score(one)] for one in report.scores],
            )
            rows = [[format_word_range(one), f"{one.count:,}", f"{one.score:.1f}"] for one in report.lengths]
            print_table(["source words", "sentences", "BLEU"], rows)
            for score in report.scores:
                echo(f"{score.name:<6} {score.signature}")


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


def check_plot_path(path: Path | None) -> None:
    """An error for a file name of another format, before a model is loaded."""
    if path is not None and path.suffix.lower() not in PLOT_SUFFIXES:
        raise RegardError(f"{path.name} does not end with .svg, .png or .pdf. Give one of these names.")


def write_length_plot(path: Path, reports: Sequence[TranslationReport]) -> None:
    """Plot BLEU by source length, one line for each model."""
    from regard.plotting.curves import Line, plot_curves, save_figure

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


# --- captioners


@dataclass(frozen=True)
class ImageTestSet:
    """Captioned images, and the gold boxes of those that have any."""

    file: Path
    captioned: list[CaptionedImage]
    boxes: dict[Path, GoldBoxes]

    @classmethod
    def read(cls, captions: Path, split: str | None) -> ImageTestSet:
        """The images of a split, or all; generated scenes have a file of boxes beside their captions."""
        from regard.data.captions import find_captions_file, read_captioned
        from regard.worlds.scenes import read_boxes

        file, captioned = find_captions_file(captions), read_captioned(captions, split=split)
        beside = file.with_name(BOXES_FILE)
        found = read_boxes(beside) if beside.is_file() else {}
        named = {one.image: "/".join(one.image.parts[-2:]) for one in captioned}  # boxes are named by split and file
        return cls(file, captioned, {path: found[name] for path, name in named.items() if name in found})

    def boxed(self, captioner: Captioner) -> Iterator[BoxedCaption]:
        """The images with gold boxes, as the captioner reads them."""
        from regard.tracing.image_maps import BoxedCaption

        for path, gold in self.boxes.items():
            yield BoxedCaption(captioner.load_image(path), gold.words, gold.boxes)


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


def _write_caption_report(report: CaptionReport, *, output: Path | None, as_json: bool) -> None:
    try:  # the file first, because the reader of standard output may be gone; the figures even if the disk is full
        if output is not None:
            write_texts(output, report.outputs)
    finally:
        if as_json:
            print_json(figures_of(report))
        else:
            _print_caption_report(report)


def _print_caption_report(report: CaptionReport) -> None:
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


# --- classifiers


def read_labelled_set(labels: Path, classifier: Classifier) -> tuple[list[str], list[str]]:
    """Texts or image files, and their labels; a label that the model does not have is an error."""
    from regard.data.labels import read_labelled_images, read_labelled_texts

    if classifier.reads_images:
        images = read_labelled_images(labels, labels=classifier.labels)
        return [str(one.image) for one in images], [one.captions[0] for one in images]
    pairs = list(read_labelled_texts([labels], labels=classifier.labels))
    return [pair.target for pair in pairs], [pair.source for pair in pairs]


def measure_classifier(model: Path, labels: Path, *, resamples: int) -> ClassificationReport:
    """A classifier's figures, with a progress bar."""
    from regard.inference.evaluation import evaluate_classifier
    from regard.inference.open import load

    classifier = load(model, task="classification")
    inputs, gold = read_labelled_set(labels, classifier)
    with progress_bar(f"classifying with {classifier.name}", len(inputs)) as progress:
        return evaluate_classifier(classifier, inputs, gold, resamples=resamples, progress=progress)


def _write_classification_report(
    report: ClassificationReport, *, plot: Path | None, output: Path | None, as_json: bool
) -> None:
    try:  # files first, because the reader of standard output may be gone; the figures even if the disk is full
        if output is not None:
            write_texts(output, report.outputs)
        if plot is not None:
            from regard.plotting.confusion import plot_confusion
            from regard.plotting.curves import save_figure

            names = [one.label for one in report.classes]
            title = f"{report.model}: {report.examples:,} examples"
            save_figure(plot_confusion(report.confusion, names, calibration=report.calibration, title=title), plot)
    finally:
        if as_json:
            print_json(figures_of(report))
        else:
            rows = [[one.name, format_score(one)] for one in report.scores]
            print_table([f"{report.examples:,} examples", "% [95 %]"], rows)
            classes = [
                [one.label, f"{one.precision:.1f}", f"{one.recall:.1f}", f"{one.f1:.1f}", f"{one.examples:,}"]
                for one in report.classes
            ]
            print_table(["class", "precision", "recall", "F1", "examples"], classes)


# --- language models


def _evaluate_language_model(model: Path, source: Path, *, resamples: int, as_json: bool) -> None:
    from regard.data.readers import check_monolingual
    from regard.data.readers.text import read_monolingual
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

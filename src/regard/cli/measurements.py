"""What `regard evaluate` and `regard compare` share: options, test sets, and the measurement of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli.console import progress_bar, warn
from regard.cli.file_checks import check_direction
from regard.cli.model_loading import languages_of
from regard.cli.options import (
    beam_option,
    captions_option,
    engine_option,
    json_option,
    labels_option,
    lowercase_option,
    pairs_option,
    plot_option,
    quantization_option,
    reference_option,
    resamples_option,
    skip_language_check_option,
    source_option,
    split_option,
    tokenize_option,
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
    scoring = [tokenize_option, lowercase_option, resamples_option]
    output = [plot_option("quality by sentence length"), json_option]
    for option in reversed([*data, *search, *scoring, *output]):
        command = option(command)
    return command


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


def read_labelled_set(labels: Path, classifier: Classifier) -> tuple[list[str], list[str]]:
    """Texts or image files, and their labels; a label that the model does not have is an error."""
    from regard.data.labelled_examples import read_labelled_images, read_labelled_texts

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

"""Evaluate a translator, captioner, language model or classifier: reports, and the report file of a comparison.

report = regard.evaluate(translator, sources, references)
report = regard.evaluate(captioner, images, captions)
report = regard.evaluate(language_model, texts)
report = regard.evaluate(classifier, texts, labels)
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import msgspec

from regard.config import DecodeOptions, decode_options
from regard.errors import RegardError
from regard.files import MEBIBYTE, atomic_file, read_input
from regard.inference.interface import ModelPipeline, Progress, check_texts
from regard.inference.translator import Translation, Translator
from regard.metrics.classification import CalibrationBin, calibration, confusion_matrix, evaluate_classes
from regard.metrics.text import (
    LengthBucket,
    Score,
    Tokenization,
    bleu_by_length,
    language_by_script,
    perplexity_scores,
    tokenization_for,
)
from regard.metrics.text import evaluate as score_translations
from regard.struct_decoding import decode_json
from regard.tracing.alignment import HeadAlignment

if TYPE_CHECKING:
    from regard.inference.captioner import Captioner, ImageInput
    from regard.inference.classifier import Classifier, ClassifierInput
    from regard.inference.mask_filler import MaskFiller
    from regard.inference.text_generator import TextGenerator
    from regard.tracing.image_maps import BoxedCaption, HeadPointing

TOKENIZED_LINES = 100  # as in sacrebleu: so many lines do not end with a space and a full stop by chance


# --- reports ---------------------------------------------------------------------------------------------------------


class TranslationReport(msgspec.Struct, frozen=True, kw_only=True):
    """A translator's figures on a test set; the time is that of decoding alone."""

    model: str
    kind: str
    score: str | None = None  # of an RNN with attention: its score function, and which of its states is the query
    query_state: str | None = None
    sentences: int
    scores: list[Score]
    lengths: list[LengthBucket]  # BLEU by source length
    decoding_seconds: float
    sentences_per_second: float
    tokens_per_second: float
    parameters: int
    disk_bytes: int
    alignment: HeadAlignment | None = None  # of the head with the lowest error, where gold links are given
    truncated: list[int] = []  # numbers, from 1, of the sources of which only the beginning was translated
    outputs: list[str] = []


class CaptionReport(msgspec.Struct, frozen=True, kw_only=True):
    """A captioner's figures."""

    model: str
    images: int
    scores: list[Score]
    exact_match: float
    pointing: "list[HeadPointing]"  # the best head first; empty without gold boxes, or without attention
    decoding_seconds: float
    images_per_second: float
    parameters: int
    disk_bytes: int
    outputs: list[str] = []


class PerplexityReport(msgspec.Struct, frozen=True, kw_only=True):
    """A language model's figures."""

    model: str
    texts: int
    tokens: int
    scores: list[Score]
    decoding_seconds: float
    tokens_per_second: float
    parameters: int
    disk_bytes: int


class ClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How well one class is recognised, in percent, and how many examples it has."""

    label: str
    precision: float
    recall: float
    f1: float
    examples: int


class ClassificationReport(msgspec.Struct, frozen=True, kw_only=True):
    """A classifier's figures."""

    model: str
    examples: int
    scores: list[Score]  # accuracy, macro F1, and expected calibration error
    classes: list[ClassFigures]
    confusion: list[list[int]]  # examples of each gold class (row) that were predicted as each class (column)
    calibration: list[CalibrationBin]
    decoding_seconds: float
    examples_per_second: float
    parameters: int
    disk_bytes: int
    outputs: list[str] = []
    probabilities: list[float] = []  # of the predicted classes


class EvaluationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The file that `regard compare --report` writes and `regard serve --report` shows: models on one test set."""

    models: list[TranslationReport]
    sources: list[str] = []  # empty where only figures were kept
    references: list[str] = []

    def write(self, path: Path) -> None:
        """Write the file; it appears complete or not at all."""
        with atomic_file(path) as file:
            file.write(msgspec.json.encode(self))

    @classmethod
    def read(cls, path: Path) -> "EvaluationReport":
        """Read the file, and check that its models and sentences match."""
        advice = "Give a file that regard compare --report wrote."
        content = read_input(path, max_bytes=1024 * MEBIBYTE, advice=advice)
        try:
            report = decode_json(content, cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegardError(f"{path} is not a file of regard compare --report: {error}. Write it again.") from None
        counts = {
            len(report.sources),
            len(report.references),
            *(len(one.outputs) for one in report.models if one.outputs),
        }
        if not report.models or len(counts) > 1:
            raise RegardError(f"{path} is incomplete: its models and sentences do not match. Write it again.")
        return report


# --- evaluation ------------------------------------------------------------------------------------------------------


@overload
def evaluate(
    model: Translator,
    inputs: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str | None = None,
    lowercase: bool = False,
    resamples: int = 1000,
    progress: Progress | None = None,
    **options: Unpack[DecodeOptions],
) -> TranslationReport: ...
@overload
def evaluate(
    model: "Captioner",
    inputs: "Sequence[ImageInput]",
    references: Sequence[Sequence[str]],
    *,
    resamples: int = 1000,
    progress: Progress | None = None,
    **options: Unpack[DecodeOptions],
) -> CaptionReport: ...
@overload
def evaluate(
    model: "TextGenerator | MaskFiller",
    inputs: Sequence[str],
    *,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> PerplexityReport: ...
@overload
def evaluate(
    model: "Classifier",
    inputs: "Sequence[ClassifierInput]",
    references: Sequence[str],
    *,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> ClassificationReport: ...
def evaluate(
    model: Any, inputs: Sequence[Any], references: Sequence[Any] | None = None, **options: Any
) -> TranslationReport | CaptionReport | PerplexityReport | ClassificationReport:
    """A model's figures on a test set; options are those of the decoding section, such as beam_size=1.

    For a translator: BLEU, chrF and TER of its translations. For a captioner: BLEU, ROUGE-L and CIDEr-D, several
    references for each image. For a language model, which needs no references: perplexity. For a classifier, whose
    references are labels: accuracy, macro F1 and calibration. For example:

        report = regard.evaluate(regard.load("en-fr"), ["Good morning."], ["Bonjour !"])
        print([(score.name, score.value) for score in report.scores])
    """
    if not isinstance(model, ModelPipeline):
        raise RegardError(f"expected a loaded model, and got {type(model).__name__}. Open one with regard.load(path).")
    functions = {
        "translation": evaluate_translator,
        "image-to-text": evaluate_captioner,
        "classification": evaluate_classifier,
    }
    evaluate_generated: Any = functions.get(model.task)
    if evaluate_generated is None:
        if references is not None:
            raise RegardError("a language model is evaluated on texts alone. Remove the references.")
        return evaluate_language_model(model, inputs, **options)  # type: ignore[arg-type]
    if references is None:
        raise RegardError(f"a model for {model.task} needs references. Give one for each input.")
    report: TranslationReport | CaptionReport | ClassificationReport = evaluate_generated(
        model, inputs, references, **options
    )
    return report


def evaluate_translator(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str | None = None,
    lowercase: bool = False,
    resamples: int = 1000,
    progress: Progress | None = None,
    **options: Unpack[DecodeOptions],
) -> TranslationReport:
    """A translator's figures; BLEU is tokenised for its target language, unless `tokenize` is given."""
    sources, references = check_texts(sources), check_texts(references)
    target = translator.languages[1]
    how: Any = {"tokenize": tokenize or common_tokenization({target: translator.name}, references)}
    how["lowercase"] = lowercase
    score_translations(["a"], ["a"], resamples=1, **how)  # an unknown tokenisation is an error before the long work
    outputs, seconds = _translate_timed(translator, sources, progress, options)
    texts, design = [output.text for output in outputs], translator.config.model
    return TranslationReport(
        model=translator.name,
        kind=str(type(design).__struct_config__.tag),
        score=getattr(design, "score", None),
        query_state=getattr(design, "query_state", None),
        sentences=len(texts),
        scores=score_translations(texts, references, resamples=resamples, **how),
        lengths=bleu_by_length(sources, texts, references, **how),
        decoding_seconds=seconds,
        sentences_per_second=len(texts) / seconds,
        tokens_per_second=sum(len(output.tokens) + 1 for output in outputs) / seconds,  # END is a token too
        parameters=translator.num_parameters,
        disk_bytes=translator.disk_bytes,
        truncated=[number for number, output in enumerate(outputs, start=1) if output.is_truncated],
        outputs=texts,
    )


def _translate_timed(
    translator: Translator, sources: list[str], progress: Progress | None, options: DecodeOptions
) -> tuple[list[Translation], float]:
    config = translator.decoding_config(**decode_options(**{**options, "nbest": 1}))
    list(translator.translate_lines(sources[:1], config))  # the first call allocates what later calls reuse
    started = time.perf_counter()
    outputs = [own[0] for own in translator.translate_lines(sources, config, scores=False, progress=progress)]
    return outputs, time.perf_counter() - started


def evaluate_captioner(
    captioner: "Captioner",
    images: "Sequence[ImageInput]",
    references: Sequence[Sequence[str]],
    *,
    boxed: "Iterable[BoxedCaption]" = (),
    resamples: int = 1000,
    progress: Progress | None = None,
    **options: Unpack[DecodeOptions],
) -> CaptionReport:
    """A captioner's figures; with gold boxes also how often each head's attention peaks inside them."""
    from regard.metrics.captions import evaluate_captions, exact_match
    from regard.tracing.image_maps import score_pointing

    config = captioner.decoding_config(**decode_options(**{**options, "nbest": 1}))
    started = time.perf_counter()
    texts = [own[0].text for own in captioner.iter_captions(images, config, progress=progress)]
    seconds = time.perf_counter() - started
    captions = [list(own) for own in references]
    return CaptionReport(
        model=captioner.name,
        images=len(texts),
        scores=evaluate_captions(texts, captions, resamples=resamples),
        exact_match=exact_match(texts, captions),
        pointing=score_pointing(captioner.bundle, boxed),
        decoding_seconds=seconds,
        images_per_second=len(texts) / seconds,
        parameters=captioner.num_parameters,
        disk_bytes=captioner.disk_bytes,
        outputs=texts,
    )


def evaluate_language_model(
    model: "TextGenerator | MaskFiller",
    texts: Sequence[str],
    *,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> PerplexityReport:
    """A language model's figures: perplexity by token and by word, bits per character, and token accuracy.

    An encoder-only model predicts each token from all others, so that its figures are pseudo-perplexities.
    """
    texts, likelihoods, started = check_texts(texts), [], time.perf_counter()
    if not texts:
        raise RegardError("there are no texts to evaluate on. Give at least one.")
    for one in model.log_likelihoods(texts):
        likelihoods.append(one)
        (progress or int)(1)
    seconds, tokens = time.perf_counter() - started, sum(one.tokens for one in likelihoods)
    return PerplexityReport(
        model=model.name,
        texts=len(texts),
        tokens=tokens,
        scores=perplexity_scores(likelihoods, texts, is_pseudo=model.task == "fill-mask", resamples=resamples),
        decoding_seconds=seconds,
        tokens_per_second=tokens / seconds,
        parameters=model.num_parameters,
        disk_bytes=model.disk_bytes,
    )


def evaluate_classifier(
    classifier: "Classifier",
    inputs: "Sequence[ClassifierInput]",
    labels: Sequence[str],
    *,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> ClassificationReport:
    """A classifier's figures: accuracy, macro F1, expected calibration error, and those of each class."""
    if len(inputs) != len(labels) or not len(inputs):
        raise RegardError(f"{len(inputs)} inputs and {len(labels)} labels. Give a label for each, and at least one.")
    numbers = {label: number for number, label in enumerate(classifier.labels)}
    if unknown := next((label for label in labels if label not in numbers), None):
        raise RegardError(f"the label {unknown!r} is not one of the model's: {', '.join(classifier.labels[:20])}.")
    started = time.perf_counter()
    found = list(classifier.iter_classes(inputs, progress=progress))
    seconds = time.perf_counter() - started
    gold, best = [numbers[label] for label in labels], [numbers[one.label] for one in found]
    probabilities = [one.probability for one in found]
    matrix = confusion_matrix(gold, best, len(numbers))
    return ClassificationReport(
        model=classifier.name,
        examples=len(found),
        scores=evaluate_classes(gold, best, probabilities, resamples=resamples),
        classes=_class_figures(matrix.tolist(), classifier.labels),
        confusion=matrix.tolist(),
        calibration=calibration(gold, best, probabilities)[1],
        decoding_seconds=seconds,
        examples_per_second=len(found) / seconds,
        parameters=classifier.num_parameters,
        disk_bytes=classifier.disk_bytes,
        outputs=[one.label for one in found],
        probabilities=probabilities,
    )


def _class_figures(matrix: list[list[int]], labels: Sequence[str]) -> list[ClassFigures]:
    figures = []
    for number, label in enumerate(labels):
        hits, examples = matrix[number][number], sum(matrix[number])
        predicted = sum(row[number] for row in matrix)
        precision, recall = (100 * hits / max(1, total) for total in (predicted, examples))
        f1 = 200 * hits / max(1, predicted + examples)
        figures.append(ClassFigures(label=label, precision=precision, recall=recall, f1=f1, examples=examples))
    return figures


# --- the tokenisation of BLEU ----------------------------------------------------------------------------------------


def common_tokenization(targets: Mapping[str, str], references: Sequence[str]) -> Tokenization:
    """One tokenisation for all models, since BLEU of two tokenisations cannot be compared.

    `targets` maps the target language of each model, where it is known, to the model's name. If none is known, the
    script of the references decides.
    """
    found = {tokenization_for(code): f"{name} ({code})" for code, name in targets.items() if code}
    if len(found) > 1:
        named = " and ".join(f"{name}: {tokenize}" for tokenize, name in found.items())
        raise RegardError(
            f"the models need different tokenisations for BLEU, and cannot be compared: {named}. "
            "Give models of one target language, or choose one tokenisation with --tokenize."
        )
    return next(iter(found), None) or tokenization_for(language_by_script(references))


def tokenized_text_warning(references: Sequence[str], outputs: Iterable[Sequence[str]], tokenize: str) -> str | None:
    """A warning for text that seems to be tokenised already, because BLEU tokenises it again."""
    if tokenize == "none":
        return None
    if _seems_tokenized(references):
        return (
            f"{TOKENIZED_LINES} or more references end with a separate full stop: they seem to be tokenised already, "
            f"and BLEU tokenises them again ({tokenize}). If the model was trained on such text, use --tokenize none."
        )
    if any(map(_seems_tokenized, outputs)):
        return (
            f"{TOKENIZED_LINES} or more translations end with a separate full stop, and the references do not: the "
            "model seems to be trained on tokenised text. Give references tokenised alike, and --tokenize none."
        )
    return None


def _seems_tokenized(lines: Sequence[str]) -> bool:
    return sum(line.endswith(" .") for line in lines) >= TOKENIZED_LINES

"""Translating a test set and scoring it: what `evaluate` and `compare` share."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.running.directions import check_direction
from regard.cli.running.models import Choice, bytes_on_disk, languages_of, open_model, short_name
from regard.cli.running.telling import bar, warn
from regard.data import read_pairs
from regard.errors import RegardError
from regard.export.opening import EngineName
from regard.metrics import Bucket, Score, Tokenization, by_length, evaluate, language_by_script, tokenization_for
from regard.staged import staged_file
from regard.translation.lines import LineTranslator, Translation
from regard.view.plots import Line, Plot, draw

if TYPE_CHECKING:  # it brings torch, which an export does without
    from regard.cli.running.align_readings import ReadingScore

NOTHING = "–"  # the cell of a figure that a model has not
MANY_CUT = 100  # lines, as sacrebleu has it: so many do not end with a space and a full stop by chance


@dataclass(frozen=True)
class Scoring:
    """How translations are made and scored."""

    beam: int | None
    tokenize: str | None
    lowercase: bool
    resamples: int
    engine: EngineName | None = None
    quantization: str | None = None


@dataclass(frozen=True)
class Measured:
    """A model's figures on a test set; seconds are those of decoding alone."""

    model: str
    directory: str
    kind: str
    score: str | None  # of an RNN that attends, as its wiring is
    wiring: str | None
    sentences: int
    scores: list[Score]
    lengths: list[Bucket]
    seconds: float
    sentences_per_second: float
    tokens_per_second: float
    parameters: int
    bytes: int
    alignment: "ReadingScore | None" = None  # the reading that errs least, where gold links were given


@dataclass(frozen=True)
class TestSet:
    """Source sentences and their references, line by line."""

    sources: list[str]
    references: list[str]

    @classmethod
    def read(cls, source: Path, reference: Path, models: Sequence[Path]) -> "TestSet":
        """The test set in two files of equally many lines, which stand in the models' order."""
        check_direction(models, source, reference, ("--source", "--reference"))
        pairs = list(read_pairs([source, reference]))
        return cls([pair.source for pair in pairs], [pair.target for pair in pairs])


def with_tokenization(scoring: Scoring, models: Sequence[Path], test: TestSet) -> Scoring:
    """The scoring with one way to cut words for all models, since BLEU of two ways cannot be compared.

    It is the one asked for, or that of the language in which any of the models writes, or else of the reference.
    """
    if scoring.tokenize is not None:
        return scoring
    targets = {code: model for model in models for code in languages_of(model)[-1:]}
    ways = {tokenization_for(code): (code, model) for code, model in targets.items()}
    if len(ways) > 1:
        named = " and ".join(f"{model} ({code}: {way})" for way, (code, model) in ways.items())
        raise RegardError(
            f"BLEU of {named} is cut in other ways, and cannot be compared. "
            "Give models of one target language, or choose one way with --tokenize."
        )
    return replace(scoring, tokenize=next(iter(ways), None) or _by_script(test))


def _by_script(test: TestSet) -> Tokenization:
    language = language_by_script(test.references)
    way = tokenization_for(language)
    if language:
        warn(f"no model names its languages; BLEU is cut as for {language} ({way}), by the script of the reference")
    return way


def measure(model: Path, test: TestSet, scoring: Scoring) -> tuple[Measured, list[str]]:
    """The model's figures, and its translations; the scoring has its tokenisation."""
    translator = open_model(Choice(model, scoring.engine, scoring.quantization))
    how = {"tokenize": scoring.tokenize, "lowercase": scoring.lowercase}
    evaluate(["a"], ["a"], resamples=1, **how)  # type: ignore[arg-type]  # a wrong name is told before the long work
    outputs, seconds = _timed(translator, test.sources, scoring.beam, short_name(model))
    texts, design = [output.text for output in outputs], translator.config.model
    measured = Measured(
        model=short_name(model),
        directory=str(model),
        kind=str(design.__struct_config__.tag),
        score=getattr(design, "score", None),
        wiring=getattr(design, "wiring", None),
        sentences=len(texts),
        scores=evaluate(texts, test.references, resamples=scoring.resamples, **how),  # type: ignore[arg-type]
        lengths=by_length(test.sources, texts, test.references, **how),  # type: ignore[arg-type]
        seconds=seconds,
        sentences_per_second=len(texts) / seconds,
        tokens_per_second=sum(len(output.tokens) + 1 for output in outputs) / seconds,  # END is a token too
        parameters=translator.parameters,
        bytes=sum(bytes_on_disk(model).values()),
    )
    return measured, texts


def warn_of_cut_words(references: list[str], texts: Sequence[list[str]], tokenize: str | None) -> None:
    """Say once, of all models, that words which BLEU cuts seem to be cut already."""
    if tokenize == "none":
        return
    if _seem_cut(references):
        warn(
            f"{MANY_CUT} or more references end with a full stop that stands alone: their words seem to be cut "
            f"already, and BLEU cuts them again ({tokenize}). If the model learnt from such text, add --tokenize none."
        )
    elif any(map(_seem_cut, texts)):
        warn(
            f"{MANY_CUT} or more translations end with a full stop that stands alone, and the references do not: the "
            "model seems to have learnt from such text. Give references that are cut alike, and --tokenize none."
        )


def _seem_cut(lines: list[str]) -> bool:
    return sum(line.endswith(" .") for line in lines) >= MANY_CUT


def _timed(
    translator: LineTranslator, texts: list[str], beam: int | None, name: str
) -> tuple[list[Translation], float]:
    config = translator.settings(nbest=1, **({} if beam is None else {"beam": beam}))
    list(translator.lines(texts[:1], config))  # the first call pays for what later ones find ready
    with bar(f"translating with {name}", len(texts)) as progress:
        begun = time.perf_counter()
        outputs = [own[0] for own in translator.lines(texts, config, scores=False, progress=progress)]
        seconds = time.perf_counter() - begun
    for number, output in enumerate(outputs, start=1):
        if output.is_cut:
            warn(f"source line {number} has more than {translator.longest} tokens; only its beginning was translated")
    return outputs, seconds


def shown(score: Score) -> str:
    """A score with its interval."""
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"


def words(bucket: Bucket) -> str:
    """The range of a bucket's lengths."""
    return f"{bucket.low}–{bucket.high}"


def check_plot(path: Path | None) -> None:
    """Refuse a name that says another kind of picture; asked before a model is loaded."""
    if path is not None and path.suffix.lower() != ".svg":
        raise RegardError(f"{path.name} does not end with .svg, and the plot is one. Give such a name.")


def write_length_plot(path: Path, models: list[Measured]) -> None:
    """Draw BLEU against source length, a line for each model."""
    buckets = models[0].lengths  # the lengths are the source's, so every model has the same buckets
    lines = [Line(one.model, [(place, bucket.score) for place, bucket in enumerate(one.lengths)]) for one in models]
    plot = Plot(
        title="Quality by sentence length",
        x_label="words in the source sentence",
        y_label="BLEU",
        lines=lines,
        x_ticks=[(place, f"{words(bucket)}\n{bucket.count:,} lines") for place, bucket in enumerate(buckets)],
    )
    with staged_file(path) as file:
        file.write(draw(plot).encode())

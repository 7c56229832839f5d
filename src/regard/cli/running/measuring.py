"""Translating a test set and scoring it: what `evaluate` and `compare` share."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from regard.cli.running.models import Choice, bytes_on_disk, open_model, short_name
from regard.cli.running.telling import bar, warn
from regard.data import read_pairs
from regard.export.opening import EngineName
from regard.metrics import Bucket, Score, Tokenization, by_length, evaluate, tokenization_for
from regard.staged import staged_file
from regard.translation.lines import LineTranslator, Translation
from regard.view.plots import Line, Plot, draw


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
    sentences: int
    scores: list[Score]
    lengths: list[Bucket]
    seconds: float
    sentences_per_second: float
    tokens_per_second: float
    parameters: int
    bytes: int


@dataclass(frozen=True)
class TestSet:
    """Source sentences and their references, line by line."""

    sources: list[str]
    references: list[str]

    @classmethod
    def read(cls, source: Path, reference: Path) -> "TestSet":
        """The test set in two files of equally many lines."""
        pairs = list(read_pairs([source, reference]))
        return cls([pair.source for pair in pairs], [pair.target for pair in pairs])


def measure(model: Path, test: TestSet, scoring: Scoring) -> tuple[Measured, list[str]]:
    """The model's figures, and its translations."""
    translator = open_model(Choice(model, scoring.engine, scoring.quantization))
    tokenize = cast(Tokenization, scoring.tokenize or tokenization_for(translator.languages[1]))
    how = {"tokenize": tokenize, "lowercase": scoring.lowercase}
    evaluate(["a"], ["a"], resamples=1, **how)  # type: ignore[arg-type]  # a wrong name is told before the long work
    outputs, seconds = _timed(translator, test.sources, scoring.beam, short_name(model))
    texts = [output.text for output in outputs]
    measured = Measured(
        model=short_name(model),
        directory=str(model),
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

"""Text in, text out, whichever engine decodes: lines are cut into tokens, decoded, and put back in their order.

Nothing here imports torch, so that an exported model answers without waiting for it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from regard.config import (
    AttendingCaptionerConfig,
    Config,
    DecoderOnlyConfig,
    DecodingConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentCaptionerConfig,
    TransformerCaptionerConfig,
    from_table,
)
from regard.decoding.hypothesis import Hypothesis
from regard.errors import RegardError
from regard.problems import shown
from regard.tokens import Tokenizers
from regard.translation.engines import Engine, Finished

if TYPE_CHECKING:
    from regard.translation.alignment import Alignment
    from regard.translation.trace import Trace

CHUNK_LINES = 2048  # lines that are sorted by length together: enough to pad little, few enough to answer soon
LONGEST = 1024  # tokens of a line; a longer one is cut there, since attention's time grows with its square


@dataclass(frozen=True)
class Translation:
    """One output for one line."""

    text: str
    score: float
    log_probability: float
    tokens: list[int]
    is_cut: bool = False  # the source was longer than a model can read, and only its beginning was translated
    is_ended: bool = True  # False: what was said ran into its length bound, and stops there
    alignment: "Alignment | None" = None
    trace: "Trace | None" = None  # None also where the line had no words, and no model was asked


@dataclass
class Chunk:
    """Lines on their way: their tokens, what has come of them so far, and what is still to come."""

    rows: list[list[int]]
    is_cut: list[bool]
    places: list[int]  # of the lines that have words
    finished: Iterator[Finished]


class LineTranslator:
    """An engine with the vocabularies of its model."""

    def __init__(self, config: Config, tokenizers: Tokenizers, engine: Engine, *, parameters: int) -> None:
        _refuse_others(config.model)
        self.config = config
        self.tokenizers = tokenizers
        self.engine = engine
        self.parameters = parameters  # how many numbers the model has learnt

    @property
    def longest(self) -> int:
        """How many tokens of a line are read; a longer one is cut there."""
        return readable(self.engine.longest)

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; empty where the recipe did not name them."""
        source, target = self.config.data.languages or ("", "")
        return source, target

    def translate(self, texts: Sequence[str], *, align: bool = False, **options: object) -> list[Translation]:
        """The best translation of each text; options are those of the decoding section, such as beam=1."""
        refuse_several("translation", "text", options)
        return [outputs[0] for outputs in self.nbest(texts, align=align, **options)]

    def nbest(self, texts: Sequence[str], *, align: bool = False, **options: object) -> list[list[Translation]]:
        """The `nbest` best translations of each text, the best first."""
        return list(self.lines(checked_texts(texts), self.settings(**options), align=align))

    def settings(self, **options: object) -> DecodingConfig:
        """The model's own decoding section with some options changed."""
        return decoding_with(self.config.decoding, options)

    def lines(
        self,
        texts: Iterable[str],
        config: DecodingConfig,
        *,
        align: bool = False,
        scores: bool = True,
        progress: Callable[[int], object] = int,
    ) -> Iterator[list[Translation]]:
        """Outputs in the order of the texts, a chunk of lines at a time, so that a file of any size can pass.

        Without scores, which then may be NaN, a greedy search is faster.
        """
        remaining = iter(texts)
        begun: deque[Chunk] = deque()
        while chunk := list(islice(remaining, CHUNK_LINES)):
            begun.append(self._begin(chunk, config, scores))
            if not self.engine.is_ahead or len(begun) > 1:
                yield from self._finish(begun.popleft(), align, progress)
        for last in begun:
            yield from self._finish(last, align, progress)

    def aligned(self, pairs: Sequence[tuple[list[int], list[int]]]) -> "Iterator[Alignment]":  # noqa: ARG002
        """The alignments of pairs of token rows, which only a model that can be looked into has."""
        raise RegardError(
            "this is an export for the ctranslate2 engine, which keeps no attention to read alignments off. "
            "Give the model that it was exported from."
        )

    def _begin(self, texts: list[str], config: DecodingConfig, scores: bool) -> Chunk:
        encoded = [self.tokenizers.source.encode(text) for text in texts]
        rows = [row[: self.longest] for row in encoded]
        places = [place for place, row in enumerate(rows) if row]
        finished = self.engine.decode([rows[place] for place in places], config, scores=scores)
        return Chunk(rows, [len(row) > self.longest for row in encoded], places, finished)

    def _finish(self, chunk: Chunk, align: bool, progress: Callable[[int], object]) -> Iterator[list[Translation]]:
        outputs = [[_blank(align)] for _ in chunk.rows]
        progress(chunk.rows.count([]))
        for finished in chunk.finished:
            places = [chunk.places[place] for place in finished.places]
            translated = [[self._translation(one) for one in own] for own in finished.outputs]
            if align and places:
                translated = self._with_alignments([chunk.rows[place] for place in places], translated)
            for place, own in zip(places, translated, strict=True):
                outputs[place] = [replace(one, is_cut=True) for one in own] if chunk.is_cut[place] else own
            progress(len(places))
        yield from outputs

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        text = self.tokenizers.target.decode(hypothesis.tokens)
        score, log_probability, tokens = hypothesis.score, hypothesis.log_probability, hypothesis.tokens
        return Translation(text, score, log_probability, tokens, is_ended=hypothesis.is_ended)

    def _with_alignments(self, rows: list[list[int]], outputs: list[list[Translation]]) -> list[list[Translation]]:
        pairs = [(row, output.tokens) for row, own in zip(rows, outputs, strict=True) for output in own]
        alignments = iter(self.aligned(pairs))
        return [[replace(output, alignment=next(alignments)) for output in own] for own in outputs]


def _refuse_others(model: ModelConfig) -> None:
    """Refuse a model that does not translate, and say what it is for."""
    match model:
        case RecurrentCaptionerConfig() | AttendingCaptionerConfig() | TransformerCaptionerConfig():
            does, command, function = "describes pictures, and translates no text", "caption", "load_captioner"
        case DecoderOnlyConfig():
            does, command, function = "goes on with a text, and translates none", "complete", "load_writer"
        case EncoderOnlyConfig():
            does, command, function = "fills the blanks of a text, and translates none", "fill", "load_reader"
        case _:
            return
    raise RegardError(f"this model {does}. See `regard {command}`, or in Python regard.{function}.")


def readable(positions: int | None) -> int:
    """How many tokens of a line a model reads that has so many positions, one of them for END or BEGIN."""
    return LONGEST if positions is None else min(LONGEST, max(1, positions - 1))


def refuse_several(output: str, given: str, options: dict[str, object]) -> None:
    """Refuse an `nbest` where one output of each is returned, and the others would be lost."""
    wanted = options.get("nbest", 1)
    if wanted != 1:
        raise RegardError(
            f"nbest is {wanted!r}, and here the best {output} of each {given} is returned. "
            f"For several, call .nbest([...], nbest={wanted!r})."
        )


def decoding_with(config: DecodingConfig, options: dict[str, object]) -> DecodingConfig:
    """A decoding section with some options changed, checked as a recipe's would be."""
    table = {"model": {"kind": "rnn"}, "decoding": msgspec.to_builtins(config) | options}
    return from_table(table, origin="the decoding options").decoding


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; anything else is refused in words."""
    if isinstance(texts, str):
        raise RegardError("a list of texts is asked for, and one text was given: write [text]")
    checked = list(texts)
    for number, text in enumerate(checked, start=1):
        if not isinstance(text, str):
            raise RegardError(
                f"text {number} of {len(checked)} is {shown(text)}, of type {type(text).__name__}. "
                "Give text (str); an empty one stays empty."
            )
    return checked


def _blank(align: bool) -> Translation:
    """The translation of a line without words: a model asked for one would make something up."""
    if not align:
        return Translation("", 0.0, 0.0, [])
    from regard.translation.alignment import Alignment  # brings torch with it, as aligning does

    return Translation("", 0.0, 0.0, [], alignment=Alignment([], [], np.zeros((0, 0)), frozenset()))

"""Text in, text out: lines are cut into tokens, batched by length, decoded, and put back in their order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from regard.batch import source_of
from regard.bundle import Bundle, load_bundle
from regard.config import DecodingConfig, from_table
from regard.decoding.loop import generate
from regard.decoding.loop import stream as stream_tokens
from regard.decoding.search import Hypothesis
from regard.errors import RegardError
from regard.translation.alignment import Alignment, align_tokens
from regard.translation.attention_maps import LONGEST
from regard.translation.trace import Trace, trace_pair

BATCH_TOKENS = 2048  # source tokens decoded at once, divided by the beam's width
CHUNK_LINES = 2048  # lines that are sorted by length together: enough to pad little, few enough to answer soon


@dataclass(frozen=True)
class Translation:
    """One output for one line."""

    text: str
    score: float
    log_probability: float
    tokens: list[int]
    is_cut: bool = False  # the source was longer than a model can read, and only its beginning was translated
    alignment: Alignment | None = None
    trace: Trace | None = None  # None also where the line had no words, and no model was asked


class Translator:
    """A loaded model with its vocabularies."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device

    def translate(
        self, texts: Sequence[str], *, align: bool = False, trace: bool = False, **options: object
    ) -> list[Translation]:
        """The best translation of each text; options are those of the decoding section, such as beam=1.

        Each can carry the alignment of its words, and the trace of all that the model computed in saying it.
        """
        if isinstance(texts, str):
            raise RegardError("translate takes a list of texts, not one text: write translate([text])")
        best = [outputs[0] for outputs in self.nbest(texts, align=align, **options)]
        return [self._traced(text, output) for text, output in zip(texts, best, strict=True)] if trace else best

    def nbest(self, texts: Sequence[str], *, align: bool = False, **options: object) -> list[list[Translation]]:
        """The `nbest` best translations of each text, the best first."""
        return list(self.lines(texts, self.settings(**options), align=align))

    def settings(self, **options: object) -> DecodingConfig:
        """The model's own decoding section with some options changed."""
        return decoding_with(self.bundle.config.decoding, options)

    def lines(
        self,
        texts: Iterable[str],
        config: DecodingConfig,
        *,
        align: bool = False,
        progress: Callable[[int], object] = int,
    ) -> Iterator[list[Translation]]:
        """Outputs in the order of the texts, a chunk of lines at a time, so that a file of any size can pass."""
        remaining = iter(texts)
        while chunk := list(islice(remaining, CHUNK_LINES)):
            encoded = [self.bundle.tokenizers.source.encode(text) for text in chunk]
            rows = [row[:LONGEST] for row in encoded]
            outputs = [[_blank(align)] for _ in rows]
            progress(rows.count([]))
            for indices in _batches(rows, BATCH_TOKENS // config.beam or 1):
                for index, own in zip(indices, self._batch([rows[i] for i in indices], config, align), strict=True):
                    outputs[index] = [replace(one, is_cut=len(encoded[index]) > LONGEST) for one in own]
                progress(len(indices))
            yield from outputs

    def stream(self, text: str, **options: object) -> Iterator[str]:
        """The translation of one text as it grows."""
        source = source_of([self.bundle.tokenizers.source.encode(text)[:LONGEST]], device=self.device)
        for (tokens,) in stream_tokens(self.bundle.model, source, self.settings(**options)):  # type: ignore[arg-type]
            yield self.bundle.tokenizers.target.decode(tokens)

    def _batch(self, rows: list[list[int]], config: DecodingConfig, align: bool) -> list[list[Translation]]:
        source = source_of(rows, device=self.device)
        outputs = generate(self.bundle.model, source, config)  # type: ignore[arg-type]
        translations = [[self._translation(hypothesis) for hypothesis in own] for own in outputs]
        return self._aligned(rows, translations) if align else translations

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        text = self.bundle.tokenizers.target.decode(hypothesis.tokens)
        return Translation(text, hypothesis.score, hypothesis.log_probability, hypothesis.tokens)

    def _aligned(self, rows: list[list[int]], outputs: list[list[Translation]]) -> list[list[Translation]]:
        pairs = [(row, output.tokens) for row, own in zip(rows, outputs, strict=True) for output in own]
        alignments = iter(align_tokens(self.bundle, pairs))
        return [[replace(output, alignment=next(alignments)) for output in own] for own in outputs]

    def _traced(self, text: str, output: Translation) -> Translation:
        source = self.bundle.tokenizers.source.encode(text)[:LONGEST]
        return replace(output, trace=trace_pair(self.bundle, source, output.tokens)) if source else output


def load(directory: Path | str, *, device: str = "cpu") -> Translator:
    """The model in a bundle's directory, ready to translate."""
    return Translator(load_bundle(directory, device=device))


def decoding_with(config: DecodingConfig, options: dict[str, object]) -> DecodingConfig:
    """A decoding section with some options changed, checked as a recipe's would be."""
    table = {"model": {"kind": "rnn"}, "decoding": msgspec.to_builtins(config) | options}
    return from_table(table, origin="the decoding options").decoding


def _blank(align: bool) -> Translation:
    """The translation of a line without words: a model asked for one would make something up."""
    return Translation("", 0.0, 0.0, [], alignment=Alignment([], [], np.zeros((0, 0)), frozenset()) if align else None)


def _batches(rows: list[list[int]], budget: int) -> Iterator[list[int]]:
    """Indices of rows of like length, the longest first, as many together as the budget of padded tokens allows.

    Empty rows are in none of them.
    """
    batch: list[int] = []
    for index in sorted((i for i, row in enumerate(rows) if row), key=lambda i: -len(rows[i])):
        longest = len(rows[batch[0]]) + 1 if batch else 0
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch

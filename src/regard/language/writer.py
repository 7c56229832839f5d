"""A text in, a longer text out: what a decoder-only model makes of a beginning, by the one decode loop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.batch import source_of
from regard.bundle import Bundle, load_bundle
from regard.config import DecoderOnlyConfig, DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import generate
from regard.decoding.loop import stream as stream_tokens
from regard.errors import RegardError
from regard.language.worth import known_by_writer
from regard.manifest import model_directory
from regard.metrics.language import Known
from regard.translation.lines import checked_texts, decoding_with, readable, refuse_several
from regard.translation.trace import LONGEST_TRACE, Side, Trace, trace_source

BATCH_TEXTS = 32  # gone on with at once, divided by the hypotheses of each


@dataclass(frozen=True)
class Continuation:
    """One way in which a text goes on; its figures are those of the whole."""

    text: str  # from its beginning
    score: float
    log_probability: float
    tokens: list[int]
    is_ended: bool = True  # False: it ran into its length bound, and stops there


class Writer:
    """A loaded decoder-only model with its vocabulary."""

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.config.model, DecoderOnlyConfig):
            kind = type(bundle.config.model).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which goes on with no text. Give a decoder-only model.")
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device

    @property
    def longest(self) -> int:
        """How many tokens of a text are read; a longer one is cut there."""
        return readable(self.bundle.model.longest)  # type: ignore[arg-type]

    def complete(self, texts: Sequence[str], **options: object) -> list[Continuation]:
        """How each text goes on best; an empty one is begun. Options are those of decoding, such as sample=True."""
        refuse_several("continuation", "text", options)
        return [outputs[0] for outputs in self.nbest(texts, **options)]

    def nbest(self, texts: Sequence[str], **options: object) -> list[list[Continuation]]:
        """The `nbest` best ways in which each text goes on, the best first."""
        return list(self.each(texts, self.settings(**options)))

    def each(self, texts: Sequence[str], config: DecodingConfig) -> Iterator[list[Continuation]]:
        """The continuations of each text in turn, as batches of them are done."""
        rows = [self._row(text) for text in checked_texts(texts)]
        at_once = max(1, BATCH_TEXTS // config.width)
        for start in range(0, len(rows), at_once):
            prefixes = rows[start : start + at_once]
            source = source_of([[] for _ in prefixes], device=self.device)
            for own in generate(self.bundle.model, source, config, prefixes=prefixes):  # type: ignore[arg-type]
                yield [self._written(one) for one in own]

    def stream(self, text: str, **options: object) -> Iterator[str]:
        """One text as it grows."""
        source = source_of([[]], device=self.device)
        config, prefixes = self.settings(**options), [self._row(text)]
        for (tokens,) in stream_tokens(self.bundle.model, source, config, prefixes=prefixes):  # type: ignore[arg-type]
            yield self.bundle.tokenizers.target.decode(tokens)

    def known(self, texts: Sequence[str]) -> Iterator[Known]:
        """How well the model knows each text: each token named from those before it."""
        rows = [self._row(text) for text in checked_texts(texts)]
        return known_by_writer(self.bundle.model, rows, device=self.device)

    def trace(self, text: str) -> Trace:
        """All that the model computes as it says this text, word by word."""
        row = self.bundle.tokenizers.target.encode(text)
        if not 0 < len(row) <= min(self.longest, LONGEST_TRACE):
            raise RegardError(
                f"the text has {len(row)} tokens; a trace of this model holds 1 to {min(self.longest, LONGEST_TRACE)}."
            )
        return trace_source(self.bundle, source_of([[]], device=self.device), Side.of([]), row)

    def settings(self, **options: object) -> DecodingConfig:
        """The model's own decoding section with some options changed; `length_extra` alone bounds what is added."""
        return decoding_with(self.bundle.config.decoding, {"length_ratio": 0.0} | options)

    def _row(self, text: str) -> list[int]:
        return self.bundle.tokenizers.target.encode(text)[: self.longest]

    def _written(self, found: Hypothesis) -> Continuation:
        text = self.bundle.tokenizers.target.decode(found.tokens)
        return Continuation(text, found.score, found.log_probability, found.tokens, found.is_ended)


def load_writer(directory: Path | str, *, device: str = "cpu") -> Writer:
    """The decoder-only model in a bundle's or a run's directory, ready to go on with texts."""
    return Writer(load_bundle(model_directory(Path(directory)), device=device))

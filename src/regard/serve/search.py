"""Translating by one model in one way: what the batcher does to texts that wait for the same."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from regard.config import DecodingConfig
from regard.serve.batcher import LeftOffError
from regard.translation.alignment import Reading, align_tokens
from regard.translation.lines import LineTranslator, Translation
from regard.translation.translator import Translator

BUDGET = 2048  # tokens decoded together, those of the beam counted: more would keep others waiting
BYTES_PER_TOKEN = 4  # about, in UTF-8: an English word of four letters, or one and a third Korean syllables


@dataclass(frozen=True)
class Wish:
    """How a translation is wanted; None: the model's own beam, as far as it is allowed."""

    beam: int | None = None
    nbest: int = 1
    alignments: bool = False


@dataclass(frozen=True)
class Search:
    """Translating by one model with one set of options: what the batcher does to texts."""

    translator: LineTranslator
    config: DecodingConfig
    reading: Reading | None = None  # how alignments are read off the attention; None: none are wanted, or can be had
    pair: str = ""  # for the metrics

    @property
    def budget(self) -> int:
        return BUDGET

    def cost(self, item: str) -> int:
        """About how many tokens are decoded, those of the beam together."""
        return (len(item.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 2) * self.config.beam

    def together(self, item: str) -> int:
        """How many items as long as this one are decoded together."""
        return max(1, self.budget // self.cost(item))

    def run(self, items: list[str], is_wanted: Callable[[], bool] = lambda: True) -> list[list[Translation]]:
        """The outputs of each text; decoding ends at its next step when they are not wanted any more."""

        def go_on(finished: int) -> None:  # noqa: ARG001
            if not is_wanted():
                raise LeftOffError

        return self.aligned(items, list(self.translator.lines(items, self.config, progress=go_on)))

    def aligned(self, texts: list[str], outputs: list[list[Translation]]) -> list[list[Translation]]:
        """The outputs with the links of their words, where they are wanted."""
        if self.reading is None or not isinstance(self.translator, Translator):
            return outputs
        rows = [self.translator.tokenizers.source.encode(text)[: self.translator.longest] for text in texts]
        pairs = [(row, output.tokens) for row, own in zip(rows, outputs, strict=True) for output in own]
        alignments = iter(align_tokens(self.translator.bundle, pairs, self.reading))
        return [[replace(output, alignment=next(alignments)) for output in own] for own in outputs]

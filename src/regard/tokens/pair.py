"""The vocabularies of a model's two sides, which may be one."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Self

from regard.config import TokensConfig
from regard.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class Tokenizers:
    """The vocabulary of the source and that of the target."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def from_bytes(cls, source: bytes, target: bytes) -> Self:
        """The vocabularies as they were written; where both sides have the same, it is one object."""
        first = Tokenizer.from_bytes(source)
        return cls(first, first if source == target else Tokenizer.from_bytes(target))

    @property
    def shared(self) -> bool:
        """Whether both sides have one and the same vocabulary, so that they may share an embedding table."""
        return self.source == self.target


def train_tokenizers(config: TokensConfig, source_lines: Iterable[str], target_lines: Iterable[str]) -> Tokenizers:
    """One vocabulary learnt from both sides if the config shares it, else one from each."""
    if config.shared:
        both = Tokenizer.train(chain(source_lines, target_lines), kind=config.kind, size=config.size)
        return Tokenizers(source=both, target=both)
    return Tokenizers(
        source=Tokenizer.train(source_lines, kind=config.kind, size=config.size),
        target=Tokenizer.train(target_lines, kind=config.kind, size=config.size),
    )

"""What every reader of training data yields: pairs one by one, or many of them in a block."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

PAIRS_OF_A_BLOCK = 4_000  # several blocks are under way at once, in several copies: larger ones would show in memory
BYTES_OF_A_SIDE = 2**21  # lines may be long; the last one of a block may go beyond


class Pair(NamedTuple):
    """A sentence and its translation, each one line of text, and the line of the file where the pair begins."""

    source: str
    target: str
    line: int

    def has_words(self, *, one_sided: bool = False) -> bool:
        """Whether neither side is blank; of text in one language, which is the target, that side alone is asked."""
        return bool(self.target.strip()) and (one_sided or bool(self.source.strip()))


class PairBlock(NamedTuple):
    """Some pairs, at least one: each side as lines of UTF-8 with newlines between, so that it can travel as it is."""

    sources: bytes
    targets: bytes

    def texts(self) -> tuple[list[str], list[str]]:
        """The lines of either side."""
        return self.sources.decode("utf-8").split("\n"), self.targets.decode("utf-8").split("\n")


def in_blocks(pairs: Iterable[Pair]) -> Iterator[PairBlock]:
    """The pairs in blocks of no more than a block may have."""
    sources: list[bytes] = []
    targets: list[bytes] = []
    size = 0
    for source, target, _ in pairs:
        sources.append(source.encode("utf-8"))
        targets.append(target.encode("utf-8"))
        size += max(len(sources[-1]), len(targets[-1]))
        if len(sources) == PAIRS_OF_A_BLOCK or size >= BYTES_OF_A_SIDE:
            yield PairBlock(b"\n".join(sources), b"\n".join(targets))
            sources, targets, size = [], [], 0
    if sources:
        yield PairBlock(b"\n".join(sources), b"\n".join(targets))


def one_line(text: str) -> str:
    """The text with its newlines, and the space around them, turned into single spaces."""
    if "\n" not in text:
        return text
    return " ".join(part for piece in text.split("\n") if (part := piece.strip()))

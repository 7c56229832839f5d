"""Pairs from a source and a target file: line n of one with line n of the other.

The lines stay bytes here, cut off by the thousand and not one by one: reading must not slow down the processes that
wait for them.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from regard.data.readers.lines import NEWLINE, count_newlines, empty, line_blocks
from regard.data.readers.pair import BYTES_OF_A_SIDE, PAIRS_OF_A_BLOCK, Pair, PairBlock
from regard.errors import RegardError


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Line n of the source with line n of the target; unequal counts are an error."""
    number = 0
    for block in parallel_blocks(source, target):
        for left, right in zip(*block.texts(), strict=True):
            number += 1
            yield Pair(left, right, number)


def parallel_blocks(source: Path, target: Path) -> Iterator[PairBlock]:
    """The same pairs in blocks."""
    left, right = _Side(source), _Side(target)
    done = 0
    while count := min(left.fill(), right.fill()):
        yield PairBlock(left.take(count), right.take(count))
        done += count
    left.raise_if_broken()
    right.raise_if_broken()
    if left.waiting:
        raise _unequal((source, done + left.count()), (target, done))
    if right.waiting:
        raise _unequal((target, done + right.count()), (source, done))
    if not done:
        raise empty(source)


class _Side:
    """One of the files: its lines that wait for their partners, and those to come."""

    def __init__(self, path: Path) -> None:
        self._blocks = line_blocks(path)
        self._failure: RegardError | None = None
        self._text = b""
        self._ends = np.zeros(0, np.int64)  # where each line of the text ends

    @property
    def waiting(self) -> int:
        return len(self._ends)

    def fill(self) -> int:
        """Read until there are lines enough for a block, as far as there are; returns how many it can have."""
        texts = [self._text] if self.waiting else []
        count, size = self.waiting, len(self._text)
        while count < PAIRS_OF_A_BLOCK and size < BYTES_OF_A_SIDE and (text := self._next()) is not None:
            texts.append(text)
            count, size = count + count_newlines(text) + 1, size + len(text)
        if count > self.waiting:
            self._text = b"\n".join(texts)
            newlines = np.flatnonzero(np.frombuffer(self._text, np.uint8) == NEWLINE)
            self._ends = np.append(newlines, len(self._text))
        return min(count, PAIRS_OF_A_BLOCK)

    def take(self, count: int) -> bytes:
        """The next lines, with newlines between them."""
        end = int(self._ends[count - 1])
        lines, self._text = self._text[:end], self._text[end + 1 :]
        self._ends = self._ends[count:] - (end + 1)
        return lines

    def count(self) -> int:
        """How many lines are left in the file."""
        count = self.waiting
        while (text := self._next()) is not None:
            count += count_newlines(text) + 1
        self._ends = self._ends[:0]
        self.raise_if_broken()
        return count

    def raise_if_broken(self) -> None:
        """Tell of a bad line once those before it are gone."""
        if self._failure and not self.waiting:
            raise self._failure

    def _next(self) -> bytes | None:
        try:
            return next(self._blocks, None)
        except RegardError as failure:
            self._failure = failure
            return None


def _unequal(longer: tuple[Path, int], shorter: tuple[Path, int]) -> RegardError:
    return RegardError(
        f"{longer[0]} has {longer[1]:,} lines and {shorter[0]} has {shorter[1]:,}; "
        f"{longer[0]}:{shorter[1] + 1} has no partner. Line n of one must translate line n of the other."
    )

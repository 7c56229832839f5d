"""The corpora that regard generates, with known ground truth: seeded random numbers, and the README of a corpus.

The README.txt of a corpus exists only when everything else has been written. Until then it has another name, which
tells an interrupted corpus from other files.
"""

import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from regard.files import atomic_file

FINISHED_README, UNFINISHED_README = "README.txt", "README.unfinished.txt"


@contextmanager
def written_corpus(directory: Path, text: str) -> Iterator[None]:
    """Create a directory for a generated corpus; it gets its README.txt when the block ends without an error."""
    directory.mkdir(parents=True, exist_ok=True)
    with atomic_file(directory / UNFINISHED_README) as file:
        file.write(text.encode())
    (directory / FINISHED_README).unlink(missing_ok=True)  # of an earlier corpus, which is overwritten from here on
    yield
    (directory / UNFINISHED_README).rename(directory / FINISHED_README)


def is_complete_corpus(directory: Path) -> bool:
    """Whether the directory contains a complete generated corpus."""
    return (directory / FINISHED_README).exists()


def is_generated_corpus(directory: Path, readme: str) -> bool:
    """Whether the directory contains a generated corpus with such a README, complete or not."""
    opening = readme.partition("{")[0].encode()
    there = [path for name in (FINISHED_README, UNFINISHED_README) if (path := directory / name).exists()]
    return bool(there) and all(path.is_file() and path.read_bytes().startswith(opening) for path in there)


Item = TypeVar("Item")


class SeededRandom:
    """Random draws from one seed, the same on every machine.

    Python guarantees only `random()` of a seeded `random.Random` across versions, so everything is drawn from it.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311  (not for cryptography)

    def happens(self, probability: float) -> bool:
        """Whether an event of this probability happens."""
        return self._random() < probability

    def uniform(self, low: float, high: float) -> float:
        """A number from `low` to `high`, with equal probability."""
        return low + (high - low) * self._random()

    def choice(self, items: Sequence[Item]) -> Item:
        """One of the items, with equal probability."""
        return items[int(self._random() * len(items))]

    def weighted_choice(self, items: Sequence[Item], cumulative: Sequence[float]) -> Item:
        """One of the items, by the cumulative sums of their weights."""
        return items[bisect(cumulative, self._random() * cumulative[-1])]

"""Chance that falls the same on every machine.

Of a seeded `random.Random` only `random()` is promised to stay the same from one Python to the next, so everything is
drawn from it.
"""

import random
from bisect import bisect
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Chance:
    """Draws from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311  (worlds, not secrets)

    def happens(self, probability: float) -> bool:
        """Whether an event of this probability happens."""
        return self._random() < probability

    def between(self, low: float, high: float) -> float:
        """A number from `low` to `high`, each as likely as any other."""
        return low + (high - low) * self._random()

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each as likely as any other."""
        return items[int(self._random() * len(items))]

    def pick_weighted(self, items: Sequence[Item], cumulative: Sequence[float]) -> Item:
        """One of the items, by the running sums of their weights."""
        return items[bisect(cumulative, self._random() * cumulative[-1])]

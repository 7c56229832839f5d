"""Who decodes: what an engine must offer, and how rows are batched for one; nothing here imports torch."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis

Rows = Sequence[list[int]]  # token ids, without END


class Finished(NamedTuple):
    """Some of the rows, by their places among all, and the hypotheses of each, the best first."""

    places: list[int]
    outputs: list[list[Hypothesis]]


class Engine(Protocol):
    """A model that decodes, however it does it: the same rows and options give the same text."""

    name: str
    longest: int | None  # positions that the model has, for a row and its END; None: as many as one likes
    is_ahead: bool  # whether it works by itself once it has been asked, so that asking early pays

    def decode(self, rows: Rows, config: DecodingConfig, *, scores: bool = True) -> Iterator[Finished]:
        """The `nbest` best hypotheses of each row, a batch at a time in any order; no row is empty.

        Where nobody wants scores, they may be NaN: a greedy search need not know how likely its words are.
        In between, an engine may tell of no rows at all: whoever asked can then leave off.
        """


def batches_by_length(rows: Rows, budget: int) -> Iterator[list[int]]:
    """Places of rows of like length, the longest first, as many together as the budget of padded tokens allows."""
    batch: list[int] = []
    for place in sorted(range(len(rows)), key=lambda place: -len(rows[place])):
        longest = len(rows[batch[0]]) + 1 if batch else 0
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

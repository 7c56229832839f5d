"""The order of training: which pairs make up which batch, as a pure function of (seed, epoch, cursor).

A run that stops has to save an `EpochPosition` and nothing else, and any number of ranks can share one order: each
takes its slice of every global batch. Pairs are shuffled, sorted by length inside pools of about a hundred batches
(with `bucket_by_length`) and split into batches, and the batches are shuffled: there is little padding, long and short
batches alternate, and each epoch has different batches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError

POOL_BATCHES = 128  # more pad less and mix less; 32 leave 7 % of Multi30k's token indices as padding, 128 leave 3 %
Lengths = NDArray[np.integer]
Indices = NDArray[np.int64]


@dataclass(frozen=True, order=True)
class EpochPosition:
    """A position in the endless order: the epoch, and how many of its batches have been used."""

    epoch: int = 0
    cursor: int = 0


START = EpochPosition()


class CorpusWeight(NamedTuple):
    """Consecutive examples of one corpus, and how often each is used in an epoch."""

    examples: int
    weight: float


class GlobalBatch(NamedTuple):
    """The pairs of one batch, their epoch, and the position of the next batch."""

    indices: Indices
    epoch: int
    resume: EpochPosition


@dataclass(frozen=True, eq=False)
class EpochPlan:
    """Every pair as often as its weight, by default once: batch b holds `order[bounds[b] : bounds[b + 1]]`."""

    order: Indices
    bounds: Indices
    real_tokens: int
    padded_tokens: int

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, batch: int) -> Indices:
        if not 0 <= batch < len(self):
            raise IndexError(f"batch {batch} of {len(self)}")
        return self.order[self.bounds[batch] : self.bounds[batch + 1]]

    @property
    def non_padding_fraction(self) -> float:
        """The fraction of all token positions, on both sides, that are not padding."""
        return self.real_tokens / self.padded_tokens if self.padded_tokens else 1.0


def plan_epoch(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
    bucket_by_length: bool = True,
    corpora: Sequence[CorpusWeight] = (),
) -> EpochPlan:
    """Batches whose rows times longest side (BEGIN or END counted) stay within `batch_tokens`.

    A pair that is longer than that is a batch by itself. Without `bucket_by_length` batches are random: every pair
    counts with the mean length, and a batch with long pairs may exceed the budget. `corpora` are consecutive pairs with
    a weight each; without them every pair is used once.
    """
    sources, targets = (np.asarray(lengths, np.int32) + 1 for lengths in (source_lengths, target_lengths))
    widths = np.maximum(sources, targets)
    if not bucket_by_length and len(widths):
        widths = np.full_like(widths, round(widths.mean()))
    stream = np.random.PCG64([seed, epoch])
    order = _draw_examples(len(widths), corpora, stream)
    sizes: list[int] = []
    pool_rows = max(1, POOL_BATCHES * batch_tokens * len(order) // max(1, int(widths[order].sum())))
    if not bucket_by_length:
        pool_rows = max(1, len(order))  # nothing is sorted, so pools would only leave incomplete batches
    for start in range(0, len(order), pool_rows):
        pool = order[start : start + pool_rows]
        if bucket_by_length:
            pool[:] = pool[_length_order(sources[pool], targets[pool])]
        sizes += _batch_sizes(widths[pool].tolist(), batch_tokens)
    order, bounds = _shuffle_batches(order, np.array(sizes, np.int64), stream)
    drawn = sources[order], targets[order]
    real, padded = sum(int(own.sum()) for own in drawn), sum(_padded_tokens(own, bounds) for own in drawn)
    return EpochPlan(order, bounds, real, padded)


def batches(plan: EpochPlan, *, start: int = 0) -> Iterator[Indices]:
    """The batches of an epoch, from `start` on."""
    for batch in range(start, len(plan)):
        yield plan[batch]


def global_batches(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    batch_tokens: int,
    seed: int,
    start: EpochPosition = START,
    bucket_by_length: bool = True,
    corpora: Sequence[CorpusWeight] = (),
) -> Iterator[GlobalBatch]:
    """Batches without end, epoch after epoch, from a position on."""
    if not len(source_lengths):
        raise RegardError("There are no pairs to make batches from. Give data with at least one pair.")
    epoch, cursor = start.epoch, start.cursor
    plan_next = partial(
        plan_epoch, batch_tokens=batch_tokens, seed=seed, bucket_by_length=bucket_by_length, corpora=corpora
    )
    while True:
        plan = plan_next(source_lengths, target_lengths, epoch=epoch)
        if cursor > len(plan):
            raise RegardError(
                f"epoch {epoch} has {len(plan):,} batches, but the run stopped after batch {cursor:,}. "
                "Resume it with the data, seed and training.batch_tokens that it started with."
            )
        for taken, indices in enumerate(batches(plan, start=cursor), start=cursor + 1):
            yield GlobalBatch(indices, epoch, EpochPosition(epoch, taken))
        epoch, cursor = epoch + 1, 0


def slice_for_rank(indices: Indices, rank: int, world: int) -> Indices:
    """Every `world`-th pair of a global batch, from the `rank`-th on; empty where the batch has fewer pairs than ranks.

    Where a batch is sorted by length, strided slices give all ranks about the same work.
    """
    if not 0 <= rank < world:
        raise ValueError(f"rank is {rank}; it must be at least 0 and below the world size {world}")
    return indices[rank::world]


def _shuffled_indices(count: int, stream: np.random.PCG64) -> Indices:
    # numpy guarantees the raw stream for all versions, but not its shuffles.
    return np.argsort(stream.random_raw(count), kind="stable")


def _draw_examples(count: int, corpora: Sequence[CorpusWeight], stream: np.random.PCG64) -> Indices:
    """The pairs of an epoch in random order: each as often as the whole part of its weight, and once more by chance.

    The fraction of a weight is the share of the corpus that is drawn once more; at least one pair of a corpus is used.
    """
    if all(one.weight == 1 for one in corpora):
        return _shuffled_indices(count, stream)
    drawn, start = [], 0
    for examples, weight in corpora:
        own = np.arange(start, start + examples)
        times, extra = int(weight), round(weight % 1 * examples)
        shuffled = own[_shuffled_indices(examples, stream)]
        drawn += [np.repeat(own, times), shuffled[: extra if times else max(1, extra)]]
        start += examples
    order = np.concatenate(drawn)
    return order[_shuffled_indices(len(order), stream)]


def _length_order(sources: Lengths, targets: Lengths) -> Indices:
    """Sort by the longer side, then by the difference of the sides, alternately ascending and descending.

    A batch may span two lengths; alternation avoids a jump of the other side between them.
    """
    longer, difference = np.maximum(sources, targets), sources - targets
    alternated = np.where(longer % 2 == 0, difference, -difference)
    return np.lexsort((alternated, longer))


def _batch_sizes(widths: list[int], batch_tokens: int) -> list[int]:
    """Split ascending widths into the fewest batches within the budget."""
    sizes, rows = [], 0
    for width in widths:
        if rows and (rows + 1) * width > batch_tokens:
            sizes.append(rows)
            rows = 0
        rows += 1
    return [*sizes, rows] if rows else sizes


def _shuffle_batches(order: Indices, sizes: Indices, stream: np.random.PCG64) -> tuple[Indices, Indices]:
    starts = np.cumsum(sizes) - sizes
    shuffled = _shuffled_indices(len(sizes), stream)
    sizes, starts = sizes[shuffled], starts[shuffled]
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.repeat(starts - bounds[:-1], sizes)
    indices += np.arange(len(order))
    return order[indices], bounds


def _padded_tokens(widths: Lengths, bounds: Indices) -> int:
    """Rows times the longest row, over all batches of one side."""
    if len(bounds) == 1:
        return 0
    return int((np.maximum.reduceat(widths, bounds[:-1]) * np.diff(bounds)).sum())

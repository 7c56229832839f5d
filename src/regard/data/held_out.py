"""Pairs held out of the training files for validation.

They are chosen by a hash of their text: the same pairs are held out whatever the order of the corpus, and copies of a
pair are never on both sides.
"""

from collections.abc import Iterable

from regard.data.filters import comparison_form, hash_pair
from regard.data.pair_readers.text import Pair

HELD_OUT_FRACTION = 0.02  # of the distinct pairs
MAX_HELD_OUT = 1000  # pairs: as many as one validation translates
_HASH_RANGE = 2**64


def hold_out(pairs: Iterable[Pair], *, monolingual: bool = False, fraction: float = HELD_OUT_FRACTION) -> list[Pair]:
    """The pairs with the lowest hashes, each once: a fraction of those that have text, at least one."""
    lowest: dict[int, Pair] = {}
    bound = _HASH_RANGE
    for pair in pairs:
        if (value := held_out_hash(pair)) < bound and pair.has_text(monolingual=monolingual):
            lowest.setdefault(value, pair)
            if len(lowest) == 2 * MAX_HELD_OUT:
                lowest = dict(sorted(lowest.items())[:MAX_HELD_OUT])
                bound = max(lowest)
    chosen = sorted(lowest.items())[:MAX_HELD_OUT]
    return [pair for rank, (value, pair) in enumerate(chosen) if rank == 0 or value < fraction * _HASH_RANGE]


def held_out_hash(pair: Pair) -> int:
    """The hash that decides whether a pair is held out."""
    return hash_pair(comparison_form(pair.source.encode("utf-8")), comparison_form(pair.target.encode("utf-8")))

"""Pairs held out of a corpus to validate on, where nobody has set any aside.

A hash of the pair itself decides: the same pairs are held out whatever the order of the corpus and whoever looks, and
one that comes several times is never on both sides, however its characters are spelt and with whatever space around it.
"""

from collections.abc import Iterable

from regard.data.readers import Pair
from regard.data.seen import hash_of, plain

SHARE = 0.02  # of the pairs that differ
MOST = 1000  # of them: as many as a validation translates
_HASHES = 2**64


def hold_out(pairs: Iterable[Pair], *, one_sided: bool = False) -> list[Pair]:
    """The pairs of the lowest hashes, each once: a share of those that have words, at least one."""
    lowest: dict[int, Pair] = {}
    bound = _HASHES
    for pair in pairs:
        if (value := hash_of_pair(pair)) < bound and pair.has_words(one_sided=one_sided):
            lowest.setdefault(value, pair)
            if len(lowest) == 2 * MOST:
                lowest = dict(sorted(lowest.items())[:MOST])
                bound = max(lowest)
    chosen = sorted(lowest.items())[:MOST]
    return [pair for place, (value, pair) in enumerate(chosen) if place == 0 or value < SHARE * _HASHES]


def hash_of_pair(pair: Pair) -> int:
    """The hash by which a pair is held out."""
    return hash_of(plain(pair.source.encode("utf-8")), plain(pair.target.encode("utf-8")))

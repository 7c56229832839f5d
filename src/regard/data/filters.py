"""Which pairs are used for training: filters by length and duplicates. What is dropped is counted with its reason."""

from dataclasses import dataclass
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import DataConfig
from regard.tokenization.text import nfc

DROP_REASONS = {
    "blank": "with a blank side",
    "too_long": "longer than data.max_tokens",
    "ratio": "with lengths further apart than data.max_length_ratio",
    "duplicate": "seen before",
    "held_out": "held out for validation",
}

Lengths = NDArray[np.int32]  # tokens of each sentence
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class FilterReport:
    """How many pairs were kept, and how many were dropped for each reason."""

    kept: int
    dropped: dict[str, int]

    @property
    def read(self) -> int:
        """How many pairs were read."""
        return self.kept + sum(self.dropped.values())

    def __add__(self, other: "FilterReport") -> "FilterReport":
        dropped = {reason: self.dropped.get(reason, 0) + other.dropped.get(reason, 0) for reason in DROP_REASONS}
        return FilterReport(self.kept + other.kept, dropped)

    def describe(self, examples: str = "pairs") -> str:
        """One sentence for people."""
        parts = [f"{count:,} {DROP_REASONS.get(reason, reason)}" for reason, count in self.dropped.items() if count]
        return f"kept {self.kept:,} of {self.read:,} {examples}; dropped " + (", ".join(parts) or "none")


def filter_by_length(source: Lengths, target: Lengths, config: DataConfig) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Which pairs of these lengths pass, and how many fail for each reason; the first reason counts."""
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    failures = {
        "blank": shorter == 0,
        "too_long": longer > config.max_tokens,
        "ratio": longer > config.max_length_ratio * shorter,
    }
    is_kept, dropped = np.ones(len(source), bool), dict.fromkeys(DROP_REASONS, 0)
    for reason, fails in failures.items():
        dropped[reason] = int((is_kept & fails).sum())
        is_kept &= ~fails
    return is_kept, dropped


def pair_settings(config: DataConfig) -> bytes:
    """The options that decide which pairs are kept, as bytes for a fingerprint."""
    settings = (config.languages, config.max_tokens, config.max_length_ratio, config.deduplicate)
    return msgspec.json.encode(settings)


def hash_pair(source: bytes, target: bytes) -> int:
    """A 64-bit hash of a pair of lines; a collision among 10 million pairs has a probability of 3 in a million."""
    return int.from_bytes(blake2b(source + b"\n" + target, digest_size=8).digest(), "little")


def comparison_form(line: bytes) -> bytes:
    """The line as it is compared with others: composed (NFC), without surrounding white space."""
    return line.strip() if line.isascii() else nfc(line.decode("utf-8")).strip().encode("utf-8")


class HashSet:
    """A set of 64-bit hashes in sorted arrays: 8 bytes per hash, 24 while two arrays are merged.

    Python's set takes about 100 bytes. An array is merged with the one before it unless that is over twice as long, so
    there are few arrays to search and each hash is merged few times.
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add the hashes; returns which of them are new, counting the first of equal ones."""
        is_new = np.zeros(len(hashes), np.bool_)
        is_new[np.unique(hashes, return_index=True)[1]] = True
        for run in self._runs:
            indices = np.searchsorted(run, hashes)
            is_new &= run[np.minimum(indices, len(run) - 1)] != hashes
        if is_new.any():
            self._runs.append(np.sort(hashes[is_new]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            self._runs[-2:] = [np.sort(np.concatenate(self._runs[-2:]), kind="stable")]
        return is_new

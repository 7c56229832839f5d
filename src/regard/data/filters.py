"""Which pairs are worth training on: what is dropped is counted by its reason, so that nothing vanishes in silence."""

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import DataConfig

REASONS = {
    "blank": "with a blank side",
    "too_long": "longer than data.maximum_length",
    "ratio": "with lengths further apart than data.maximum_ratio",
    "duplicate": "seen before",
    "held_out": "held out to validate on",
}
Lengths = NDArray[np.int32]  # tokens of each sentence


@dataclass(frozen=True)
class FilterReport:
    """How many pairs were kept, and how many dropped for each reason."""

    kept: int
    dropped: dict[str, int]

    @property
    def read(self) -> int:
        """How many pairs were looked at."""
        return self.kept + sum(self.dropped.values())

    def describe(self, examples: str = "pairs") -> str:
        """One sentence for people."""
        parts = [f"{count:,} {REASONS.get(reason, reason)}" for reason, count in self.dropped.items() if count]
        return f"kept {self.kept:,} of {self.read:,} {examples}; dropped " + (", ".join(parts) or "none")


def sort_out(source: Lengths, target: Lengths, config: DataConfig) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Which pairs of these lengths pass, and how many fail for each reason; what the text decides is found elsewhere.

    A pair that could be dropped for several reasons is counted under the first.
    """
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    faults = {
        "blank": shorter == 0,
        "too_long": longer > config.maximum_length,
        "ratio": longer > config.maximum_ratio * shorter,
    }
    passes, dropped = np.ones(len(source), bool), dict.fromkeys(REASONS, 0)
    for reason, is_faulty in faults.items():
        dropped[reason] = int((passes & is_faulty).sum())
        passes &= ~is_faulty
    return passes, dropped


def pair_settings(config: DataConfig) -> bytes:
    """The options that decide which pairs are kept, as bytes to fingerprint."""
    settings = (config.languages, config.maximum_length, config.maximum_ratio, config.deduplicate)
    return msgspec.json.encode(settings)

"""Which pairs are worth training on: what is dropped is counted by its reason, so that nothing vanishes in silence."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from regard.config import DataConfig
from regard.data.readers import Pair
from regard.data.seen import SeenHashes, hash_of

Encode = Callable[[str], list[int]]

REASONS = {
    "blank": "with a blank side",
    "too_long": "longer than data.maximum_length",
    "ratio": "with lengths further apart than data.maximum_ratio",
    "duplicate": "seen before",
}


@dataclass(frozen=True)
class FilterReport:
    """How many pairs were kept, and how many dropped for each reason."""

    kept: int
    dropped: dict[str, int]

    @property
    def read(self) -> int:
        """How many pairs were looked at."""
        return self.kept + sum(self.dropped.values())

    def describe(self) -> str:
        """One sentence for people."""
        parts = [f"{count:,} {REASONS.get(reason, reason)}" for reason, count in self.dropped.items() if count]
        return f"kept {self.kept:,} of {self.read:,} pairs; dropped " + (", ".join(parts) or "none")


@dataclass(frozen=True, slots=True)
class TokenisedPair:
    """A pair as text and as ids."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]


class AcceptedPairs:
    """The pairs that pass the filters, cut into tokens; `report` counts them and the others as they go by.

    Nothing is held but the counts and, with `deduplicate`, 64 bits for each pair kept.
    """

    def __init__(
        self, pairs: Iterable[Pair], config: DataConfig, *, encode_source: Encode, encode_target: Encode
    ) -> None:
        self._pairs = pairs
        self._config = config
        self._encode_source = encode_source
        self._encode_target = encode_target
        self._seen = SeenHashes()
        self._kept = 0
        self._dropped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[TokenisedPair]:
        for pair in self._pairs:
            source_ids, target_ids = self._encode_source(pair.source), self._encode_target(pair.target)
            candidate = TokenisedPair(pair.source, pair.target, source_ids, target_ids)
            reason = self._reason_to_drop(candidate)
            if reason is None:
                self._kept += 1
                yield candidate
            else:
                self._dropped[reason] += 1

    @property
    def report(self) -> FilterReport:
        """What has been kept and dropped so far."""
        return FilterReport(self._kept, {reason: self._dropped[reason] for reason in REASONS})

    def _reason_to_drop(self, pair: TokenisedPair) -> str | None:
        shorter, longer = sorted((len(pair.source_ids), len(pair.target_ids)))
        if shorter == 0 or not pair.source.strip() or not pair.target.strip():
            return "blank"
        if longer > self._config.maximum_length:
            return "too_long"
        if longer > self._config.maximum_ratio * shorter:
            return "ratio"
        if self._config.deduplicate and not self._seen.add(hash_of(pair.source, pair.target)):
            return "duplicate"
        return None


def pair_settings(config: DataConfig) -> bytes:
    """The options that decide which pairs are kept, as bytes to fingerprint."""
    settings = (config.languages, config.maximum_length, config.maximum_ratio, config.deduplicate)
    return msgspec.json.encode(settings)

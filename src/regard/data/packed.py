"""Many tokenised pairs as a few blocks of bytes: what processes hand to each other, and what a store is made from."""

import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.data.filters import REASONS, AcceptedPairs, FilterReport, TokenisedPair
from regard.data.seen import SeenHashes, hash_of

PAIRS_AT_ONCE = 10_000
_IDS, _BYTES, _LENGTHS = np.dtype("<i4"), np.dtype("u1"), np.dtype("<i4")
COLUMNS: dict[str, np.dtype[Any]] = {
    "source-ids": _IDS,
    "target-ids": _IDS,
    "source-text": _BYTES,
    "target-text": _BYTES,
}


class Column(msgspec.Struct, frozen=True):
    """Rows laid end to end, and how many values each of them has."""

    values: bytes
    lengths: bytes

    @classmethod
    def of(cls, rows: list[bytes], dtype: np.dtype[Any]) -> "Column":
        lengths = np.array([len(row) for row in rows], _LENGTHS) // dtype.itemsize
        return cls(b"".join(rows), lengths.astype(_LENGTHS).tobytes())

    def row_lengths(self) -> NDArray[np.int32]:
        """How many values each row has."""
        return np.frombuffer(self.lengths, _LENGTHS)

    def rows(self, dtype: np.dtype[Any]) -> list[bytes]:
        """Each row as bytes."""
        ends = np.cumsum(self.row_lengths(), dtype=np.int64) * dtype.itemsize
        return [self.values[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=False)]


class PackedPairs(msgspec.Struct, frozen=True):
    """Some pairs that were kept, in their order, and how many others were dropped for each reason."""

    columns: dict[str, Column]
    kept: int
    dropped: dict[str, int]


def pack(pairs: AcceptedPairs, at_once: int = PAIRS_AT_ONCE) -> Iterator[PackedPairs]:
    """The pairs in blocks, the last of which may be empty; what is dropped is counted in the block where it was met."""
    stream, told = iter(pairs), pairs.report
    while True:
        block = list(islice(stream, at_once))
        report = pairs.report
        if block or report.read > told.read:
            dropped = {reason: report.dropped[reason] - told.dropped[reason] for reason in REASONS}
            yield PackedPairs(_columns(block), len(block), dropped)
        told = report
        if len(block) < at_once:
            return


def without_duplicates(blocks: Iterator[PackedPairs]) -> Iterator[PackedPairs]:
    """The blocks without pairs that came before, in their own block or in an earlier one."""
    seen = SeenHashes()
    for block in blocks:
        rows = {name: block.columns[name].rows(dtype) for name, dtype in COLUMNS.items()}
        texts = zip(rows["source-text"], rows["target-text"], strict=True)
        new = [
            index for index, (source, target) in enumerate(texts) if seen.add(hash_of(source.decode(), target.decode()))
        ]
        columns = {name: Column.of([rows[name][index] for index in new], dtype) for name, dtype in COLUMNS.items()}
        dropped = block.dropped | {"duplicate": block.dropped["duplicate"] + block.kept - len(new)}
        yield PackedPairs(columns, len(new), dropped)


def joined(report: FilterReport, block: PackedPairs) -> FilterReport:
    """The report with a block's pairs counted too."""
    dropped = {reason: report.dropped.get(reason, 0) + block.dropped.get(reason, 0) for reason in REASONS}
    return FilterReport(report.kept + block.kept, dropped)


def _columns(block: list[TokenisedPair]) -> dict[str, Column]:
    rows = {
        "source-ids": [_ids(pair.source_ids) for pair in block],
        "target-ids": [_ids(pair.target_ids) for pair in block],
        "source-text": [pair.source.encode() for pair in block],
        "target-text": [pair.target.encode() for pair in block],
    }
    return {name: Column.of(rows[name], dtype) for name, dtype in COLUMNS.items()}


def _ids(ids: list[int]) -> bytes:
    return struct.pack(f"<{len(ids)}i", *ids)

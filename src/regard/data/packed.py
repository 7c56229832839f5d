"""Many tokenised pairs as a few blocks of bytes: what processes hand to each other, and what a store is made from."""

from collections.abc import Iterator, Sequence
from itertools import chain, compress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import DataConfig
from regard.data.filters import REASONS, FilterReport, Lengths, sort_out
from regard.data.seen import SeenHashes, hash_of

_IDS, _BYTES, _LENGTHS = np.dtype("<i4"), np.dtype("u1"), np.dtype("<i4")
Texts = list[tuple[str, str]]
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
    def of(cls, rows: Sequence[bytes], dtype: np.dtype[Any]) -> "Column":
        """Rows that are bytes already."""
        return cls(b"".join(rows), (lengths_of(rows) // dtype.itemsize).tobytes())

    @classmethod
    def of_ids(cls, rows: Sequence[list[int]]) -> "Column":
        """Rows of token ids."""
        lengths = lengths_of(rows)
        values = np.fromiter(chain.from_iterable(rows), _IDS, count=int(lengths.sum()))
        return cls(values.tobytes(), lengths.tobytes())

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


def pack(texts: Texts, source_ids: list[list[int]], target_ids: list[list[int]], config: DataConfig) -> PackedPairs:
    """The pairs that pass the filters, each side as text and as ids."""
    passes, dropped = sort_out(lengths_of(source_ids), lengths_of(target_ids), config)
    kept = list(compress(texts, passes))
    columns = {
        "source-ids": Column.of_ids(list(compress(source_ids, passes))),
        "target-ids": Column.of_ids(list(compress(target_ids, passes))),
        "source-text": Column.of([source.encode() for source, _ in kept], _BYTES),
        "target-text": Column.of([target.encode() for _, target in kept], _BYTES),
    }
    return PackedPairs(columns, len(kept), dropped)


def lengths_of(rows: Sequence[Sequence[int]]) -> Lengths:
    """How many values each row has."""
    return np.fromiter(map(len, rows), _LENGTHS, count=len(rows))


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

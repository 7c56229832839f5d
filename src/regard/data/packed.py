"""Many tokenised pairs as a few arrays of bytes: what processes leave for each other, and what a store is made from."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import DataConfig
from regard.data.filters import REASONS, FilterReport, Lengths, sort_out
from regard.data.readers import PairBlock
from regard.data.seen import SeenHashes, hash_of, plain

_IDS, _BYTES, _LENGTHS, _HASHES = np.dtype("<i4"), np.dtype("u1"), np.dtype("<i4"), np.dtype("<u8")
_NEWLINE = ord("\n")
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
    def of_ids(cls, rows: Sequence[bytes]) -> "Column":
        """Rows of token ids, each as bytes."""
        sizes = np.fromiter(map(len, rows), _LENGTHS, count=len(rows))
        return cls(b"".join(rows), (sizes // _IDS.itemsize).tobytes())

    @classmethod
    def of_lines(cls, lines: bytes) -> "Column":
        """Rows of text, given with newlines between them."""
        ends = np.append(np.flatnonzero(np.frombuffer(lines, _BYTES) == _NEWLINE), len(lines))
        lengths = np.diff(ends, prepend=-1) - 1
        return cls(lines.replace(b"\n", b""), lengths.astype(_LENGTHS).tobytes())

    def row_lengths(self) -> Lengths:
        """How many values each row has."""
        return np.frombuffer(self.lengths, _LENGTHS)

    def chosen(self, is_chosen: NDArray[np.bool_], dtype: np.dtype[Any]) -> "Column":
        """Some of the rows."""
        lengths = self.row_lengths()
        values = np.frombuffer(self.values, dtype)[np.repeat(is_chosen, lengths)]
        return Column(values.tobytes(), lengths[is_chosen].tobytes())


class PackedPairs(msgspec.Struct, frozen=True):
    """Some pairs that were kept, in their order, and how many others were dropped for each reason."""

    columns: dict[str, Column]
    kept: int
    dropped: dict[str, int]
    hashes: bytes  # of each pair that was kept; none where duplicates may stay

    def chosen(self, is_chosen: NDArray[np.bool_], dropped: dict[str, int]) -> "PackedPairs":
        """Some of the pairs; `dropped` says why the others are not."""
        kept = int(is_chosen.sum())
        if kept == self.kept:
            return msgspec.structs.replace(self, dropped=dropped)
        columns = {name: self.columns[name].chosen(is_chosen, dtype) for name, dtype in COLUMNS.items()}
        hashes = np.frombuffer(self.hashes, _HASHES)
        return PackedPairs(columns, kept, dropped, hashes[is_chosen].tobytes() if self.hashes else b"")


def pack(
    block: PairBlock,
    source_ids: list[bytes],
    target_ids: list[bytes],
    config: DataConfig,
    *,
    held_out: Sequence[int] = (),
    one_sided: bool = False,
) -> PackedPairs:
    """The pairs that pass the filters, each side as text and as ids; those of the hashes held out do not.

    Where only the target has words, it is held against itself.
    """
    columns = {
        "source-ids": Column.of_ids(source_ids),
        "target-ids": Column.of_ids(target_ids),
        "source-text": Column.of_lines(block.sources),
        "target-text": Column.of_lines(block.targets),
    }
    source, target = (columns[name].row_lengths() for name in ("source-ids", "target-ids"))
    passes, dropped = sort_out(target if one_sided else source, target, config)
    hashes = _hashes(block) if config.deduplicate or held_out else b""
    if held_out:
        is_held_out = passes & np.isin(np.frombuffer(hashes, _HASHES), np.array(held_out, _HASHES))
        dropped["held_out"] = int(is_held_out.sum())
        passes &= ~is_held_out
    return PackedPairs(columns, len(passes), {}, hashes if config.deduplicate else b"").chosen(passes, dropped)


def _hashes(block: PairBlock) -> bytes:
    """By which pairs are held out and known again: copies that look the same have the same."""
    pairs = zip(block.sources.split(b"\n"), block.targets.split(b"\n"), strict=True)
    return np.fromiter((hash_of(plain(source), plain(target)) for source, target in pairs), _HASHES).tobytes()


def without_duplicates(blocks: Iterator[PackedPairs]) -> Iterator[PackedPairs]:
    """The blocks without pairs that came before, in their own block or in an earlier one."""
    seen = SeenHashes()
    for block in blocks:
        hashes = np.frombuffer(block.hashes, _HASHES).tolist()
        is_new = np.fromiter(map(seen.add, hashes), np.bool_, count=block.kept)
        duplicates = block.dropped["duplicate"] + block.kept - int(is_new.sum())
        yield block.chosen(is_new, block.dropped | {"duplicate": duplicates})


def joined(report: FilterReport, block: PackedPairs) -> FilterReport:
    """The report with a block's pairs counted too."""
    dropped = {reason: report.dropped.get(reason, 0) + block.dropped.get(reason, 0) for reason in REASONS}
    return FilterReport(report.kept + block.kept, dropped)

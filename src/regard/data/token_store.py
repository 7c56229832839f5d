"""The tokenised training pairs on disk, read through memory maps.

A store has a fingerprint of everything that went into it: the next run with the same files, tokenizer and filters opens
it, any other run builds a new one. It keeps the text beside the ids, because subword sampling splits a sentence
differently in each epoch. From top to bottom: the store, the packed pairs that processes hand over, and the files of
rows (values laid end to end, and the offsets where rows end). Nothing needs more memory than a block of pairs.
"""

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, SupportsIndex

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import DataConfig
from regard.data.filters import (
    FilterReport,
    HashSet,
    Lengths,
    comparison_form,
    filter_by_length,
    hash_pair,
)
from regard.data.pair_readers.text import PairBlock
from regard.errors import RegardError
from regard.files import atomic_directory
from regard.struct_decoding import decode_json

VERSION = 2  # of the layout on disk
HEADER = "token_store.json"
_ID_TYPE, _BYTE_TYPE, _LENGTH_TYPE, _HASH_TYPE = np.dtype("<i4"), np.dtype("u1"), np.dtype("<i4"), np.dtype("<u8")
_OFFSET_TYPE = np.dtype("<i8")
COLUMNS: dict[str, np.dtype[Any]] = {
    "source-ids": _ID_TYPE,
    "target-ids": _ID_TYPE,
    "source-text": _BYTE_TYPE,
    "target-text": _BYTE_TYPE,
}
_BUFFER_BYTES = 2**18
_COMPARED_VALUES = 2**22  # compared at once, because the result needs a byte for each
_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class TokenPair:
    """One pair as ids, without BEGIN and END."""

    source_ids: list[int]
    target_ids: list[int]


class TokenStoreHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of token_store.json."""

    version: int
    fingerprint: str
    reports: list[FilterReport]  # of each corpus, in the order of the pairs
    digests: dict[str, str]  # SHA-256 of each file


class TokenStore:
    """A finished store: the pairs that were kept, each as ids and as text."""

    def __init__(self, directory: Path, header: TokenStoreHeader) -> None:
        self.directory = directory
        self.fingerprint = header.fingerprint
        self.reports = header.reports
        self.report = sum(header.reports, FilterReport(0, {}))
        self._columns = {name: RaggedRows(directory, name, dtype) for name, dtype in COLUMNS.items()}

    def __len__(self) -> int:
        return len(self._columns["source-ids"])

    def __getitem__(self, index: SupportsIndex) -> TokenPair:
        source, target = (self._columns[name][int(index)].tolist() for name in ("source-ids", "target-ids"))
        return TokenPair(source, target)

    def text(self, index: SupportsIndex) -> tuple[str, str]:
        """The source and the target as they were read."""
        source, target = (
            self._columns[name][int(index)].tobytes().decode("utf-8") for name in ("source-text", "target-text")
        )
        return source, target

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """How many source ids each pair has."""
        return self._columns["source-ids"].lengths

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """How many target ids each pair has."""
        return self._columns["target-ids"].lengths

    def frequency_of(self, identity: int) -> float:
        """The fraction of all ids that are this one, on the side where it is larger."""
        share = max(self._columns[name].frequency_of(identity) for name in ("source-ids", "target-ids"))
        self.drop_pages()
        return share

    def drop_pages(self) -> None:
        """Release the memory of the pairs that were read; without it, that grows to the size of the store."""
        for column in self._columns.values():
            column.drop_pages()


def fingerprint(paths: Sequence[Path | str], *extras: bytes | str) -> str:
    """A SHA-256 over the names and bytes of the files, and over everything else that the store depends on."""
    hasher = hashlib.sha256()
    for path in map(Path, paths):
        if path.exists() and not path.is_file():
            raise RegardError(f"{path} is not a file that can be read twice. Give a regular file.")
        _update_framed(hasher, os.fsencode(path.name))
        _update_framed(hasher, _file_digest(path).encode())
    for extra in extras:
        _update_framed(hasher, extra.encode() if isinstance(extra, str) else extra)
    return hasher.hexdigest()


def write_store(
    directory: Path | str,
    blocks: Iterable["PackedPairs"],
    *,
    fingerprint: str,
    progress: Callable[[int], None] = lambda _: None,
) -> TokenStore:
    """Write the pairs to a new store that replaces the old one; `progress` receives the number of pairs read."""
    directory = Path(directory)
    reports: list[FilterReport] = []
    is_free = not directory.exists() or (directory.is_dir() and not any(directory.iterdir()))
    if not is_free and not (directory / HEADER).exists():
        raise RegardError(f"{directory} exists and is not a token store. Choose another path, or remove it.")
    with atomic_directory(directory) as staging:
        with ExitStack() as stack:
            writers = {name: stack.enter_context(RaggedWriter(staging, name, dtype)) for name, dtype in COLUMNS.items()}
            for block in blocks:
                for name, column in block.columns.items():
                    writers[name].extend(column.values, column.row_lengths())
                while len(reports) <= block.corpus:
                    reports.append(FilterReport(0, {}))
                reports[block.corpus] += FilterReport(block.kept, block.dropped)
                progress(sum(report.read for report in reports))
        digests = {file: digest for writer in writers.values() for file, digest in writer.digests().items()}
        report = sum(reports, FilterReport(0, {}))
        if not report.kept:
            raise RegardError(f"No pair is left to train on: {report.describe()}. Check the data and the data options.")
        header = TokenStoreHeader(VERSION, fingerprint, reports, digests)
        (staging / HEADER).write_bytes(msgspec.json.format(msgspec.json.encode(header)))
    return TokenStore(directory, header)


def open_store(directory: Path | str, expected_fingerprint: str | None) -> TokenStore | None:
    """The store, if it has this fingerprint (None: any) and its files are undamaged; else None."""
    directory = Path(directory)
    try:
        header = decode_json((directory / HEADER).read_bytes(), TokenStoreHeader)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise RegardError(f"{directory / HEADER} cannot be read: {error.strerror}. Fix it, or remove it.") from None
    if (header.version, header.fingerprint) != (VERSION, expected_fingerprint or header.fingerprint):
        return None
    # A mapped file that is too short crashes the process, and a flipped bit is trained on: so every byte is checked.
    files = [directory / file for column in COLUMNS for file in ragged_files(column)]
    if all(file.is_file() and _file_digest(file) == header.digests.get(file.name) for file in files):
        return TokenStore(directory, header)
    return None


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give the path of a readable file.") from None


def _update_framed(hasher: "hashlib._Hash", part: bytes) -> None:
    """Add a part with its length, so that different lists of parts never give the same bytes."""
    hasher.update(len(part).to_bytes(8, "little"))
    hasher.update(part)


# --- packed pairs -----------------------------------------------------------------------------------------------------


class Column(msgspec.Struct, frozen=True):
    """Rows laid end to end, and the number of values in each."""

    values: bytes
    lengths: bytes

    @classmethod
    def from_ids(cls, rows: Sequence[bytes]) -> "Column":
        """Rows of token ids, each as bytes."""
        sizes = np.fromiter(map(len, rows), _LENGTH_TYPE, count=len(rows))
        return cls(b"".join(rows), (sizes // _ID_TYPE.itemsize).tobytes())

    @classmethod
    def from_lines(cls, lines: bytes) -> "Column":
        """Rows of text, given with newlines between them."""
        ends = np.append(np.flatnonzero(np.frombuffer(lines, _BYTE_TYPE) == _NEWLINE), len(lines))
        lengths = np.diff(ends, prepend=-1) - 1
        return cls(lines.replace(b"\n", b""), lengths.astype(_LENGTH_TYPE).tobytes())

    def row_lengths(self) -> Lengths:
        """How many values each row has."""
        return np.frombuffer(self.lengths, _LENGTH_TYPE)

    def select(self, is_selected: NDArray[np.bool_], dtype: np.dtype[Any]) -> "Column":
        """Some of the rows."""
        lengths = self.row_lengths()
        values = np.frombuffer(self.values, dtype)[np.repeat(is_selected, lengths)]
        return Column(values.tobytes(), lengths[is_selected].tobytes())


class PackedPairs(msgspec.Struct, frozen=True):
    """Some pairs that were kept, in order, and how many others were dropped for each reason."""

    columns: dict[str, Column]
    kept: int
    dropped: dict[str, int]
    hashes: bytes  # of each pair that was kept; empty without data.deduplicate
    corpus: int = 0  # the number of the corpus that they come from

    def select(self, is_selected: NDArray[np.bool_], dropped: dict[str, int]) -> "PackedPairs":
        """Some of the pairs; `dropped` counts the others by reason."""
        kept = int(is_selected.sum())
        if kept == self.kept:
            return msgspec.structs.replace(self, dropped=dropped)
        columns = {name: self.columns[name].select(is_selected, dtype) for name, dtype in COLUMNS.items()}
        hashes = np.frombuffer(self.hashes, _HASH_TYPE)
        own = hashes[is_selected].tobytes() if self.hashes else b""
        return PackedPairs(columns, kept, dropped, own, self.corpus)


def pack(
    block: PairBlock,
    source_ids: list[bytes],
    target_ids: list[bytes],
    config: DataConfig,
    *,
    held_out: Sequence[int] = (),
    monolingual: bool = False,
) -> PackedPairs:
    """The pairs that pass the filters and are not held out, each side as text and as ids.

    In monolingual text only the target has words, so the filters compare it with itself.
    """
    columns = {
        "source-ids": Column.from_ids(source_ids),
        "target-ids": Column.from_ids(target_ids),
        "source-text": Column.from_lines(block.sources),
        "target-text": Column.from_lines(block.targets),
    }
    source, target = (columns[name].row_lengths() for name in ("source-ids", "target-ids"))
    is_kept, dropped = filter_by_length(target if monolingual else source, target, config)
    hashes = _pair_hashes(block) if config.deduplicate or held_out else b""
    if held_out:
        is_held_out = is_kept & np.isin(np.frombuffer(hashes, _HASH_TYPE), np.array(held_out, _HASH_TYPE))
        dropped["held_out"] = int(is_held_out.sum())
        is_kept &= ~is_held_out
    packed = PackedPairs(columns, len(is_kept), {}, hashes if config.deduplicate else b"", block.corpus)
    return packed.select(is_kept, dropped)


def _pair_hashes(block: PairBlock) -> bytes:
    """A hash of each pair; copies that differ only in composition or surrounding white space have the same hash."""
    pairs = zip(block.sources.split(b"\n"), block.targets.split(b"\n"), strict=True)
    return np.fromiter(
        (hash_pair(comparison_form(source), comparison_form(target)) for source, target in pairs), _HASH_TYPE
    ).tobytes()


def drop_duplicates(blocks: Iterator[PackedPairs]) -> Iterator[PackedPairs]:
    """The blocks without pairs that occurred before, in their own block or in an earlier one."""
    seen = HashSet()
    for block in blocks:
        is_new = seen.add(np.frombuffer(block.hashes, _HASH_TYPE))
        duplicates = block.dropped["duplicate"] + block.kept - int(is_new.sum())
        yield block.select(is_new, block.dropped | {"duplicate": duplicates})


# --- rows of different lengths ----------------------------------------------------------------------------------------


def ragged_files(name: str) -> tuple[str, str]:
    """The names of the two files: values, and offsets."""
    return f"{name}.values", f"{name}.offsets"


class RaggedWriter:
    """Appends rows; use it in a `with` statement."""

    def __init__(self, directory: Path, name: str, dtype: np.dtype[Any]) -> None:
        values, offsets = ragged_files(name)
        self._dtype = dtype
        self._end = 0
        self._values = _HashedFile(directory / values)
        self._offsets = _HashedFile(directory / offsets)
        self._offsets.write(bytes(_OFFSET_TYPE.itemsize))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._values.file, self._offsets.file:
            pass

    def extend(self, values: bytes, lengths: NDArray[np.integer]) -> None:
        """Add rows, given as the bytes of all their values and the number of values in each row."""
        ends = self._end + np.cumsum(lengths, dtype=_OFFSET_TYPE)
        self._end += len(values) // self._dtype.itemsize
        self._values.write(values)
        self._offsets.write(ends.tobytes())

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file, by its name."""
        return {Path(hashed.file.name).name: hashed.digest.hexdigest() for hashed in (self._values, self._offsets)}


class _HashedFile:
    """A file that is hashed while it is written."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb", buffering=_BUFFER_BYTES)
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)


class RaggedRows:
    """The rows of a finished pair of files; all rows may be empty, as the sources of monolingual text are."""

    def __init__(self, directory: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._files = [_map_file(directory / file) for file in ragged_files(name)]
        # Plain arrays: slicing numpy's memmap class is several times slower.
        self._values, self._offsets = (
            np.frombuffer(file, kind) for file, kind in zip(self._files, (dtype, _OFFSET_TYPE), strict=True)
        )

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._values[self._offsets[row] : self._offsets[row + 1]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """How many values each row has."""
        return np.diff(self._offsets).astype(np.int32)

    def frequency_of(self, value: int) -> float:
        """The fraction of all values that equal this one."""
        starts = range(0, len(self._values), _COMPARED_VALUES)
        count = sum(int((self._values[start : start + _COMPARED_VALUES] == value).sum()) for start in starts)
        return count / max(1, len(self._values))

    def drop_pages(self) -> None:
        """Release the pages that were read: they stay in the page cache but no longer count as process memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for file in self._files:
                if isinstance(file, mmap.mmap):
                    file.madvise(mmap.MADV_DONTNEED)


def _map_file(path: Path) -> mmap.mmap | bytes:
    """The bytes of the file; an empty file cannot be mapped."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""

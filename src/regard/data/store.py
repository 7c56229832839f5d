"""The training pairs, cut into tokens once and kept on disk, read back through memory maps.

A store carries a fingerprint of all that went into it: the next run with the same files, tokenizer and filters opens
it, any other builds it anew. It keeps the text beside the ids, because subword sampling cuts a sentence differently
in each epoch.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.data.filters import FilterReport
from regard.data.packed import COLUMNS, PackedPairs, joined
from regard.data.ragged import RaggedRows, RaggedWriter, ragged_files
from regard.errors import RegardError
from regard.staged import staged_directory

VERSION = 1  # of the layout on disk
HEADER = "store.json"
_FILES = [file for column in COLUMNS for file in ragged_files(column)]


@dataclass(frozen=True, slots=True)
class Example:
    """One pair as ids, without BEGIN and END."""

    source_ids: list[int]
    target_ids: list[int]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a store says of itself."""

    version: int
    fingerprint: str
    report: FilterReport
    digests: dict[str, str]  # SHA-256 of each file


class TokenStore:
    """A finished store: as many pairs as were kept, each as ids and as text."""

    def __init__(self, directory: Path, header: Header) -> None:
        self.directory = directory
        self.fingerprint = header.fingerprint
        self.report = header.report
        self._columns = {name: RaggedRows(directory, name, dtype) for name, dtype in COLUMNS.items()}

    def __len__(self) -> int:
        return len(self._columns["source-ids"])

    def __getitem__(self, index: SupportsIndex) -> Example:
        source, target = (self._columns[name][int(index)].tolist() for name in ("source-ids", "target-ids"))
        return Example(source, target)

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

    def share_of(self, identity: int) -> float:
        """The share of the ids that are this one, on the side where it is the larger."""
        share = max(self._columns[name].share_of(identity) for name in ("source-ids", "target-ids"))
        self.release()
        return share

    def release(self) -> None:
        """Let go of the memory that looking at pairs has taken; without it, that grows to the size of the store."""
        for column in self._columns.values():
            column.release()


def fingerprint(paths: Sequence[Path | str], *extras: bytes | str) -> str:
    """A SHA-256 over the files' names and bytes, and over whatever else the store depends on."""
    whole = hashlib.sha256()
    for path in map(Path, paths):
        if path.exists() and not path.is_file():
            raise RegardError(f"{path} is not a file that can be read twice. Give a plain file.")
        _frame(whole, os.fsencode(path.name))
        _frame(whole, _digest(path).encode())
    for extra in extras:
        _frame(whole, extra.encode() if isinstance(extra, str) else extra)
    return whole.hexdigest()


def write_store(
    directory: Path | str,
    blocks: Iterable[PackedPairs],
    *,
    fingerprint: str,
    progress: Callable[[int], None] = lambda _: None,
) -> TokenStore:
    """Write the pairs to a new store that replaces the one there; `progress` is told how many pairs have been read."""
    directory = Path(directory)
    _refuse_what_is_not_a_store(directory)
    with staged_directory(directory) as staging:
        report, digests = _write_columns(staging, blocks, progress)
        if not report.kept:
            raise RegardError(f"No pair is left to train on: {report.describe()}. Check the data and data.*.")
        header = Header(VERSION, fingerprint, report, digests)
        (staging / HEADER).write_bytes(msgspec.json.format(msgspec.json.encode(header)))
    return TokenStore(directory, header)


def open_store(directory: Path | str, expected_fingerprint: str) -> TokenStore | None:
    """The store, if there is one with this fingerprint and each of its files is what was written; else None."""
    directory = Path(directory)
    header = _read_header(directory)
    if header is None or (header.version, header.fingerprint) != (VERSION, expected_fingerprint):
        return None
    # A mapped file that is too short kills its reader, and a flipped bit trains in silence: so every byte is checked.
    if any(
        not (directory / file).is_file() or _digest(directory / file) != header.digests.get(file) for file in _FILES
    ):
        return None
    return TokenStore(directory, header)


def _write_columns(
    staging: Path, blocks: Iterable[PackedPairs], progress: Callable[[int], None]
) -> tuple[FilterReport, dict[str, str]]:
    report = FilterReport(0, {})
    with ExitStack() as stack:
        writers = {name: stack.enter_context(RaggedWriter(staging, name, dtype)) for name, dtype in COLUMNS.items()}
        for block in blocks:
            for name, column in block.columns.items():
                writers[name].extend(column.values, column.row_lengths())
            report = joined(report, block)
            progress(report.read)
    digests = {file: digest for writer in writers.values() for file, digest in writer.digests().items()}
    return report, digests


def _read_header(directory: Path) -> Header | None:
    try:
        return msgspec.json.decode((directory / HEADER).read_bytes(), type=Header)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise RegardError(f"{directory / HEADER} cannot be read: {error.strerror}. Mend it, or remove it.") from None


def _refuse_what_is_not_a_store(directory: Path) -> None:
    """Building replaces the directory, so it must not be one that holds something else."""
    is_free = not directory.exists() or (directory.is_dir() and not any(directory.iterdir()))
    if not is_free and not (directory / HEADER).exists():
        raise RegardError(f"{directory} exists and is not a token store. Choose another path, or remove it.")


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give the path of a readable file.") from None


def _frame(whole: "hashlib._Hash", part: bytes) -> None:
    """Add a part with its length, so that no two lists of parts run together to the same bytes."""
    whole.update(len(part).to_bytes(8, "little"))
    whole.update(part)

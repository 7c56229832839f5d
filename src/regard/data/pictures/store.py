"""Pictures, or what a frozen network makes of them, computed once and read back through a memory map.

A store is written block by block, each block with its hash: so a run that is killed goes on where it was, a damaged
block is computed again alone, and a finished store is opened as it is. A fingerprint of the pictures' bytes and of the
network tells whether it is the right one. Several runs may share a store; one of them prepares it, the others wait.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.data.pictures.alone import LOCK, alone_in
from regard.data.pictures.opening import open_picture
from regard.data.store import fingerprint
from regard.errors import RegardError

VERSION = 1  # of the layout on disk
HEADER, VALUES, BLOCKS = "pictures.json", "values", "blocks.jsonl"
ROWS_AT_ONCE = 32  # pictures in a block

Precision = Literal["uint8", "float16", "float32"]
Progress = Callable[[int, int], None]  # how many pictures are done, of how many


@dataclass(frozen=True)
class Features:
    """A frozen network: what it computes, and a text that changes when its results would, as a hash of its weights."""

    compute: Callable[[NDArray[np.uint8]], NDArray[np.floating]]  # (B, 3, Y, X) to (B, ...)
    identity: str
    precision: Literal["float16", "float32"] = "float16"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a store says of itself: how many rows it is to have, and what each of them is."""

    version: int
    fingerprint: str
    count: int
    shape: tuple[int, ...]
    precision: Precision

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.precision).itemsize


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some rows in a row, and the SHA-256 of their bytes."""

    rows: int
    digest: str


class PictureStore:
    """A finished store: one row for each picture, in the order in which they were given."""

    def __init__(self, directory: Path, header: Header) -> None:
        self.directory = directory
        self.fingerprint = header.fingerprint
        self.shape = header.shape
        shape = (header.count, *header.shape)
        self._rows: NDArray[Any] = np.memmap(directory / VALUES, header.precision, "r", shape=shape).view(np.ndarray)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> NDArray[Any]:
        row: NDArray[Any] = self._rows[index]
        return row

    def take(self, indices: Sequence[int] | NDArray[np.integer]) -> NDArray[Any]:
        """The rows of several pictures, copied together."""
        taken: NDArray[Any] = self._rows[np.asarray(indices, np.intp)]
        return taken


def prepare_pictures(
    directory: Path | str,
    pictures: Sequence[Path],
    *,
    size: int,
    features: Features | None = None,
    progress: Progress = lambda _done, _of: None,
) -> PictureStore:
    """The store of these pictures, as squares of `size` or as a network's features; what is missing is computed.

    Without `features` a row is uint8 (3, size, size); with them it is whatever the network gives for one picture.
    """
    if not pictures:
        raise RegardError("There are no pictures to prepare. Give at least one.")
    directory = Path(directory)
    settings = f"{VERSION} {size} " + (f"{features.precision} {features.identity}" if features else "uint8")
    mark = fingerprint(pictures, settings)
    try:
        header = _prepared(
            directory,
            mark,
            len(pictures),
            lambda rows: _computed([pictures[row] for row in rows], size, features),
            progress,
        )
    except OSError as error:
        raise RegardError(
            f"{directory} cannot be written: {error.strerror or error} ({_written(directory):,} bytes are there). "
            "Make room, or choose a directory that can be written; what is there is kept."
        ) from None
    return PictureStore(directory, header)


def _prepared(
    directory: Path, mark: str, count: int, compute: Callable[[range], NDArray[Any]], progress: Progress
) -> Header:
    """Whatever is missing is written, by one process at a time; the others are told how far it is."""
    _refuse_others(directory)
    if (header := _header_of(directory, mark)) is not None and _is_finished(directory, header):
        progress(count, count)
        return header  # nothing is written, so that any number of processes may look at once
    directory.mkdir(parents=True, exist_ok=True)
    with alone_in(directory, _mirroring(directory, count, progress)):
        header = _header_of(directory, mark) or _begun(directory, mark, count, compute(range(1))[0])
        _continue(directory, header, _kept_blocks(directory, header), compute, progress)
    return header


def _computed(pictures: Sequence[Path], size: int, features: Features | None) -> NDArray[Any]:
    pixels = np.stack([open_picture(path, size=size) for path in pictures])
    if features is None:
        return pixels
    rows = np.asarray(features.compute(pixels)).astype(features.precision)
    if len(rows) != len(pictures) or not np.isfinite(rows).all():
        raise RegardError(
            f"the network made {rows.shape} of {len(pictures)} pictures such as {pictures[0]}, or numbers that "
            f'{features.precision} cannot hold. Take precision "float32".'
        )
    return rows


# --- the blocks on disk ----------------------------------------------------------------------------------------------


def _header_of(directory: Path, mark: str) -> Header | None:
    """The header, if the directory holds this very store, finished or not."""
    try:
        header = msgspec.json.decode((directory / HEADER).read_bytes(), type=Header)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return header if (header.version, header.fingerprint) == (VERSION, mark) else None


def _begun(directory: Path, mark: str, count: int, row: NDArray[Any]) -> Header:
    """An empty store in the place of any other."""
    for name in (VALUES, BLOCKS, HEADER):  # what has no header is nobody's store
        (directory / name).unlink(missing_ok=True)
    header = Header(VERSION, mark, count, row.shape, row.dtype.name)  # type: ignore[arg-type]
    _append(directory / HEADER, msgspec.json.encode(header))
    return header


def _refuse_others(directory: Path) -> None:
    """Nothing is written into a folder of other things."""
    if directory.exists() and not (directory.is_dir() and _may_hold_a_store(directory)):
        raise RegardError(f"{directory} exists and is not a store of pictures. Choose another path, or remove it.")


def _may_hold_a_store(directory: Path) -> bool:
    names = {path.name for path in directory.iterdir()}
    return names <= {LOCK} or HEADER in names


def _kept_blocks(directory: Path, header: Header) -> list[Block]:
    """The blocks, from the first on, whose bytes are what was written; all after a damaged one is written anew."""
    kept: list[Block] = []
    room = header.count
    if not (directory / VALUES).exists() or not (directory / BLOCKS).exists():
        return kept
    with (directory / VALUES).open("rb") as values:
        for block in _listed_blocks(directory / BLOCKS):
            rows = values.read(block.rows * header.row_bytes)
            is_whole = len(rows) == block.rows * header.row_bytes
            if not is_whole or block.rows > room or hashlib.sha256(rows).hexdigest() != block.digest:
                break
            kept.append(block)
            room -= block.rows
    return kept


def _is_finished(directory: Path, header: Header) -> bool:
    values = directory / VALUES
    has_size = values.exists() and values.stat().st_size == header.count * header.row_bytes
    return has_size and sum(block.rows for block in _kept_blocks(directory, header)) == header.count


def _listed_blocks(path: Path) -> Iterator[Block]:
    for line in path.read_bytes().split(b"\n"):
        try:
            yield msgspec.json.decode(line, type=Block)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return


def _continue(
    directory: Path,
    header: Header,
    kept: list[Block],
    compute: Callable[[range], NDArray[Any]],
    progress: Progress,
) -> None:
    done = sum(block.rows for block in kept)
    _cut(directory / VALUES, done * header.row_bytes)
    _rewrite(directory / BLOCKS, b"".join(_line(block) for block in kept))
    progress(done, header.count)
    for start in range(done, header.count, ROWS_AT_ONCE):
        rows = compute(range(start, min(start + ROWS_AT_ONCE, header.count)))
        content = rows.tobytes()
        # The list follows the bytes, so that a block that is listed is on the disk.
        _append(directory / VALUES, content)
        _append(directory / BLOCKS, _line(Block(len(rows), hashlib.sha256(content).hexdigest())))
        progress(start + len(rows), header.count)


def _listed_rows(directory: Path) -> int:
    """How far another process is."""
    try:
        return sum(block.rows for block in _listed_blocks(directory / BLOCKS))
    except FileNotFoundError:
        return 0


def _mirroring(directory: Path, count: int, progress: Progress) -> Callable[[], None]:
    """Tells how far another process is, whenever it has gone further."""
    told = -1

    def tell() -> None:
        nonlocal told
        if (done := _listed_rows(directory)) > told:
            told = done
            progress(done, count)

    return tell


def _line(block: Block) -> bytes:
    return msgspec.json.encode(block) + b"\n"


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cut(path: Path, length: int) -> None:
    with path.open("ab") as file:
        file.truncate(length)


def _rewrite(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def _written(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*"))

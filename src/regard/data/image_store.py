"""Images, or the features of a frozen network, computed once and read through a memory map.

A store is written block by block, each block with its hash: a run that was killed continues where it was, the blocks
from a damaged one on are computed again, and a finished store is opened as it is. A fingerprint of the images and of
the network identifies the store. Several runs may share a store; one of them builds it, the others wait.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.data.images import load_image
from regard.data.token_store import fingerprint
from regard.errors import RegardError
from regard.locks import LOCK_NAME, wait_for_lock
from regard.struct_decoding import decode_json

VERSION = 1  # of the layout on disk
HEADER, VALUES, BLOCKS = "images.json", "values", "blocks.jsonl"
BLOCK_ROWS = 32
Precision = Literal["uint8", "float16", "float32"]
Progress = Callable[[int, int], None]  # images done, and images in total


@dataclass(frozen=True)
class FeatureExtractor:
    """A frozen network: its computation, and a text that changes with its results, such as a hash of its weights."""

    compute: Callable[[NDArray[np.uint8]], NDArray[np.floating]]  # (B, 3, Y, X) to (B, ...)
    identity: str
    precision: Literal["float16", "float32"] = "float16"


class ImageStoreHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of images.json: how many rows the store has when it is finished, and the shape of a row."""

    version: int
    fingerprint: str
    count: int
    shape: tuple[int, ...]
    precision: Precision

    @property
    def row_bytes(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.precision).itemsize


class StoredBlock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some consecutive rows, and the SHA-256 of their bytes."""

    rows: int
    digest: str


class ImageStore:
    """A finished store: one row for each image, in the order in which they were given."""

    def __init__(self, directory: Path, header: ImageStoreHeader) -> None:
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
        """The rows of several images, copied into one array."""
        taken: NDArray[Any] = self._rows[np.asarray(indices, np.intp)]
        return taken


def build_image_store(
    directory: Path | str,
    images: Sequence[Path],
    *,
    size: int,
    features: FeatureExtractor | None = None,
    progress: Progress = lambda _done, _of: None,
) -> ImageStore:
    """The store of these images, as squares of `size` or as features of a network; missing rows are computed.

    Without `features` a row is uint8 (3, size, size); with `features` it is the output of the network for one image.
    """
    if not images:
        raise RegardError("There are no images to prepare. Give at least one.")
    directory = Path(directory)
    settings = f"{VERSION} {size} " + (f"{features.precision} {features.identity}" if features else "uint8")
    store_fingerprint, count = fingerprint(images, settings), len(images)
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else {LOCK_NAME}
    if (directory.exists() and not directory.is_dir()) or not (names <= {LOCK_NAME} or HEADER in names):
        raise RegardError(f"{directory} exists and is not an image store. Choose another path, or remove it.")
    try:
        header = _read_matching_header(directory, store_fingerprint)
        if header is not None and _is_finished(directory, header):
            progress(count, count)
            return ImageStore(directory, header)  # nothing is written, so any number of processes may open it at once
        directory.mkdir(parents=True, exist_ok=True)
        with wait_for_lock(directory, _progress_of_other_process(directory, count, progress)):
            compute = partial(_compute_rows, images, size, features)
            header = _read_matching_header(directory, store_fingerprint)
            if header is None:
                header = _start_store(directory, store_fingerprint, count, compute(range(1))[0])
            _write_missing_blocks(directory, header, compute, progress)
    except OSError as error:
        written = sum(path.stat().st_size for path in directory.glob("*"))
        raise RegardError(
            f"{directory} cannot be written: {error.strerror or error} ({written:,} bytes are written). "
            "Free some space, or choose a writable directory; the written blocks stay valid."
        ) from None
    return ImageStore(directory, header)


def _compute_rows(images: Sequence[Path], size: int, features: FeatureExtractor | None, indices: range) -> NDArray[Any]:
    pixels = np.stack([load_image(images[index], size=size) for index in indices])
    if features is None:
        return pixels
    rows = np.asarray(features.compute(pixels)).astype(features.precision)
    if len(rows) != len(indices) or not np.isfinite(rows).all():
        raise RegardError(
            f"the network returned the shape {rows.shape} for {len(indices)} images such as {images[indices[0]]}, or "
            f'values that {features.precision} cannot represent. Use precision "float32".'
        )
    return rows


# --- the blocks on disk ----------------------------------------------------------------------------------------------


def _read_matching_header(directory: Path, store_fingerprint: str) -> ImageStoreHeader | None:
    """The header, if the directory contains this store, finished or not."""
    try:
        header = decode_json((directory / HEADER).read_bytes(), ImageStoreHeader)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return header if (header.version, header.fingerprint) == (VERSION, store_fingerprint) else None


def _start_store(directory: Path, store_fingerprint: str, count: int, row: NDArray[Any]) -> ImageStoreHeader:
    """An empty store, which replaces any other."""
    for name in (VALUES, BLOCKS, HEADER):  # the header last: without it the directory is not a store
        (directory / name).unlink(missing_ok=True)
    header = ImageStoreHeader(VERSION, store_fingerprint, count, row.shape, row.dtype.name)  # type: ignore[arg-type]
    _append_synced(directory / HEADER, msgspec.json.encode(header))
    return header


def _valid_blocks(directory: Path, header: ImageStoreHeader) -> list[StoredBlock]:
    """The undamaged blocks before the first damaged one."""
    valid: list[StoredBlock] = []
    rows_left = header.count
    if not (directory / VALUES).exists() or not (directory / BLOCKS).exists():
        return valid
    with (directory / VALUES).open("rb") as values:
        for block in _read_block_list(directory / BLOCKS):
            rows = values.read(block.rows * header.row_bytes)
            is_complete = len(rows) == block.rows * header.row_bytes
            if not is_complete or block.rows > rows_left or hashlib.sha256(rows).hexdigest() != block.digest:
                break
            valid.append(block)
            rows_left -= block.rows
    return valid


def _is_finished(directory: Path, header: ImageStoreHeader) -> bool:
    values = directory / VALUES
    has_size = values.exists() and values.stat().st_size == header.count * header.row_bytes
    return has_size and sum(block.rows for block in _valid_blocks(directory, header)) == header.count


def _read_block_list(path: Path) -> Iterator[StoredBlock]:
    for line in path.read_bytes().split(b"\n"):
        try:
            yield decode_json(line, StoredBlock)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return


def _write_missing_blocks(
    directory: Path, header: ImageStoreHeader, compute: Callable[[range], NDArray[Any]], progress: Progress
) -> None:
    valid = _valid_blocks(directory, header)
    done = sum(block.rows for block in valid)
    with (directory / VALUES).open("ab") as file:
        file.truncate(done * header.row_bytes)
    listed, content = directory / BLOCKS, b"".join(_block_line(block) for block in valid)
    if not listed.exists() or listed.read_bytes() != content:
        listed.write_bytes(content)
    progress(done, header.count)
    for start in range(done, header.count, BLOCK_ROWS):
        rows = compute(range(start, min(start + BLOCK_ROWS, header.count)))
        content = rows.tobytes()
        # The list is written after the bytes, so every listed block is on the disk.
        _append_synced(directory / VALUES, content)
        _append_synced(directory / BLOCKS, _block_line(StoredBlock(len(rows), hashlib.sha256(content).hexdigest())))
        progress(start + len(rows), header.count)


def _progress_of_other_process(directory: Path, count: int, progress: Progress) -> Callable[[], None]:
    """A function that reports the progress of another process if it has changed."""
    reported = -1

    def report_progress() -> None:
        nonlocal reported
        with suppress(FileNotFoundError):  # nothing is written yet
            done = sum(block.rows for block in _read_block_list(directory / BLOCKS))
            if done > reported:
                reported = done
                progress(done, count)

    return report_progress


def _block_line(block: StoredBlock) -> bytes:
    return msgspec.json.encode(block) + b"\n"


def _append_synced(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

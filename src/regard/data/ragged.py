"""Rows of differing lengths, laid end to end in one file, with a second file that says where each row ends.

Written block by block and read through a memory map, so neither way holds more than a block.
"""

import hashlib
import mmap
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_OFFSET = np.dtype("<i8")
_BUFFER = 2**18  # bytes
_AT_ONCE = 2**22  # values that are compared: as many bytes are needed to note the result


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
        self._offsets.write(bytes(_OFFSET.itemsize))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._values.file, self._offsets.file:
            pass

    def extend(self, values: bytes, lengths: NDArray[np.integer]) -> None:
        """Add rows, given as the bytes of all their values and the number of values in each."""
        ends = self._end + np.cumsum(lengths, dtype=_OFFSET)
        self._end += len(values) // self._dtype.itemsize
        self._values.write(values)
        self._offsets.write(ends.tobytes())

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file, by its name."""
        return {Path(hashed.file.name).name: hashed.digest.hexdigest() for hashed in (self._values, self._offsets)}


class _HashedFile:
    """A file whose hash is taken as it is written, while the bytes are at hand."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb", buffering=_BUFFER)
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)


class RaggedRows:
    """The rows of a finished pair of files; all of them may be empty, as the sources of text in one language are."""

    def __init__(self, directory: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._files = [_map(directory / file) for file in ragged_files(name)]
        # Plain arrays: slicing numpy's memmap class is several times slower.
        self._values, self._offsets = (
            np.frombuffer(file, kind) for file, kind in zip(self._files, (dtype, _OFFSET), strict=True)
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

    def share_of(self, value: int) -> float:
        """How many of all values are this one, as a share."""
        starts = range(0, len(self._values), _AT_ONCE)
        found = sum(int((self._values[start : start + _AT_ONCE] == value).sum()) for start in starts)
        return found / max(1, len(self._values))

    def release(self) -> None:
        """Let go of the pages that were looked at: they stay in the system's cache, and count no more as ours."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for file in self._files:
                if isinstance(file, mmap.mmap):
                    file.madvise(mmap.MADV_DONTNEED)


def _map(path: Path) -> mmap.mmap | bytes:
    """The file's bytes; a file of none cannot be mapped."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""

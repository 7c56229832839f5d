"""Files that are read: regular files of bounded size, whatever a path leads to.

Someone else may have written the path or the file. A named pipe would block its reader, a device such as /dev/zero has
no end, and a sparse file of terabytes costs its author nothing. Each is an error before anything is read.
"""

import os
import stat
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from regard.errors import RegardError

MEBIBYTE = 1 << 20
MAX_LINKS = 40  # symbolic links in a row; Linux follows no more
READABLE_FILE = "Give the path of a readable file."
_KINDS = {  # in the style of the system's own reasons
    stat.S_IFDIR: "Is a directory",
    stat.S_IFIFO: "Is a named pipe",
    stat.S_IFSOCK: "Is a socket",
    stat.S_IFCHR: "Is a device",
    stat.S_IFBLK: "Is a device",
}


def open_input(path: Path, *, advice: str = READABLE_FILE) -> BufferedReader:
    """A regular file, opened for reading; anything else is an error at once.

    What this process has open already, as /dev/stdin or the <(...) of a shell, may be a pipe.
    """
    try:
        descriptor = own_descriptor(path)
        if descriptor is not None:
            return os.fdopen(os.dup(descriptor), "rb")
        _check_regular(os.stat(path), path, advice)  # before it is opened: opening can have effects on a device
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        file = os.fdopen(descriptor, "rb")
        _check_regular(os.fstat(descriptor), path, advice)  # another file may have its name by now
    except OSError as error:
        raise unreadable_error(path, error.strerror or str(error), advice) from None
    except ValueError:  # of a NUL or half of a surrogate pair, which no file name can have
        raise unreadable_error(Path(repr(str(path))), "no file can have this name", advice) from None
    return file


def read_input(path: Path, *, max_bytes: int, advice: str = READABLE_FILE) -> bytes:
    """The content of a regular file of at most `max_bytes` bytes."""
    with open_input(path, advice=advice) as file:
        check_size(os.fstat(file.fileno()).st_size, max_bytes, path, advice)
        content = file.read(max_bytes + 1)
    check_size(len(content), max_bytes, path, advice)
    return content


def check_size(size: int, max_bytes: int, path: Path, advice: str) -> None:
    """Refuse a file that is larger than allowed."""
    if size > max_bytes:
        raise unreadable_error(path, f"it has {size:,} bytes, and at most {max_bytes:,} are allowed", advice)


def unreadable_error(path: Path, reason: str, advice: str) -> RegardError:
    """The error for a file that cannot be read, with what to do."""
    return RegardError(f"{path} cannot be read: {reason}. {advice}")


def own_descriptor(path: Path) -> int | None:
    """The descriptor of this process that a path leads to, directly or through links; else None."""
    own = (f"/proc/{os.getpid()}/fd", "/dev/fd")
    for _ in range(MAX_LINKS):
        parent = os.path.realpath(path.parent)
        if parent in own and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            break
        path = Path(parent, path.readlink())
    return None


def _check_regular(status: os.stat_result, path: Path, advice: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise unreadable_error(path, _KINDS.get(stat.S_IFMT(status.st_mode), "Is not a regular file"), advice)


# --- safetensors -----------------------------------------------------------------------------------------------------

MAX_HEADER_BYTES = 16 * MEBIBYTE  # of more than a hundred thousand tensors
_LENGTH_BYTES = 8  # a file begins with the length of its header


class TensorInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]
    data_offsets: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]

    @property
    def is_float(self) -> bool:
        return "F" in self.dtype  # F16, BF16, F32, F64; not I64, U8, BOOL

    @property
    def numel(self) -> int:
        return prod(self.shape)


def read_tensor_header(file: BufferedReader, path: Path, advice: str) -> dict[str, TensorInfo]:
    """The tensors of a safetensors file by name, without their numbers; together they are as large as the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if not 0 < length <= min(MAX_HEADER_BYTES, size - _LENGTH_BYTES):
        raise unreadable_error(path, f"it is not a safetensors file: the header has {length:,} bytes", advice)
    try:
        header = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
        header.pop("__metadata__", None)
        tensors = {name: msgspec.json.decode(entry, type=TensorInfo) for name, entry in header.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable_error(path, f"the header of the safetensors file is damaged: {error}", advice) from None
    expected = _LENGTH_BYTES + length + sum(one.data_offsets[1] - one.data_offsets[0] for one in tensors.values())
    if size != expected:
        raise unreadable_error(path, f"it has {size:,} bytes, and its header describes {expected:,}", advice)
    return tensors

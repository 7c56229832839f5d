"""The header of a safetensors file: the names, types and shapes of its tensors, read and checked before the numbers."""

import os
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from regard.errors import RegardError
from regard.struct_decoding import decode_json

MAX_HEADER_BYTES = 16 << 20  # of more than a hundred thousand tensors
_LENGTH_BYTES = 8  # a file begins with the length of its header


def _damaged(path: Path, reason: str, advice: str) -> RegardError:
    return RegardError(f"{path} cannot be read: {reason}. {advice}")


class TensorInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]
    data_offsets: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]

    @property
    def is_float(self) -> bool:
        return self.dtype in ("F16", "BF16", "F32", "F64")  # torch does not compute with F8 and smaller ones

    @property
    def numel(self) -> int:
        return prod(self.shape)


def read_tensor_header(file: BufferedReader, path: Path, advice: str) -> dict[str, TensorInfo]:
    """The tensors of a safetensors file by name, without their numbers; together they are as large as the file."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if not 0 < length <= min(MAX_HEADER_BYTES, size - _LENGTH_BYTES):
        raise _damaged(path, f"it is not a safetensors file: the header has {length:,} bytes", advice)
    try:
        header = decode_json(file.read(length), dict[str, msgspec.Raw])
        header.pop("__metadata__", None)
        tensors = {name: decode_json(entry, TensorInfo) for name, entry in header.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(path, f"the header of the safetensors file is damaged: {error}", advice) from None
    expected = _LENGTH_BYTES + length + sum(one.data_offsets[1] - one.data_offsets[0] for one in tensors.values())
    if size != expected:
        raise _damaged(path, f"it has {size:,} bytes, and its header describes {expected:,}", advice)
    return tensors

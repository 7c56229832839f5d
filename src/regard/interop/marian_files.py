"""Marian's own checkpoints: `.npz`, as it trains them, and `.bin`, as Firefox and its engine Bergamot load them.

Both hold arrays by name and, as `special:model.yml`, the options of the model. A `.bin` is a header for each item, all
names, all shapes, padding to 256 bytes, and all data, each number little-endian. An int8 matrix is stored transposed,
except the embeddings, and is followed by the factor that its numbers were multiplied by.
"""

import io
import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.interop.foreign import MAX_MODEL_BYTES, ZIP_ERRORS, read_weights

Array = NDArray[np.float32]
Options = dict[str, str | list[str]]
OPTIONS_ITEM = "special:model.yml"
ACTIVATION_SCALE = "_QuantMultA"  # the factor of a layer's input, measured on text; weights do not need it
VERSION, ALIGNMENT = 1, 256
FLOAT16, FLOAT32, INT8, QUANTIZED_INT8, QUANTIZED_INT16 = 0x402, 0x404, 0x101, 0x4101, 0x4102  # types of an item
NUMBERS = {FLOAT16: "<f2", FLOAT32: "<f4", INT8: "i1", QUANTIZED_INT8: "i1", QUANTIZED_INT16: "<i2"}
MAX_ITEMS, MAX_RATIO = 100_000, 200  # a file of weights hardly shrinks


class MarianCheckpoint(NamedTuple):
    """The options and arrays of a model, matrices as Marian has them: inputs by outputs."""

    options: Options
    arrays: dict[str, Array]
    is_quantized: bool


class _Item(NamedTuple):
    name: str
    type: int
    shape: tuple[int, ...]
    content: bytes


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint of Marian, from its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(b"PK"):
        try:
            return f"{OPTIONS_ITEM}.npy" in zipfile.ZipFile(path).namelist()
        except ZIP_ERRORS:
            return False
    return len(start) == 16 and struct.unpack("<QQ", start)[0] == VERSION


def read_checkpoint(path: Path) -> MarianCheckpoint:
    """A checkpoint as float32."""
    content = read_weights(path)
    items = _read_npz(content, path) if content.startswith(b"PK") else _read_bin(content, path)
    options, arrays, is_quantized = None, dict[str, Array](), False
    for item in items:
        if item.name == OPTIONS_ITEM:
            options = parse_options(item.content.rstrip(b"\0").decode(errors="replace"))
        elif not item.name.endswith(ACTIVATION_SCALE) and not item.name.startswith("special:"):
            arrays[item.name] = _to_float32(item, path)
            is_quantized |= item.type in (QUANTIZED_INT8, QUANTIZED_INT16)
    if options is None:
        raise RegardError(f"{path} has no {OPTIONS_ITEM}, the options of the model. Get the file again.")
    return MarianCheckpoint(options, arrays, is_quantized)


def read_activation_scales(path: Path) -> dict[str, float]:
    """By the name of a matrix: the factor that Bergamot multiplies its input by before it rounds to int8."""
    items = (item for item in _read_bin(read_weights(path), path) if item.name.endswith(ACTIVATION_SCALE))
    return {item.name.removesuffix(ACTIVATION_SCALE): float(_to_float32(item, path).flat[0]) for item in items}


def parse_options(text: str) -> Options:
    """Marian's YAML, which has names with a value or a list of values and nothing deeper."""
    options: Options = {}
    name = ""
    for line in text.splitlines():
        entry = line.strip()
        if entry.startswith("- ") and isinstance(values := options.get(name), list):
            values.append(entry[2:].strip().strip("\"'"))
        elif ":" in entry and not line.startswith((" ", "#")):
            name, _, value = (part.strip() for part in entry.partition(":"))
            options[name] = [] if value in ("", "[]") else value.strip("\"'")
    return options


# --- .bin ------------------------------------------------------------------------------------------------------------


def _read_bin(content: bytes, path: Path) -> list[_Item]:
    """The items; every length is compared with the size of the file before it is used."""
    try:
        version, count = struct.unpack_from("<QQ", content)
        if version != VERSION or count > min(MAX_ITEMS, len(content) // 32):
            raise RegardError(f"{path} is not a checkpoint of Marian, or of another version than {VERSION}.")
        headers = [struct.unpack_from("<4Q", content, 16 + 32 * index) for index in range(count)]
        position = 16 + 32 * count
        names, shapes, items = [], [], []
        for length, *_ in headers:
            names.append(_part(content, position, length, path).rstrip(b"\0").decode(errors="replace"))
            position += length
        for _, _, dimensions, _ in headers:
            shapes.append(struct.unpack(f"<{dimensions}i", _part(content, position, 4 * dimensions, path)))
            position += 4 * dimensions
        position += 8 + struct.unpack_from("<Q", content, position)[0]
    except struct.error:
        raise _damaged(path) from None
    for (_, kind, _, length), name, shape in zip(headers, names, shapes, strict=True):
        items.append(_Item(name, kind, shape, _part(content, position, length, path)))
        position += length
    return items


def _part(content: bytes, position: int, length: int, path: Path) -> bytes:
    if position + length > len(content):
        raise _damaged(path)
    return content[position : position + length]


def _damaged(path: Path) -> RegardError:
    return RegardError(f"{path} is truncated or damaged. Get the file again.")


def _to_float32(item: _Item, path: Path) -> Array:
    if item.type not in NUMBERS:
        raise RegardError(
            f"{path}: {item.name} has numbers of type {item.type:#x}, which are packed for one kind of processor. "
            "Give the .npz that it was made from, or an intgemm8 file."
        )
    count, dtype = math.prod(item.shape), np.dtype(NUMBERS[item.type])
    is_quantized = item.type in (QUANTIZED_INT8, QUANTIZED_INT16)
    if min(item.shape, default=0) < 1 or count * dtype.itemsize + 4 * is_quantized > len(item.content):
        raise _damaged(path)
    values = np.frombuffer(item.content, dtype, count).astype(np.float32)
    if not is_quantized:
        return values.reshape(item.shape)
    values /= np.float32(struct.unpack_from("<f", item.content, count * dtype.itemsize)[0])
    is_transposed = "Wemb" not in item.name and len(item.shape) == 2
    return values.reshape(item.shape[::-1]).T if is_transposed else values.reshape(item.shape)


def quantize(name: str, array: Array) -> _Item:
    """A matrix as int8: each number times 127 over the largest one, rounded."""
    factor = np.float32(127.0) / max(np.abs(array).max(), np.float32(1e-9))
    rounded = np.clip(np.rint(array * factor), -127, 127).astype(np.int8)
    stored = rounded if "Wemb" in name else rounded.T
    content = stored.tobytes() + struct.pack("<f", factor)
    return _Item(name, QUANTIZED_INT8, array.shape, content + bytes(-len(content) % ALIGNMENT))


def write_bin(options: str, arrays: Mapping[str, Array], quantized: frozenset[str] = frozenset()) -> bytes:
    """A `.bin`; the arrays named in `quantized` as int8."""
    items = [
        quantize(name, array) if name in quantized else _Item(name, FLOAT32, array.shape, array.tobytes())
        for name, array in sorted(arrays.items())
    ]
    text = options.encode() + b"\0"
    items.append(_Item(OPTIONS_ITEM, INT8, (len(text),), text))
    head = struct.pack("<QQ", VERSION, len(items))
    for item in items:
        head += struct.pack("<4Q", len(item.name) + 1, item.type, len(item.shape), len(item.content))
    head += b"".join(item.name.encode() + b"\0" for item in items)
    head += b"".join(struct.pack(f"<{len(item.shape)}i", *item.shape) for item in items)
    offset = -(len(head) + 8) % ALIGNMENT
    return b"".join([head, struct.pack("<Q", offset), bytes(offset), *(item.content for item in items)])


# --- .npz ------------------------------------------------------------------------------------------------------------


def _read_npz(content: bytes, path: Path) -> list[_Item]:
    """The arrays of a zip archive, no larger than declared."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        infos = archive.infolist()
        is_bomb = any(info.file_size > MAX_RATIO * max(info.compress_size, 4096) for info in infos)
        if is_bomb or len(infos) > MAX_ITEMS or sum(info.file_size for info in infos) > MAX_MODEL_BYTES:
            raise RegardError(f"{path} would grow to many times its size. Do not trust its source.")
        return [_read_npy(info.filename.removesuffix(".npy"), archive.read(info), path) for info in infos]
    except ZIP_ERRORS as error:
        raise RegardError(f"{path} is truncated or damaged: {error}. Get the file again.") from None


def _read_npy(name: str, content: bytes, path: Path) -> _Item:
    file = io.BytesIO(content)
    read_header: Any = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(file)]
    shape, is_fortran, dtype = read_header(file)
    kinds = {"f4": FLOAT32, "f2": FLOAT16, "i1": INT8}
    if is_fortran or dtype.str[1:] not in kinds:
        raise RegardError(f"{path}: {name} is an array of {dtype}; supported: float32 and float16 in C order.")
    return _Item(name, kinds[dtype.str[1:]], tuple(shape) or (1,), content[file.tell() :])

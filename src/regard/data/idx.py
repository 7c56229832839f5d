"""IDX files, the format of MNIST and of data sets like it, to images in one folder for each class.

An IDX file is two zero bytes, the type of the values (8: bytes), the number of axes, their lengths as four bytes each,
the most significant first, and the values.
"""

from collections import Counter
from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.images import MAX_PIXELS, encode_png
from regard.data.text_lines import read_chunks
from regard.errors import RegardError
from regard.files import atomic_directory
from regard.struct_decoding import shorten

MAX_IDX_BYTES = 2**31  # thirty times MNIST
MAX_AXES = 4
BYTES = 8  # the type of the values; the others are wider numbers, which no set of images uses
CHUNK_BYTES = 2**20


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of an IDX file of bytes; .gz too."""
    content = bytearray()
    for piece in read_chunks(path, lambda file: file.read(CHUNK_BYTES)):
        content += piece
        shape = _read_shape(path, content)
        if len(content) > min(MAX_IDX_BYTES, 4 + 4 * len(shape) + prod(shape)):
            break
    shape = _read_shape(path, content)
    values, sizes = np.frombuffer(content, np.uint8)[4 + 4 * len(shape) :], " x ".join(f"{one:,}" for one in shape)
    if len(content) > MAX_IDX_BYTES:
        raise RegardError(f"{path} has more than {MAX_IDX_BYTES:,} bytes. Give a smaller file.")
    if len(values) != prod(shape):
        found = "more" if len(values) > prod(shape) else f"{len(values):,}"
        raise RegardError(f"{path} should have {sizes} values, and has {found}. Copy the file again.")
    return values.reshape(shape)


def _read_shape(path: Path, content: bytearray) -> list[int]:
    axes = content[3] if len(content) > 3 else 0
    if content[:3] != bytes([0, 0, BYTES]) or not 1 <= axes <= MAX_AXES:
        raise RegardError(f"{path} is not an IDX file of bytes, as those of MNIST are. Give such a file, or its .gz.")
    return [int.from_bytes(content[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(axes)]


def extract_idx_images(images: Path, labels: Path, out: Path, *, names: Sequence[str] = ()) -> dict[str, int]:
    """Write every image as a PNG file into the folder of its class, and return the number of images of each class.

    A class has the name at its number, or else the number.
    """
    _check_class_names(names)
    pixels, classes = _read_images_and_classes(images, labels)
    most = max(classes)
    if names and most >= len(names):
        raise RegardError(f"{labels} has the class {most}, and there are {len(names)} names. Name every class from 0.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RegardError(f"{out} exists and is not an empty directory. Choose another one with --out.")
    names = names or [str(number) for number in range(most + 1)]
    with atomic_directory(out) as staging:
        for number in set(classes):
            (staging / names[number]).mkdir()
        for row, (image, number) in enumerate(zip(pixels, classes, strict=True)):
            (staging / names[number] / f"{row:05}.png").write_bytes(encode_png(image))
    return {names[number]: count for number, count in sorted(Counter(classes).items())}


def _read_images_and_classes(images: Path, labels: Path) -> tuple[NDArray[np.uint8], list[int]]:
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim not in (3, 4) or classes.ndim != 1 or len(pixels) != len(classes) or not len(classes):
        found = f"arrays of {pixels.shape} and {classes.shape}"
        raise RegardError(f"{images} and {labels} have {found}. Give a file of images, then the file of their labels.")
    rows, columns, *channels = pixels.shape[1:]
    if channels not in ([], [3]) or not 0 < rows * columns <= MAX_PIXELS:
        size = " x ".join(f"{length:,}" for length in pixels.shape[1:])
        raise RegardError(
            f"{images} has images of {size} values; allowed are rows x columns, or rows x columns x 3, with at most "
            f"{MAX_PIXELS:,} pixels."
        )
    return pixels, classes.tolist()


def _check_class_names(names: Sequence[str]) -> None:
    """Names of classes become names of folders: each must be a plain one, and no two may be equal."""
    for name in names:
        if not name.strip() or name.startswith(".") or set(name) & set("/\\\0"):
            raise RegardError(f"{shorten(name)} cannot be the name of a folder. Use letters, digits and hyphens.")
    if len({name.casefold() for name in names}) < len(names):
        raise RegardError(f"two of the classes have the same name: {', '.join(names)}. Name each differently.")

"""The header of a GGUF file, checked before the `gguf` package reads it: that trusts every length in it.

After the magic and the version come the numbers of tensors and values; then each value with its name and type, and each
tensor with its name, dimensions, type and place. A text or an array has its length before it.
"""

import math
import os
import struct
from io import BufferedReader
from pathlib import Path

from regard.errors import RegardError
from regard.files import open_input

ADVICE = "Get the file again."
MAGIC_AND_VERSION = 8  # bytes
STRING, ARRAY = 8, 9
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
MAX_DIMENSIONS, NUMBERS_PER_BYTE = 4, 8  # of a tensor; no quantisation has more numbers in a byte


def check_gguf_header(path: Path) -> None:
    """Refuse a header that names more than the file can have."""
    with open_input(path, advice=ADVICE) as file:
        _Header(file, path).check()


class _Header:
    """Moves through a header; every step is compared with the size of the file."""

    def __init__(self, file: BufferedReader, path: Path) -> None:
        self.file, self.path, self.size = file, path, os.fstat(file.fileno()).st_size

    def check(self) -> None:
        self.skip(MAGIC_AND_VERSION)
        tensors, values = self.number("Q"), self.number("Q")
        for _ in range(values):
            self.skip(self.number("Q"))
            self.skip_value(self.number("I"))
        for _ in range(tensors):
            self.skip_tensor()

    def skip_value(self, kind: int) -> None:
        if kind in WIDTHS:
            self.skip(WIDTHS[kind])
        elif kind == STRING:
            self.skip(self.number("Q"))
        elif kind == ARRAY and (element := self.number("I")) in WIDTHS:
            self.skip(self.number("Q") * WIDTHS[element])
        elif kind == ARRAY and element == STRING:
            for _ in range(self.number("Q")):  # each begins with its length, so the end of the file ends this
                self.skip(self.number("Q"))
        else:
            raise self.damaged(f"a value has the type {element if kind == ARRAY else kind}")

    def skip_tensor(self) -> None:
        self.skip(self.number("Q"))
        dimensions = self.number("I")
        if dimensions > MAX_DIMENSIONS:
            raise self.damaged(f"a tensor has {dimensions:,} dimensions")
        shape = [self.number("Q") for _ in range(dimensions)]
        if math.prod(shape) > NUMBERS_PER_BYTE * self.size:
            raise self.damaged(f"a tensor has the shape {shape}")
        self.number("I")  # type
        if self.number("Q") > self.size:
            raise self.damaged("a tensor lies behind its end")

    def number(self, kind: str) -> int:
        content = self.file.read(struct.calcsize(kind))
        if len(content) < struct.calcsize(kind):
            raise self.damaged("the header is truncated")
        value: int = struct.unpack(f"<{kind}", content)[0]
        return value

    def skip(self, length: int) -> None:
        if length > self.size - self.file.tell():
            raise self.damaged(f"its header names {length:,} bytes more than it has")
        self.file.seek(length, os.SEEK_CUR)

    def damaged(self, reason: str) -> RegardError:
        return RegardError(f"{self.path} is truncated or damaged: {reason}. {ADVICE}")

"""Bytes to lines: the only module that opens, decompresses, splits and decodes text files.

A line ends at a newline and nowhere else. Python's text files also end lines at a lone carriage return, and
`str.splitlines` at eight more characters; with either, two parallel files could lose their alignment.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from regard.errors import RegardError
from regard.files import READABLE_FILE, open_input, unreadable_error

MAX_LINE_BYTES = 16 * 2**20  # a file without newlines must not fill the memory
STREAM_BLOCK_BYTES = 2**16  # read at once from a pipe: its capacity
FILE_BLOCK_BYTES = 2**17  # read at once from a file: a block is searched several times and should fit the cache
MAX_COMPRESSION_RATIO = 200  # gzip makes text 3 times smaller, tables 30 times; zeros, or one line, 1,000 times
MIN_BOMB_BYTES = 16 * 2**20  # less than this is harmless
MAX_BYTES_SEARCHED, MIN_UTF16_CHARACTERS = 1_000, 4  # of the first line, for signs of UTF-16
STANDARD_INPUT = "-"
NEWLINE = ord("\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OFFICE_FILES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .docx, .xlsx and archives begin, and .doc and .xls


class LineRange(NamedTuple):
    """Consecutive whole lines of an uncompressed file."""

    path: Path
    done: int  # lines before them
    start: int  # in bytes
    stop: int


def read_lines(path: Path | str) -> Iterator[str]:
    """Every line of a text file, or of standard input for `-`; a last line without a newline is a line too."""
    for _, line in numbered_lines(Path(path)):
        yield line


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line with its number, from one; the byte order mark of the first line is not part of it."""
    return enumerate(chain.from_iterable(stream_lines(path, block_bytes=FILE_BLOCK_BYTES)), start=1)


def stream_lines(path: Path, *, block_bytes: int = STREAM_BLOCK_BYTES) -> Iterator[list[str]]:
    """The lines of a pipe or a terminal as they arrive, so that a line does not wait for later ones."""
    return (block.decode("utf-8").split("\n") for block in line_blocks(path, block_bytes=block_bytes))


def line_blocks(path: Path, *, block_bytes: int = FILE_BLOCK_BYTES) -> Iterator[bytes]:
    """The lines, many at a time: valid UTF-8 with newlines between the lines and none at the end.

    Lines before an invalid one are yielded before the error is raised.
    """
    number, partial_line = 1, b""
    for piece in read_chunks(path, lambda file: file.read1(block_bytes)):
        complete, newline, rest = piece.rpartition(b"\n")
        if newline:
            yield from _check_block(partial_line + complete, path, number)
            number, partial_line = number + count_newlines(complete) + 1, rest
        else:
            partial_line += piece
        if len(partial_line) > MAX_LINE_BYTES:
            break
    if partial_line and (number, partial_line) != (1, _BYTE_ORDER_MARK):
        yield from _check_block(partial_line, path, number)


def split_lines(path: Path, lines: int, *, done: int = 0) -> Iterator[LineRange]:
    """The parts of an uncompressed file with this number of lines each, after the lines that are done."""
    number, start, offset = 0, 0, 0
    for piece in read_chunks(path, lambda file: file.read(FILE_BLOCK_BYTES)):
        for position in np.flatnonzero(np.frombuffer(piece, np.uint8) == NEWLINE).tolist():
            number += 1
            if number == done:
                start = offset + position + 1
            elif number > done and (number - done) % lines == 0:
                yield LineRange(path, number - lines, start, offset + position + 1)
                start = offset + position + 1
        offset += len(piece)
    if number >= done and offset > start:
        yield LineRange(path, done + (number - done) // lines * lines, start, offset)


def lines_between(part: LineRange) -> list[str]:
    """The lines of a part of a file."""
    try:
        with part.path.open("rb") as file:
            file.seek(part.start)
            content = file.read(part.stop - part.start)
    except OSError as error:
        raise RegardError(f"{part.path} cannot be read: {error.strerror}. Give a readable file.") from None
    if (part.done, content) == (0, _BYTE_ORDER_MARK):
        return []
    blocks = _check_block(content.removesuffix(b"\n"), part.path, part.done + 1)
    return [line for block in blocks for line in block.decode("utf-8").split("\n")]


def read_chunks(path: Path, read: Callable[[BufferedIOBase], bytes]) -> Iterator[bytes]:
    """What `read` returns for the file, decompressed if it ends in .gz, until it returns nothing."""
    newlines = size = 0
    try:
        with _open_text(path) as (file, compressed):
            while piece := read(file):
                size += len(piece)
                if compressed and size > MIN_BOMB_BYTES and size > MAX_COMPRESSION_RATIO * compressed.tell():
                    ratio = f"{size // compressed.tell()} times as much data as the file has"
                    raise error_at(path, newlines + 1, f"gzip data expands to {ratio}. Decompress it, and check it.")
                newlines += count_newlines(piece)
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise error_at(path, newlines + 1, f"broken gzip data ({error}). Copy or compress the file again.") from None
    except OSError as error:
        raise unreadable_error(Path(display_name(path)), error.strerror or str(error), READABLE_FILE) from None


def count_newlines(block: bytes) -> int:
    """The number of newlines; `bytes.count` takes eight times as long."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))


def error_at(path: Path, line: int, problem: str) -> RegardError:
    """An error that names the file and the line."""
    return RegardError(f"{display_name(path)}:{line}: {problem}")


def empty_file_error(path: Path, wanted: str = "sentence pairs") -> RegardError:
    """The error for a file without content."""
    return RegardError(f"{display_name(path)} is empty. Give a file that contains {wanted}.")


def display_name(path: Path) -> str:
    """The name of the file in error messages."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


@contextmanager
def _open_text(path: Path) -> Iterator[tuple[BufferedIOBase, BufferedReader | None]]:
    """The bytes of a text file, and the compressed file that they come from, if there is one."""
    if str(path) == STANDARD_INPUT:
        yield cast(BufferedIOBase, sys.stdin.buffer), None
        return
    with open_input(path) as file:
        if path.suffix.lower() == ".gz":
            yield gzip.GzipFile(fileobj=file), file
        else:
            yield file, None


def _check_block(block: bytes, path: Path, first: int) -> Iterator[bytes]:
    """The lines without the byte order mark and without carriage returns at their ends."""
    if first == 1:
        block = block.removeprefix(_BYTE_ORDER_MARK)
        if block.startswith(_OFFICE_FILES):
            raise error_at(path, 1, "a document or an archive, not text. Save it as plain text in UTF-8.")
        if _is_utf16(block[:MAX_BYTES_SEARCHED].partition(b"\n")[0]):
            raise error_at(path, 1, "UTF-16: every second byte is NUL. Save the file as UTF-8.")
    if _line_problem(block):  # of one of its lines, or the block is longer than a line may be
        lines = block.split(b"\n")
        for index, line in enumerate(lines):
            if problem := _line_problem(line):
                if index:
                    yield b"\n".join(lines[:index]).replace(b"\r\n", b"\n").removesuffix(b"\r")
                raise error_at(path, first + index, problem)
    yield block.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in block else block


def _is_utf16(line: bytes) -> bool:
    """Whether a line is UTF-16 without a mark: that of Latin letters is valid UTF-8, with a NUL beside each letter."""
    halves = line[::2], line[1::2]
    nuls = sorted(half.count(0) / max(1, len(half)) for half in halves)
    return len(line) >= 2 * MIN_UTF16_CHARACTERS and nuls == [0, 1]


def _line_problem(line: bytes) -> str | None:
    if len(line) > MAX_LINE_BYTES:
        return f"the line is longer than {MAX_LINE_BYTES:,} bytes. Break it into sentences."
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} (0x{line[error.start]:02x})"
        return f"{byte} is not UTF-8. Save the file as UTF-8, or fix the line."
    return None

"""Bytes to lines: the one place that opens a text file, unpacks it, splits it and decodes it.

A line ends at a newline and nowhere else. Python's text files also end one at a lone carriage return, and
`str.splitlines` at eight characters more; with either, two files of equal length could fall out of step.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np

from regard.errors import RegardError

LONGEST_LINE = 16 * 2**20  # bytes; a file without newlines must not fill the memory
ARRIVING = 2**16  # bytes taken at once from a pipe: as many as it holds
BLOCK = 2**17  # bytes taken at once from a file: what is read and searched several times should stay in the cache
STANDARD_INPUT = "-"
NEWLINE = ord("\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path | str) -> Iterator[str]:
    """Every line of a text file, or of standard input for `-`; a last line without a newline is a line too."""
    for _, line in numbered_lines(Path(path)):
        yield line


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line with its number, from one; the byte order mark of the first line is not part of it."""
    return enumerate(chain.from_iterable(arriving_lines(path, at_once=BLOCK)), start=1)


def arriving_lines(path: Path, *, at_once: int = ARRIVING) -> Iterator[list[str]]:
    """The lines of a pipe or a terminal, as many at a time as have come; so a lone line need not wait for others."""
    return (block.decode("utf-8").split("\n") for block in line_blocks(path, at_once=at_once))


def line_blocks(path: Path, *, at_once: int = BLOCK) -> Iterator[bytes]:
    """The lines, many at a time: UTF-8 that has been checked, a newline between two lines and none at the end.

    Lines before a bad one are handed on before it is told of.
    """
    number, pending = 1, b""
    for piece in read_pieces(path, lambda file: file.read1(at_once)):
        complete, newline, rest = piece.rpartition(b"\n")
        if newline:
            yield from _checked(pending + complete, path, number)
            number, pending = number + count_newlines(complete) + 1, rest
        else:
            pending += piece
        if len(pending) > LONGEST_LINE:
            break
    if pending and (number, pending) != (1, _BYTE_ORDER_MARK):
        yield from _checked(pending, path, number)


def read_pieces(path: Path, read: Callable[[BufferedIOBase], bytes]) -> Iterator[bytes]:
    """What `read` takes from the file, unpacked if it ends in .gz, until it takes nothing."""
    newlines = 0
    try:
        with _open(path) as file:
            while piece := read(file):
                newlines += count_newlines(piece)
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise error_at(path, newlines + 1, f"broken gzip data ({error}). Copy or pack the file again.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise RegardError(f"{name_of(path)} cannot be read: {reason}. Give the path of a readable file.") from None


def count_newlines(block: bytes) -> int:
    """How many there are; `bytes.count` takes eight times as long."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == NEWLINE))


def error_at(path: Path, line: int, problem: str) -> RegardError:
    """An error that names the file and the line."""
    return RegardError(f"{name_of(path)}:{line}: {problem}")


def empty(path: Path, wanted: str = "sentence pairs") -> RegardError:
    """The error for a file that holds nothing."""
    return RegardError(f"{name_of(path)} is empty. Give a file that holds {wanted}.")


def name_of(path: Path) -> str:
    """How errors call the file."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def _open(path: Path) -> AbstractContextManager[BufferedIOBase]:
    if str(path) == STANDARD_INPUT:
        return nullcontext(cast(BufferedIOBase, sys.stdin.buffer))
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    return path.open("rb")


def _checked(block: bytes, path: Path, first: int) -> Iterator[bytes]:
    """Lines as they were written, without the mark before the first one and the carriage returns at their ends."""
    if first == 1:
        block = block.removeprefix(_BYTE_ORDER_MARK)
    if len(block) <= LONGEST_LINE and _is_utf8(block):
        yield _without_returns(block) if b"\r" in block else block
    else:
        yield from _up_to_a_bad_line(block.split(b"\n"), path, first)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _without_returns(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n").removesuffix(b"\r")


def _up_to_a_bad_line(lines: list[bytes], path: Path, first: int) -> Iterator[bytes]:
    for index, line in enumerate(lines):
        if problem := _problem(line):
            if index:
                yield _without_returns(b"\n".join(lines[:index]))
            raise error_at(path, first + index, problem)
    yield _without_returns(b"\n".join(lines))


def _problem(line: bytes) -> str | None:
    if len(line) > LONGEST_LINE:
        return f"the line is longer than {LONGEST_LINE:,} bytes. Break it into sentences."
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} (0x{line[error.start]:02x})"
        return f"{byte} is not UTF-8. Save the file as UTF-8, or mend the line."
    return None

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
from itertools import chain, zip_longest
from pathlib import Path
from typing import cast

from regard.data.readers.pair import Pair
from regard.errors import RegardError

LONGEST_LINE = 16 * 2**20  # bytes; a file without newlines must not fill the memory
ARRIVING = 2**16  # bytes taken at once from a pipe: as many as it holds
BLOCK = 2**20  # bytes taken at once from a file
STANDARD_INPUT = "-"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path | str) -> Iterator[str]:
    """Every line of a text file, or of standard input for `-`; a last line without a newline is a line too."""
    for _, line in numbered_lines(Path(path)):
        yield line


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Line n of the source with line n of the target; unequal counts are an error."""
    sources, targets = numbered_lines(source), numbered_lines(target)
    number = 0
    for number, (left, right) in enumerate(zip_longest(sources, targets), start=1):
        if left is None:
            raise _unequal((target, number + _count(targets)), (source, number - 1))
        if right is None:
            raise _unequal((source, number + _count(sources)), (target, number - 1))
        yield Pair(left[1], right[1], number)
    if number == 0:
        raise empty(source)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Every line with its number, from one; the byte order mark of the first line is not part of it."""
    return enumerate(chain.from_iterable(arriving_lines(path, at_once=BLOCK)), start=1)


def arriving_lines(path: Path, *, at_once: int = ARRIVING) -> Iterator[list[str]]:
    """The lines of a pipe or a terminal, as many at a time as have come; so a lone line need not wait for others."""
    number, pending = 1, b""
    for piece in read_pieces(path, lambda file: file.read1(at_once)):
        complete, newline, rest = piece.rpartition(b"\n")
        if newline:
            yield from _decoded(pending + complete, path, number)
            number, pending = number + complete.count(b"\n") + 1, rest
        else:
            pending += piece
        if len(pending) > LONGEST_LINE:
            break
    if pending and (number, pending) != (1, _BYTE_ORDER_MARK):
        yield [decode_line(pending, path, number)]


def decode_line(raw: bytes, path: Path, number: int) -> str:
    """The text of a line without its end; the byte order mark of the first line is not part of it."""
    if len(raw) > LONGEST_LINE:
        raise error_at(path, number, f"the line is longer than {LONGEST_LINE:,} bytes. Break it into sentences.")
    if number == 1:
        raw = raw.removeprefix(_BYTE_ORDER_MARK)
    return _decode(raw, path, number)


def read_pieces(path: Path, read: Callable[[BufferedIOBase], bytes]) -> Iterator[bytes]:
    """What `read` takes from the file, unpacked if it ends in .gz, until it takes nothing."""
    newlines = 0
    try:
        with _open(path) as file:
            while piece := read(file):
                newlines += piece.count(b"\n")
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise error_at(path, newlines + 1, f"broken gzip data ({error}). Copy or pack the file again.") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise RegardError(f"{name_of(path)} cannot be read: {reason}. Give the path of a readable file.") from None


def error_at(path: Path, line: int, problem: str) -> RegardError:
    """An error that names the file and the line."""
    return RegardError(f"{name_of(path)}:{line}: {problem}")


def empty(path: Path) -> RegardError:
    """The error for a file of pairs that holds nothing."""
    return RegardError(f"{name_of(path)} is empty. Give a file that holds sentence pairs.")


def name_of(path: Path) -> str:
    """How errors call the file."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def _open(path: Path) -> AbstractContextManager[BufferedIOBase]:
    if str(path) == STANDARD_INPUT:
        return nullcontext(cast(BufferedIOBase, sys.stdin.buffer))
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    return path.open("rb")


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} (0x{raw[error.start]:02x})"
        raise error_at(path, number, f"{byte} is not UTF-8. Save the file as UTF-8, or mend the line.") from None


def _decoded(block: bytes, path: Path, first: int) -> Iterator[list[str]]:
    """The lines of a block in one list; those before a bad one are handed on before it is told of."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text or first == 1 or len(block) > LONGEST_LINE:  # the first line may have a mark before it
        yield from _up_to_an_error(block.split(b"\n"), path, first)
    else:
        lines = text.split("\n")
        yield [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _up_to_an_error(raws: list[bytes], path: Path, first: int) -> Iterator[list[str]]:
    """The lines in one list; those before a bad one are handed on before it is told of."""
    good: list[str] = []
    try:
        for number, raw in enumerate(raws, start=first):
            good.append(decode_line(raw, path, number))
    except RegardError:
        yield good
        raise
    yield good


def _count(lines: Iterator[object]) -> int:
    return sum(1 for _ in lines)


def _unequal(longer: tuple[Path, int], shorter: tuple[Path, int]) -> RegardError:
    return RegardError(
        f"{longer[0]} has {longer[1]:,} lines and {shorter[0]} has {shorter[1]:,}; "
        f"{longer[0]}:{shorter[1] + 1} has no partner. Line n of one must translate line n of the other."
    )

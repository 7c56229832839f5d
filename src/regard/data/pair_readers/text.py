"""Pairs and blocks of pairs, which all readers of training data yield, and the readers of plain text, TSV and JSONL.

Parallel text stays bytes and is split by the thousand lines: the reader must not slow down the processes that wait for
it. Monolingual text becomes pairs whose source is empty.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from regard.data.text_lines import NEWLINE, count_newlines, empty_file_error, error_at, line_blocks, numbered_lines
from regard.errors import RegardError
from regard.struct_decoding import decode_json

MAX_BLOCK_PAIRS = 4_000  # several blocks, with copies, are in memory at once
MAX_SIDE_BYTES = 2**21  # lines may be long; the last line of a block may exceed it


class Pair(NamedTuple):
    """A sentence and its translation, each one line of text, and the line number where the pair starts."""

    source: str
    target: str
    line: int

    def has_text(self, *, monolingual: bool = False) -> bool:
        """Whether neither side is blank; in monolingual text only the target counts."""
        return bool(self.target.strip()) and (monolingual or bool(self.source.strip()))


class PairBlock(NamedTuple):
    """At least one pair: each side as lines of UTF-8 with newlines between them, ready to send to a process."""

    sources: bytes
    targets: bytes
    corpus: int = 0  # its number, if there are several

    def texts(self) -> tuple[list[str], list[str]]:
        """The lines of both sides."""
        return self.sources.decode("utf-8").split("\n"), self.targets.decode("utf-8").split("\n")


def pair_blocks(pairs: Iterable[Pair]) -> Iterator[PairBlock]:
    """The pairs in blocks of at most MAX_BLOCK_PAIRS pairs and about MAX_SIDE_BYTES bytes."""
    sources: list[bytes] = []
    targets: list[bytes] = []
    size = 0
    for source, target, _ in pairs:
        sources.append(source.encode("utf-8"))
        targets.append(target.encode("utf-8"))
        size += max(len(sources[-1]), len(targets[-1]))
        if len(sources) == MAX_BLOCK_PAIRS or size >= MAX_SIDE_BYTES:
            yield PairBlock(b"\n".join(sources), b"\n".join(targets))
            sources, targets, size = [], [], 0
    if sources:
        yield PairBlock(b"\n".join(sources), b"\n".join(targets))


def join_lines(text: str) -> str:
    """The text with newlines, and the white space around them, replaced by single spaces."""
    if "\n" not in text:
        return text
    return " ".join(part for piece in text.split("\n") if (part := piece.strip()))


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Line n of the source with line n of the target; unequal counts are an error."""
    number = 0
    for block in parallel_blocks(source, target):
        for left, right in zip(*block.texts(), strict=True):
            number += 1
            yield Pair(left, right, number)


def parallel_blocks(source: Path, target: Path) -> Iterator[PairBlock]:
    """The pairs of `read_parallel`, many at a time."""
    left, right = _ParallelSide(source), _ParallelSide(target)
    done = 0
    while count := min(left.fill(), right.fill()):
        yield PairBlock(left.take(count), right.take(count))
        done += count
    left.raise_if_broken()
    right.raise_if_broken()
    if left.waiting:
        raise _unequal_lines_error((source, done + left.count()), (target, done))
    if right.waiting:
        raise _unequal_lines_error((target, done + right.count()), (source, done))
    if not done:
        raise empty_file_error(source)


class _ParallelSide:
    """One of two parallel files: the lines that have been read but not yet paired, and the lines still to read."""

    def __init__(self, path: Path) -> None:
        self._blocks = line_blocks(path)
        self._failure: RegardError | None = None
        self._text = b""
        self._ends = np.zeros(0, np.int64)  # the end of each line of the text

    @property
    def waiting(self) -> int:
        return len(self._ends)

    def fill(self) -> int:
        """Read enough lines for a block, if there are as many; returns how many lines are available for it."""
        texts = [self._text] if self.waiting else []
        count, size = self.waiting, len(self._text)
        while count < MAX_BLOCK_PAIRS and size < MAX_SIDE_BYTES and (text := self._next()) is not None:
            texts.append(text)
            count, size = count + count_newlines(text) + 1, size + len(text)
        if count > self.waiting:
            self._text = b"\n".join(texts)
            newlines = np.flatnonzero(np.frombuffer(self._text, np.uint8) == NEWLINE)
            self._ends = np.append(newlines, len(self._text))
        return min(count, MAX_BLOCK_PAIRS)

    def take(self, count: int) -> bytes:
        """The next lines, with newlines between them."""
        end = int(self._ends[count - 1])
        lines, self._text = self._text[:end], self._text[end + 1 :]
        self._ends = self._ends[count:] - (end + 1)
        return lines

    def count(self) -> int:
        """How many lines are left in the file."""
        count = self.waiting
        while (text := self._next()) is not None:
            count += count_newlines(text) + 1
        self._ends = self._ends[:0]
        self.raise_if_broken()
        return count

    def raise_if_broken(self) -> None:
        """Raise the error of an invalid line after the lines before it are used."""
        if self._failure and not self.waiting:
            raise self._failure

    def _next(self) -> bytes | None:
        try:
            return next(self._blocks, None)
        except RegardError as failure:
            self._failure = failure
            return None


def _unequal_lines_error(longer: tuple[Path, int], shorter: tuple[Path, int]) -> RegardError:
    return RegardError(
        f"{longer[0]} has {longer[1]:,} lines and {shorter[0]} has {shorter[1]:,}; "
        f"{longer[0]}:{shorter[1] + 1} has no counterpart. Line n of one must translate line n of the other."
    )


def read_monolingual(paths: Sequence[Path | str]) -> Iterator[Pair]:
    """Every line of the files, one file after the other, as a pair with an empty source."""
    for path in map(Path, paths):
        count = 0
        for count, line in numbered_lines(path):
            yield Pair("", line, count)
        if not count:
            raise empty_file_error(path, "lines of text")


def monolingual_blocks(paths: Sequence[Path | str]) -> Iterator[PairBlock]:
    """The pairs of `read_monolingual`, many at a time."""
    for path in map(Path, paths):
        is_empty = True
        for lines in line_blocks(path):
            is_empty = False
            yield PairBlock(b"\n" * count_newlines(lines), lines)
        if is_empty:
            raise empty_file_error(path, "lines of text")


def read_tsv(path: Path) -> Iterator[Pair]:
    """Every `source TAB target` line; a blank line is a blank pair, which a filter counts."""
    number = 0
    for number, line in numbered_lines(path):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) != 2:
            problem = f"expected a source, one tab and a target, got {len(columns)} column(s)"
            raise error_at(path, number, f"{problem}. Keep two columns, for example with `cut -f 1,2`.")
        yield Pair(columns[0], columns[1], number)
    if number == 0:
        raise empty_file_error(path)


def read_jsonl(path: Path, *, names: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    """One pair from each JSON object, under the first (source, target) names that it has, itself or in `translation`.

    A blank line is a blank pair, which a filter counts.
    """
    number = 0
    for number, line in numbered_lines(path):
        source, target = _texts_of_record(line, path, number, names) if line.strip() else ("", "")
        yield Pair(join_lines(source), join_lines(target), number)
    if number == 0:
        raise empty_file_error(path)


def _texts_of_record(line: str, path: Path, number: int, names: Sequence[tuple[str, str]]) -> tuple[str, str]:
    try:
        record = decode_json(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise error_at(path, number, f"not JSON: {error}. Write one JSON object on each line.") from None
    record = record.get("translation", record) if isinstance(record, dict) else record
    if not isinstance(record, dict):
        raise error_at(path, number, f"expected a JSON object, got {_json_type(record)}.")
    for source, target in names:
        if source in record and target in record:
            return _text_of_key(record, source, path, number), _text_of_key(record, target, path, number)
    wanted = " or ".join(f"{source!r} and {target!r}" for source, target in names)
    keys = ", ".join(repr(key[:40]) for key in list(record)[:8]) + (", ..." if len(record) > 8 else "")
    raise error_at(path, number, f"the object has no {wanted}; its keys are {keys}. Rename the keys.")


def _text_of_key(record: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise error_at(path, number, f"{key!r} must be text, got {_json_type(value)}.")
    return value


def _json_type(value: object) -> str:
    """The JSON name of a value's type; the value itself may be too long to show."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")

"""Lines of plain text in one language: each is the target of a pair whose source is empty."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.readers.lines import count_newlines, empty, line_blocks, numbered_lines
from regard.data.readers.pair import Pair, PairBlock


def read_texts(paths: Sequence[Path | str]) -> Iterator[Pair]:
    """Every line of the files, one file after the other."""
    for path in map(Path, paths):
        count = 0
        for count, line in numbered_lines(path):
            yield Pair("", line, count)
        if not count:
            raise empty(path, "lines of text")


def text_blocks(paths: Sequence[Path | str]) -> Iterator[PairBlock]:
    """The same in blocks of lines."""
    for path in map(Path, paths):
        is_empty = True
        for lines in line_blocks(path):
            is_empty = False
            yield PairBlock(b"\n" * count_newlines(lines), lines)
        if is_empty:
            raise empty(path, "lines of text")

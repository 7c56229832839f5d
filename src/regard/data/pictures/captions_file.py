"""Captions as lines of text: `picture TAB caption`, as Flickr8k has them, or columns with an `image,caption` header."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from regard.data.pictures.captioned import Described
from regard.data.readers.lines import error_at, numbered_lines
from regard.errors import RegardError

_NUMBER = re.compile(r"#\d+$")  # Flickr8k.token.txt numbers the captions of a picture: dog.jpg#0, dog.jpg#1


def read_captions_file(path: Path) -> Iterator[Described]:
    """Every caption of a text file, whichever of the two forms it has; blank lines are passed over."""
    lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
    first = next(lines, None)
    if first is None:
        raise RegardError(f"{path} is empty. Give a file with a picture, a tab and a caption on each line.")
    header = _header(first[1])
    if {"image", "caption"} <= set(header):
        yield from _columns(path, header)
        return
    yield _tabbed(path, *first)
    for number, line in lines:
        yield _tabbed(path, number, line)


def read_names(path: Path) -> list[str]:
    """The pictures of a split, one name on each line."""
    names = [line.strip() for _, line in numbered_lines(path) if line.strip()]
    if not names:
        raise RegardError(f"{path} is empty. Give a file with the name of a picture on each line.")
    return list(dict.fromkeys(names))


def _header(line: str) -> list[str]:
    """The columns of a line in lower case: their names, where it is a header."""
    try:
        [columns] = csv.reader([line])
    except csv.Error:
        return []  # a caption may be longer than a column can be
    return [column.strip().lower() for column in columns]


def _tabbed(path: Path, number: int, line: str) -> Described:
    columns = line.split("\t")
    if len(columns) != 2:
        problem = f"expected a picture, one tab and a caption, got {len(columns)} column(s)"
        raise error_at(path, number, f"{problem}. Write them so, or begin the file with the line image,caption.")
    return _described(path, number, _NUMBER.sub("", columns[0].strip()), columns[1])


def _columns(path: Path, header: list[str]) -> Iterator[Described]:
    picture, caption = header.index("image"), header.index("caption")
    rows = csv.reader((f"{line}\n" for _, line in numbered_lines(path)), strict=True)
    try:
        next(row for row in rows if "".join(row).strip())  # the header, which blank lines may precede
        for row in rows:
            if len(row) not in (0, len(header)):
                problem = f"expected {len(header)} columns as in the header, got {len(row)}"
                raise error_at(path, rows.line_num, f"{problem}. Put quotes around a caption that has commas.")
            if row:
                yield _described(path, rows.line_num, row[picture].strip(), row[caption])
    except csv.Error as error:
        raise error_at(
            path, rows.line_num, f"{error}. Put quotes around captions, and double quotes in them."
        ) from None


def _described(path: Path, number: int, name: str, caption: str) -> Described:
    words = " ".join(caption.split())
    if not name or not words:
        raise error_at(path, number, f"there is no {'caption' if name else 'picture'}. Write one, or remove the line.")
    return Described(name, words)

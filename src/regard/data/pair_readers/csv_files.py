"""CSV as spreadsheets write it: commas, semicolons or tabs between the columns, quotes, and a header or none."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from regard.data.pair_readers.text import Pair, join_lines
from regard.data.text_lines import empty_file_error, error_at, numbered_lines
from regard.languages import language_name
from regard.struct_decoding import shorten

DELIMITERS = ",;\t"  # a spreadsheet writes a semicolon where the comma is the decimal point
MAX_CHARACTERS = 10_000  # of the first row that are searched for its delimiter; the csv module refuses 131,073


def read_csv(path: Path, *, names: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    """The pairs of a file with two columns, or with a header that names them by one of `names` among its columns.

    A language's code or its English name may stand in the header. A blank line is a blank pair, which a filter counts.
    """
    width, columns = 0, (0, 1)
    for number, row in csv_rows(path):
        if not width and (header := _columns_of_header(row, names)):
            width, columns = len(row), header
            continue
        width = width or 2
        if row and len(row) != width:
            problem = f"expected {width} columns, got {len(row)}: {shorten(row)}"
            raise error_at(path, number, f"{problem}. Name the two columns in a header, and quote texts with commas.")
        texts = [row[column] for column in columns] if row else ["", ""]
        yield Pair(join_lines(texts[0]), join_lines(texts[1]), number)


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Every row, with the number of its first line; a blank line has no columns. The first row gives the delimiter."""
    lines = (f"{line}\n" for _, line in numbered_lines(path))
    first = next(lines, None)
    if first is None:
        raise empty_file_error(path, "rows of a table")
    rows, number = csv.reader(chain([first], lines), delimiter=_find_delimiter(first), strict=True), 1
    try:
        for row in rows:
            yield number, row
            number = rows.line_num + 1
    except csv.Error as error:
        problem = f"{error}. Put quotes around a text that has commas, and double the quotes inside it."
        raise error_at(path, rows.line_num, problem) from None


def _find_delimiter(row: str) -> str:
    """The delimiter that makes two columns of a row, or else the most columns."""
    start = row[:MAX_CHARACTERS].replace("\r", " ")  # outside quotes an error, which belongs to the reading of the rows
    counts = {delimiter: len(next(csv.reader([start], delimiter=delimiter), [])) for delimiter in DELIMITERS}
    return max(counts, key=lambda delimiter: (counts[delimiter] == 2, counts[delimiter]))


def _columns_of_header(row: Sequence[str], names: Sequence[tuple[str, str]]) -> tuple[int, int] | None:
    titles = [title.strip().lower() for title in row]
    for pair in names:
        found = [
            next((titles.index(word.lower()) for word in (name, language_name(name)) if word.lower() in titles), None)
            for name in pair
        ]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None

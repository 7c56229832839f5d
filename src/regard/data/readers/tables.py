"""Pairs that stand on one line each: tab-separated values and JSON lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from regard.data.readers.lines import empty, error_at, numbered_lines
from regard.data.readers.pair import Pair, one_line


def read_tsv(path: Path) -> Iterator[Pair]:
    """Every `source TAB target` line; a blank line is a pair of blanks, which a filter counts."""
    number = 0
    for number, line in numbered_lines(path):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) != 2:
            problem = f"expected a source, one tab and a target, got {len(columns)} column(s)"
            raise error_at(path, number, f"{problem}. Keep two columns, as `cut -f 1,2` does.")
        yield Pair(columns[0], columns[1], number)
    if number == 0:
        raise empty(path)


def read_jsonl(path: Path, *, names: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    """One pair from each JSON object, under the first (source, target) names that it has, itself or in `translation`.

    A blank line is a pair of blanks, which a filter counts.
    """
    number = 0
    for number, line in numbered_lines(path):
        source, target = _texts(line, path, number, names) if line.strip() else ("", "")
        yield Pair(one_line(source), one_line(target), number)
    if number == 0:
        raise empty(path)


def _texts(line: str, path: Path, number: int, names: Sequence[tuple[str, str]]) -> tuple[str, str]:
    record = _decode(line, path, number)
    record = record.get("translation", record) if isinstance(record, dict) else record
    if not isinstance(record, dict):
        raise error_at(path, number, f"expected a JSON object, got {_kind(record)}.")
    for source, target in names:
        if source in record and target in record:
            return _text(record, source, path, number), _text(record, target, path, number)
    wanted = " or ".join(f"{source!r} and {target!r}" for source, target in names)
    raise error_at(
        path, number, f"the object has no {wanted}; its keys are {_shown(list(record))}. Name the right keys."
    )


def _decode(line: str, path: Path, number: int) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise error_at(path, number, f"not JSON: {error}. Write one JSON object on each line.") from None


def _text(record: dict[str, Any], key: str, path: Path, number: int) -> str:
    value = record[key]
    if not isinstance(value, str):
        raise error_at(path, number, f"{key!r} must be text, got {_kind(value)}.")
    return value


def _kind(value: object) -> str:
    """The JSON name of a value's type; the value itself may be too long to show."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(keys: list[str], most: int = 8) -> str:
    return ", ".join(repr(key[:40]) for key in keys[:most]) + (", ..." if len(keys) > most else "")

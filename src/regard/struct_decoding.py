"""JSON and plain values as typed structs, safely from several threads, and all problems of a value at once.

msgspec 0.22 collects what it knows about a type when the type is first decoded. A second thread that meets the type
in that moment reads an incomplete record, and the process ends with a segmentation fault. So a lock guards the first
use of every type, and nothing else in regard calls msgspec's own `decode` and `convert` (ruff refuses it).

msgspec reports only the first problem that it finds; the author of a recipe needs all of them, each with the path of
its key: `find_problems`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, overload

import msgspec

from regard.errors import suggest

T = TypeVar("T")

MAX_SHOWN_PROBLEMS = 50
_first_use = Lock()
_known_types: set[Any] = set()


@overload
def decode_json(content: bytes | str, kind: type[T]) -> T: ...
@overload
def decode_json(content: bytes | str, kind: Any = Any) -> Any: ...
def decode_json(content: bytes | str, kind: Any = Any) -> Any:
    """The value of a JSON text; a `msgspec.DecodeError` if it is not of this kind."""
    _prepare(kind)
    return msgspec.json.decode(content, type=kind)  # noqa: TID251


@overload
def convert(value: object, kind: type[T], *, strict: bool = True) -> T: ...
@overload
def convert(value: object, kind: Any, *, strict: bool = True) -> Any: ...
def convert(value: object, kind: Any, *, strict: bool = True) -> Any:
    """The value as this kind; a `msgspec.ValidationError` if it does not fit. Not strict: "1" is the number 1."""
    _prepare(kind)
    return msgspec.convert(value, kind, strict=strict)  # noqa: TID251


def _prepare(kind: Any) -> None:
    if kind not in _known_types:
        with _first_use:
            msgspec.json.Decoder(kind)  # noqa: TID251  it collects the record of the type and of all types inside it
            _known_types.add(kind)


# --- all problems at once --------------------------------------------------------------------------------------------


def find_problems(value: Any, expected: Any, path: str) -> Iterator[str]:
    """Every difference between a plain value and the expected type, each with the path of its key."""
    struct, members = _struct_for(value, expected), get_args(expected)
    if get_origin(expected) is list and isinstance(value, list) and _struct_for(value, members[0]):
        for index, item in enumerate(value):
            yield from find_problems(item, members[0], f"{path}[{index}]")
    elif struct is None:
        yield from _value_problems(value, expected, path)
    elif not isinstance(value, dict):
        yield f"{path or 'the whole'}: expected a section, got {shorten(value)}"
    elif isinstance(struct, str):
        yield f"{path}.kind: {struct}"
    else:
        is_valid = True
        for problem in _table_problems(value, struct, path):
            is_valid = False
            yield problem
        if is_valid:  # the rules of a struct concern several fields
            yield from _value_problems(value, struct, path)


def format_problems(problems: list[str], origin: str) -> str:
    """One message with all problems, or with the first ones of many."""
    more = len(problems) > MAX_SHOWN_PROBLEMS
    count = "1 problem" if len(problems) == 1 else f"{'more than ' * more}{len(problems) - more} problems"
    return "\n".join([f"{count} in {origin}:", *(f"  {line}" for line in problems[:MAX_SHOWN_PROBLEMS])])


def override_hint(problem: str, overrides: Sequence[str]) -> str:
    """The command-line overrides that may have caused a problem, in brackets: those of its key, or inside it."""
    where = problem.partition(": ")[0]
    keys = {override: override.partition("=")[0].strip() for override in overrides}
    causes = [one for one, key in keys.items() if f"{key}.".startswith(f"{where}.") or where.startswith(f"{key}.")]
    return f" ({', '.join(f'--set {_truncate(override)}' for override in causes)})" if causes else ""


def shorten(value: Any) -> str:
    """A value as it was written, truncated if it is too long to read."""
    try:
        return _truncate(repr(value))
    except ValueError:  # Python refuses to write out a number of more than 4,300 digits
        return "a number of thousands of digits"


def _table_problems(table: dict[str, Any], struct: type[msgspec.Struct], path: str) -> Iterator[str]:
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    tag = struct.__struct_config__.tag
    for key, value in table.items():
        where = f"{path}.{_truncate(key)}" if path else _truncate(key)
        if key in fields:
            yield from find_problems(value, fields[key], where)
        elif key != "kind" or tag is None:
            yield f"{where}: unknown key{suggest(key, [*fields, *key_paths(fields)])}; {_list_allowed(fields)}"


def _value_problems(value: Any, expected: Any, path: str) -> Iterator[str]:
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, float) and not math.isfinite(one):  # msgspec's bounds do not always reject NaN
            yield f"{path}: {one} is not a finite number"
            return
        if isinstance(one, str) and "\0" in one:  # no path can have one, and no text needs it
            yield f"{path}: {shorten(one)} has a NUL character"
            return
    try:
        convert(value, expected)
    except (msgspec.ValidationError, OverflowError) as error:
        if get_origin(expected) is Literal and isinstance(value, str):
            choices = get_args(expected)
            yield f"{path}: got {shorten(value)}{suggest(value, choices)}; {_list_allowed(choices)}"
        elif isinstance(value, dict):
            yield f"{path or 'the whole'}: {error}"
        else:  # the value tells more than the name of its type
            reason = re.sub(", got `[^`]*`", "", str(error), count=1)
            advice = ""
            if isinstance(value, str) and reason == "Expected `array`":  # its parts between commas were probably meant
                parts = [part.strip() for part in value.split(",")]
                advice = f"; write {_truncate(json.dumps(parts, ensure_ascii=False))}"
            yield f"{path}: {reason}, got {shorten(value)}{advice}"


def _struct_for(value: Any, expected: Any) -> type[msgspec.Struct] | str | None:
    """The struct to compare a table with; None for a plain field; a message if no member of a union has its `kind`."""
    if isinstance(expected, type) and issubclass(expected, msgspec.Struct):
        return expected
    if get_origin(expected) is not Union:
        return None
    members: dict[str, type[msgspec.Struct]] = {
        str(member.__struct_config__.tag): member for member in get_args(expected)
    }
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in members:
        return members[kind]
    near = suggest(kind, members) if isinstance(kind, str) else ""
    return f"got {shorten(kind)}{near}; {_list_allowed(members)}"


def _list_allowed(words: Iterable[str]) -> str:
    return f"allowed: {', '.join(words)}"


def key_paths(fields: dict[str, Any]) -> list[str]:
    """`section.key` for each key of each section, such as `training.steps`."""
    paths = [
        f"{section}.{field.name}"
        for section, expected in fields.items()
        for struct in (get_args(expected) if get_origin(expected) is Union else [expected])
        if isinstance(struct, type) and issubclass(struct, msgspec.Struct)
        for field in msgspec.structs.fields(struct)
    ]
    return list(dict.fromkeys(paths))


def _truncate(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."

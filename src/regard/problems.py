"""Every problem of a plain table at once: held against the struct that it is to become, each told with its key.

msgspec tells the first problem that it finds; whoever wrote a recipe wants to know all of them.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

import msgspec


def problems_of(value: Any, expected: Any, path: str) -> Iterator[str]:
    """Every way in which a plain value is not what is expected, each with the path of its key."""
    struct = _struct_for(value, expected)
    if struct is None:
        yield from _problem(value, expected, path)
    elif not isinstance(value, dict):
        yield f"{path or 'the whole'}: expected a section, got {shown(value)}"
    elif isinstance(struct, str):
        yield f"{path}.kind: {struct}"
    else:
        found = list(_inside(value, struct, path))
        # A struct's own rule speaks of several fields, so it is asked only when each field is right by itself.
        yield from found or _problem(value, struct, path)


def _inside(table: dict[str, Any], struct: type[msgspec.Struct], path: str) -> Iterator[str]:
    fields = {field.name: field.type for field in msgspec.structs.fields(struct)}
    tag = struct.__struct_config__.tag
    for key, value in table.items():
        where = f"{path}.{key}" if path else key
        if key in fields:
            yield from problems_of(value, fields[key], where)
        elif key != "kind" or tag is None:
            yield f"{where}: unknown key{_suggestion(key, fields)}; {_allowed(fields)}"


def _problem(value: Any, expected: Any, path: str) -> Iterator[str]:
    for number in value if isinstance(value, list | tuple) else [value]:
        if isinstance(number, float) and not math.isfinite(number):  # not every msgspec's bounds stop NaN
            yield f"{path}: {number} is not a finite number"
            return
    try:
        msgspec.convert(value, expected)
    except (msgspec.ValidationError, OverflowError) as error:
        if get_origin(expected) is Literal and isinstance(value, str):
            yield f"{path}: got {shown(value)}{_suggestion(value, get_args(expected))}; {_allowed(get_args(expected))}"
        elif isinstance(value, dict):
            yield f"{path or 'the whole'}: {error}"
        else:  # the value says more than the name of its type
            yield f"{path}: {re.sub(', got `[^`]*`', '', str(error), count=1)}, got {shown(value)}"


def _struct_for(value: Any, expected: Any) -> type[msgspec.Struct] | str | None:
    """The struct to hold a table against; None for a plain field; text where a union's `kind` fits no member."""
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
    near = _suggestion(kind, members) if isinstance(kind, str) else ""
    return f"got {shown(kind)}{near}; {_allowed(members)}"


def _allowed(words: Iterable[str]) -> str:
    return f"allowed: {', '.join(words)}"


def _suggestion(word: str, allowed: Any) -> str:
    near = difflib.get_close_matches(word, list(allowed), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def shown(value: Any) -> str:
    """A value as it was written, cut where it is too long to read."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out a number of more than 4,300 digits
        return "a number of thousands of digits"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def listed(problems: list[str], origin: str) -> str:
    """One message of them all."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"{count} in {origin}:", *(f"  {line}" for line in problems)])


def set_by(problem: str, settings: tuple[str, ...]) -> str:
    """The settings of the command line that a problem may come from, in brackets: those of its key, or inside it."""
    where = problem.partition(": ")[0]
    keys = {setting: setting.partition("=")[0].strip() for setting in settings}
    found = [one for one, key in keys.items() if f"{key}.".startswith(f"{where}.") or where.startswith(f"{key}.")]
    return f" ({', '.join(f'--set {_cut(setting)}' for setting in found)})" if found else ""

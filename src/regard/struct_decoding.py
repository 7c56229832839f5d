"""JSON and plain values as typed structs, safely from several threads.

msgspec 0.22 collects what it knows about a type when the type is first decoded. A second thread that meets the type
in that moment reads an incomplete record, and the process ends with a segmentation fault. So a lock guards the first
use of every type, and nothing else in regard calls msgspec's own `decode` and `convert` (ruff refuses it).
"""

from threading import Lock
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

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

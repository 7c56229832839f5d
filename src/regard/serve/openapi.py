"""The OpenAPI document of all routes, made from what each API's module says of its own.

A module's `ROUTES_SCHEMA` has the form of OpenAPI's `paths`, with one liberty: where a JSON schema goes, a Python type
may stand, and its schema is made from its annotations. `answers`, `takes` and `asks` write the usual parts.
"""

from importlib.metadata import version
from typing import Any

import msgspec

Operation = dict[str, Any]
Paths = dict[str, dict[str, Operation]]
ONE_SENTENCE = "A text is one sentence to the model: of several, some may be left out."
SENTENCES = "A text is split into sentences, which are translated one by one."
JSON, BYTES = "application/json", "application/octet-stream"


class Problem(msgspec.Struct, frozen=True):
    """Why a request was refused: a code for programs, a sentence for people."""

    code: str
    message: str


class ProblemAnswer(msgspec.Struct, frozen=True):
    """The form of refusals under /api/v1."""

    error: Problem


def takes(kind: Any, *, media: str = JSON) -> dict[str, Any]:
    """A request body of this kind."""
    return {"required": True, "content": {media: {"schema": kind}}}


def answers(kind: Any, *, media: str = JSON, refusals: Any = ProblemAnswer, headers: Any = None) -> dict[str, Any]:
    """An answer of this kind (None: plain bytes), or a refusal in the API's own form."""
    schema = {"schema": kind} if kind is not None else {"schema": {"type": "string", "format": "binary"}}
    good: dict[str, Any] = {"description": "The answer.", "content": {media: schema}}
    if headers:
        good["headers"] = headers
    refused = {"description": "Refused, with the reason.", "content": {JSON: {"schema": refusals}}}
    return {"200": good, "4XX": refused, "503": refused}


def asks(name: str, schema: Any, *, place: str = "query", required: bool = False) -> dict[str, Any]:
    """A parameter of the path or the query."""
    return {"name": name, "in": place, "required": required or place == "path", "schema": schema}


def document(*parts: Paths) -> dict[str, Any]:
    """The whole document."""
    types = list(dict.fromkeys(_types_in(list(parts))))
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, _simple(schemas), strict=True))
    paths: dict[str, Any] = {}
    for part in parts:
        paths |= _resolved(part, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "regard", "version": version("regard"), "summary": "Translation that can be looked into."},
        "paths": paths,
        "components": {
            "schemas": _simple(components),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _types_in(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [found for one in value.values() for found in _types_in(one)]
    if isinstance(value, list):
        return [found for one in value for found in _types_in(one)]
    return [] if _is_plain(value) else [value]


def _resolved(value: Any, schemas: dict[Any, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _resolved(one, schemas) for name, one in value.items()}
    if isinstance(value, list):
        return [_resolved(one, schemas) for one in value]
    return value if _is_plain(value) else schemas[value]


def _simple(schema: Any) -> Any:
    """A schema whose pairs of one kind are arrays of two: tools that read `prefixItems` well are few."""
    if isinstance(schema, list | tuple):
        return [_simple(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {name: _simple(one) for name, one in schema.items()}
    first, *others = new.get("prefixItems", [None])
    if first is not None and all(other == first for other in others):
        del new["prefixItems"]
        new["items"] = first
    return new


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)

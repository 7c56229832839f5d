"""The OpenAPI document of the server, made from the declarations of its endpoints."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from regard.server.endpoint import BYTES, Content, Endpoint
from regard.server.errors import JSON, error_type
from regard.server.requests import MULTIPART

BINARY = {"type": "string", "format": "binary"}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    types: dict[Any, None] = {}  # an ordered set: every type whose schema the document needs
    for one in endpoints:
        kinds = [one.input_type, one.response, *one.other_responses.values(), error_type(one.path)]
        types |= dict.fromkeys(kind for kind in kinds if kind is not None and not isinstance(kind, Content))
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type, components = dict(zip(types, _simplify(schemas), strict=True)), _simplify(components)
    paths: dict[str, Any] = {}
    for one in endpoints:
        path = re.sub(r":\w+\}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one, by_type, components)
    text = msgspec.json.encode([paths, components]).decode()
    used = {name: schema for name, schema in components.items() if f'/{name}"' in text}  # others became parameters
    return {
        "openapi": "3.1.0",
        "info": {"title": "regard", "version": version("regard"), "summary": "Translation with attention to inspect."},
        "paths": paths,
        "components": {"schemas": used, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": endpoint.summary}
    if endpoint.description:
        operation["description"] = endpoint.description
    parameters = []
    for name, convertor in re.findall(r"\{(\w+)(:number)?\}", endpoint.path):
        schema = {"type": "integer", "minimum": 0, "maximum": 10**9 - 1} if convertor else {"type": "string"}
        parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    has_body = endpoint.input_name is not None and endpoint.method == "POST"
    if endpoint.input_name is not None and (not has_body or endpoint.allow_raw_upload):
        schema = components[endpoint.input_type.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in schema.get("required", []), "schema": own}
            for name, own in schema["properties"].items()
        ]
    if parameters:
        operation["parameters"] = parameters
    if has_body:
        operation["requestBody"] = _request_body(endpoint, by_type, components)
    return operation | {"responses": _responses(endpoint, by_type)}


def _request_body(endpoint: Endpoint, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    if endpoint.input_name != "upload":
        return {"required": True, "content": {JSON: {"schema": by_type[endpoint.input_type]}}}
    fields = {} if endpoint.allow_raw_upload else components[endpoint.input_type.__name__]
    form = {
        "type": "object",
        "properties": {endpoint.upload_field: BINARY, **fields.get("properties", {})},
        "required": [endpoint.upload_field, *fields.get("required", [])],
    }
    if endpoint.allow_raw_upload:  # the other fields are in the query
        return {"content": {BYTES: {"schema": BINARY}, MULTIPART: {"schema": form}}}
    return {"required": True, "content": {MULTIPART: {"schema": form}}}


def _responses(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    error = {"description": "An error.", "content": {JSON: {"schema": by_type[error_type(endpoint.path)]}}}
    responses: dict[str, Any] = {"4XX": error, "503": error}
    own = {} if endpoint.response is None else {200: endpoint.response}
    for status, kind in (own | endpoint.other_responses).items():
        response: dict[str, Any] = {"description": "Success."}
        if isinstance(kind, Content):
            response |= {"content": {kind.media: {"schema": kind.schema}}}
            response |= {"headers": kind.headers} if kind.headers else {}
        elif kind is not None:
            response["content"] = {JSON: {"schema": by_type[kind]}}
        responses[str(status)] = response
    return responses


def _simplify(schema: Any) -> Any:
    """The schema with tuples of one type as plain arrays: few tools support `prefixItems`."""
    if isinstance(schema, list | tuple):
        return [_simplify(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {name: _simplify(one) for name, one in schema.items()}
    first, *others = new.get("prefixItems", [None])
    if first is not None and all(other == first for other in others):
        del new["prefixItems"]
        new["items"] = first
    return new

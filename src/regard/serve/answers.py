"""Answers in JSON, the same for every API."""

import msgspec
from starlette.responses import Response


def as_json(value: object, *, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")

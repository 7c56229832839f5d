"""Errors of the HTTP API: a status, a code for programs and a message for people, in the JSON form of each API.

Each API that the server offers has its own error format, and its clients parse no other; so the format depends on the
path. An error message never repeats what the client sent.
"""

import asyncio
import math
import re

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from regard.errors import RegardError
from regard.interventions import InterventionError

OWN_API_PREFIX = "/api/"
DEEPL_PATH = re.compile("/v[1-9](/|$)")
UNSUPPORTED_IN_DEEPL = {  # by the beginning of a path
    "/v2/glossar": "Glossaries are",
    "/v3/glossar": "Glossaries are",
    "/v2/write": "Rephrasing and correcting are",
    "/v3/style_rules": "Style rules are",
    "/v3/translation_memories": "Translation memories are",
}
JSON = "application/json"


class ApiError(Exception):
    """Raise it anywhere in a handler: the client gets it in the error format of the API that it uses."""

    def __init__(
        self, status: int, code: str, message: str, *, retry_after: float | None = None, allow: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after  # seconds
        self.allow = allow  # the methods that a 405 lists

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After where a later retry helps, WWW-Authenticate for 401, Allow for 405."""
        headers = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after)))
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.allow:
            headers["allow"] = self.allow
        return headers


class ClientDisconnected(Exception):  # noqa: N818
    """The client closed the connection: the response has no reader."""


class ErrorDetail(msgspec.Struct, frozen=True):
    """Why a request failed: a code for programs, a message for people."""

    code: str
    message: str


class ErrorResponse(msgspec.Struct, frozen=True):
    """The error format of /api/v1."""

    error: ErrorDetail


class DeepLError(msgspec.Struct, frozen=True):
    """The error format of DeepL."""

    message: str


class LibreTranslateError(msgspec.Struct, frozen=True):
    """The error format of LibreTranslate, and of every other path."""

    error: str


def error_type(path: str) -> type[ErrorResponse | DeepLError | LibreTranslateError]:
    """The error format that clients of this path parse."""
    if path.startswith(OWN_API_PREFIX):
        return ErrorResponse
    return DeepLError if DEEPL_PATH.match(path) else LibreTranslateError


def error_response(path: str, error: ApiError) -> Response:
    """The HTTP response for an error on this path."""
    kind = error_type(path)
    body = ErrorResponse(ErrorDetail(error.code, error.message)) if kind is ErrorResponse else kind(error.message)  # type: ignore[arg-type]
    return Response(msgspec.json.encode(body), error.status, headers=error.headers, media_type=JSON)


def key_error(path: str) -> ApiError:
    """The error for a missing or wrong key: 403 for LibreTranslate and DeepL, whose own servers send that."""
    status = 401 if path.startswith(OWN_API_PREFIX) else 403
    return ApiError(status, "key_required", "This server requires an API key. Send a valid one.")


def to_api_error(error: BaseException, path: str = "") -> ApiError:
    """The ApiError for any exception that a handler for this path raised, or that came since it has none."""
    match error:
        case ApiError():
            return error
        case InterventionError():
            return ApiError(400, "bad_intervention", f"An intervention {error.reason}")
        case RegardError():
            return ApiError(400, "bad_input", str(error))
        case HTTPException(status_code=405):
            allow = (error.headers or {}).get("Allow")
            return ApiError(405, "wrong_method", "This path does not support that method.", allow=allow)
        case HTTPException(status_code=404):
            for beginning, subject in UNSUPPORTED_IN_DEEPL.items():
                if path.startswith(beginning):
                    return ApiError(404, "not_supported", f"{subject} not supported by this server.")
            return ApiError(404, "not_found", "There is nothing at this path.")
        case asyncio.CancelledError():
            return ApiError(503, "stopped", "The server stopped before the response was ready.", retry_after=1)
        case HTTPException():
            return ApiError(error.status_code, "bad_request", "The request cannot be parsed.")
        case _:
            return ApiError(500, "defect", "The server failed. Its log has the reason under the id of this request.")

"""What is answered to a request that is not served: a status, a code for programs, a sentence for people.

Every API has its own form for errors, and clients read no other; so the form follows the path. No refusal repeats what
was sent.
"""

import math
from typing import Any

import msgspec
from starlette.responses import Response

DEEPL_PATHS = ("/v2/translate", "/v2/languages", "/v2/usage")
JSON = "application/json"


class Refusal(Exception):  # noqa: N818  (an answer, not an error of ours)
    """Raise it anywhere while a request is served: the client gets it in the form of the API it speaks."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after  # seconds
        self.allow: str | None = None  # the methods that a 405 names

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After where waiting helps, WWW-Authenticate where a key does, Allow where another method does."""
        headers = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after)))
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.allow:
            headers["allow"] = self.allow
        return headers


class ClientLeftError(Exception):
    """The client has gone: there is nobody to answer."""


def refused(path: str, refusal: Refusal) -> Response:
    """The answer, in the form that clients of this path read."""
    return Response(msgspec.json.encode(_form(path, refusal)), refusal.status, headers=refusal.headers, media_type=JSON)


def _form(path: str, refusal: Refusal) -> dict[str, Any]:
    if path.startswith("/api/"):
        return {"error": {"code": refusal.code, "message": refusal.message}}
    return {"message" if path.startswith(DEEPL_PATHS) else "error": refusal.message}

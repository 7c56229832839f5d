"""Refusing at the door when the queue is full: a ready-made answer, before a request is parsed or a task begun.

Under many times the load that a server can bear, most requests are refused, and what a refusal costs is taken from the
answers. Only whole and plain requests to the routes that wait in the queue are refused here; others go the usual way.
"""

import re
import secrets
from functools import lru_cache

from regard.serve.batcher import Batcher, busy
from regard.serve.lifecycle import Lifecycle
from regard.serve.metrics import Metrics
from regard.serve.refusals import refused
from regard.serve.safety import SECURITY_HEADERS

QUEUED = frozenset({b"/api/v1/translate", b"/api/v1/stream", b"/api/v1/traces", b"/translate", b"/v2/translate"})
_LINE = re.compile(rb"POST (/[a-z0-9/]+) HTTP/1\.1\r\n")
_LENGTH = re.compile(rb"\r\ncontent-length: ?([0-9]{1,7})\r\n", re.IGNORECASE)
_SPECIAL = re.compile(rb"\r\n(origin|expect|upgrade|transfer-encoding|connection:(?! ?keep-alive\r\n))", re.IGNORECASE)


class Shedder:
    """The answers to requests that would find no room."""

    def __init__(self, batcher: Batcher, lifecycle: Lifecycle, metrics: Metrics) -> None:
        self.batcher, self.lifecycle, self.metrics = batcher, lifecycle, metrics

    def answer(self, data: bytes) -> bytes | None:
        """The refusal of the request that these bytes are; None where they are to go the usual way."""
        refusal = None if self.lifecycle.is_draining else self.batcher.refusal()
        path = None if refusal is None else _whole_request(data)
        if refusal is None or path is None:
            return None
        self.metrics.shed.labels(path).inc()
        return _answer(path, int(refusal.headers["retry-after"])) % secrets.token_hex(8).encode()


def _whole_request(data: bytes) -> str | None:
    """The path of a plain request to a route that waits in the queue, if the bytes are exactly one."""
    line = _LINE.match(data)
    if line is None or line[1] not in QUEUED:
        return None
    end = data.find(b"\r\n\r\n")
    length = _LENGTH.search(data, 0, end + 2)
    if end < 0 or length is None or int(length[1]) != len(data) - end - 4 or _SPECIAL.search(data, 0, end + 2):
        return None
    return line[1].decode()


@lru_cache(maxsize=1024)
def _answer(path: str, retry_after: int) -> bytes:
    """The answer's bytes, with a place for the request's id."""
    answer = refused(path, busy(retry_after))
    own = {name.decode(): value.decode() for name, value in answer.raw_headers}
    headers = own | SECURITY_HEADERS | {"cache-control": "no-store", "x-request-id": "%s"}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(["HTTP/1.1 429 Too Many Requests", *lines, "", ""])
    return head.encode() + bytes(answer.body).replace(b"%", b"%%")

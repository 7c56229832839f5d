"""The door: every request passes here first, and what is to be refused is, before anything is read or done for it.

Liveness, readiness and metrics are let through always, so that a busy server is not taken for a dead one.
"""

import time
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.serve.lifecycle import Lifecycle
from regard.serve.logs import identity_of, tell, tell_defect
from regard.serve.metrics import Metrics
from regard.serve.refusals import ClientLeftError, Refusal, refused
from regard.serve.requests import check_length
from regard.serve.safety import SECURITY_HEADERS, Gate
from regard.serve.service import Service

ALWAYS = frozenset({"/livez", "/readyz", "/metrics", "/health", "/v2/health/live", "/v2/health/ready"})
FETCHING = ("/translate_file/", "/download_file/")  # answered while the server stops
LIGHT_POSTS = frozenset({"/detect"})  # these need no model
MOST_HEADERS = 100
CLIENT_LEFT = 499  # what servers write into their logs where there was nobody to answer


@dataclass
class Exchange:
    """One request and what is known of its answer."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    identity: str
    begun: float = field(default_factory=time.monotonic)
    status: int = 0

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def is_always_answered(self) -> bool:
        return self.path in ALWAYS

    @property
    def is_fetching(self) -> bool:
        """Whether it asks about a file that was accepted earlier."""
        return self.scope["method"] == "GET" and self.path.startswith(FETCHING)

    @property
    def route(self) -> str:
        """The pattern of the route that answered; clients choose paths, not patterns."""
        route = self.scope.get("route")
        return route.path if isinstance(route, Route) else "none"


class Front:
    """The server's outermost layer."""

    def __init__(self, inner: ASGIApp, service: Service, gate: Gate, lifecycle: Lifecycle, metrics: Metrics) -> None:
        self.inner, self.service, self.gate = inner, service, gate
        self.lifecycle, self.metrics = lifecycle, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = Exchange(scope, receive, send, headers, identity_of(headers.get("x-request-id")))
        scope["regard.request_id"] = exchange.identity
        with self.lifecycle.counted(is_work=not exchange.is_always_answered):
            await self._serve(exchange)
        self._note(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        try:
            self._admit(exchange)
            if (answer := self._preflight(exchange)) is not None:
                await answer(exchange.scope, exchange.receive, self._sending(exchange))
                return
            await self.inner(exchange.scope, exchange.receive, self._sending(exchange))
        except ClientLeftError:
            self.metrics.left.inc()
            exchange.status = exchange.status or CLIENT_LEFT
        except Exception as error:
            if exchange.status:
                raise  # the answer has begun: nothing can be said any more
            refusal = as_refusal(error)
            if refusal.status == 500:
                tell_defect("a request failed", request=exchange.identity, route=exchange.route)
            await refused(exchange.path, refusal)(exchange.scope, exchange.receive, self._sending(exchange))

    def _admit(self, exchange: Exchange) -> None:
        """Refuse what must not or cannot be served, the cheapest question first."""
        if exchange.is_always_answered:
            return
        if len(exchange.scope["headers"]) > MOST_HEADERS:
            raise Refusal(431, "too_many_headers", f"There are more than {MOST_HEADERS} headers.")
        method, host, headers = exchange.scope["method"], exchange.headers.get("host", ""), exchange.headers
        self.gate.check_host(host)
        self.gate.check_origin(method, headers.get("origin"), host=host)
        if self.lifecycle.is_draining and not exchange.is_fetching:
            raise Refusal(503, "draining", "The server is stopping. Ask another one.", retry_after=1)
        request = Request(exchange.scope)
        self.service.limit_rate(request)
        if method == "POST":
            limits = self.service.limits
            check_length(request, max(limits.body_bytes, limits.file_bytes) + 20_000)
            if exchange.path not in LIGHT_POSTS:
                self.service.batcher.check_room()

    def _preflight(self, exchange: Exchange) -> Response | None:
        """The answer to a browser that asks whether a page of another origin may send a request."""
        headers, origin = exchange.headers, exchange.headers.get("origin")
        if exchange.scope["method"] != "OPTIONS" or "access-control-request-method" not in headers or origin is None:
            return None
        if not self.gate.allows_origin(origin, host=headers.get("host", "")):
            raise Refusal(403, "wrong_origin", "Pages of that origin are not allowed. Start with --allow-origin.")
        return Response(
            status_code=204,
            headers={
                "access-control-allow-methods": "GET, POST, DELETE",
                "access-control-allow-headers": "authorization, content-type, x-api-key, x-request-id",
                "access-control-max-age": "600",
            },
        )

    def _sending(self, exchange: Exchange) -> Send:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                self._dress(exchange, MutableHeaders(scope=message))
            await exchange.send(message)

        return send

    def _dress(self, exchange: Exchange, headers: MutableHeaders) -> None:
        """The headers that every answer has."""
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers["x-request-id"] = exchange.identity
        headers.setdefault("cache-control", "no-store")
        origin = exchange.headers.get("origin")
        if self.gate.origins:
            headers.add_vary_header("Origin")
        if origin is not None and self.gate.names_origin(origin):
            headers["access-control-allow-origin"] = origin
            headers["cross-origin-resource-policy"] = "cross-origin"
            headers["access-control-expose-headers"] = "x-request-id, x-regard-shape, retry-after"
        if self.lifecycle.is_draining or _has_unread_body(exchange):
            headers["connection"] = "close"

    def _note(self, exchange: Exchange) -> None:
        seconds = time.monotonic() - exchange.begun
        self.metrics.answered(exchange.route, exchange.status, seconds)
        if not exchange.is_always_answered and exchange.status not in (429, 503):
            tell(
                "request",
                request=exchange.identity,
                route=exchange.route,
                method=exchange.scope["method"],
                status=exchange.status,
                milliseconds=round(seconds * 1000, 1),
            )


def as_refusal(error: Exception) -> Refusal:
    """What to answer to whatever went wrong."""
    match error:
        case Refusal():
            return error
        case RegardError():
            return Refusal(400, "bad_input", str(error))
        case HTTPException(status_code=405):
            refusal = Refusal(405, "wrong_method", "This path does not take that method.")
            refusal.allow = (error.headers or {}).get("Allow")
            return refusal
        case HTTPException(status_code=404):
            return Refusal(404, "not_found", "There is nothing at this path.")
        case HTTPException():
            return Refusal(error.status_code, "bad_request", "The request cannot be read.")
        case _:
            return Refusal(500, "defect", "Something went wrong here. The log says what, by the request's id.")


def _has_unread_body(exchange: Exchange) -> bool:
    """Whether more of a refused body would come: then the connection is closed rather than read to its end."""
    if exchange.status < 400:
        return False
    return exchange.status == 413 or int_or_zero(exchange.headers.get("content-length")) > 100_000


def int_or_zero(text: str | None) -> int:
    """The number, 0 for anything else."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else 0

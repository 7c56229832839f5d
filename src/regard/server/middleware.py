"""The outermost layer: every request is admitted or refused here before its body is read.

Probes of liveness, readiness and metrics are always admitted, so that a busy server does not appear dead.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.auth import SECURITY_HEADERS, HostPolicy
from regard.server.errors import ApiError, ClientDisconnected, error_response, to_api_error
from regard.server.lifecycle import Lifecycle
from regard.server.limits import RateLimiter
from regard.server.monitoring import Metrics, log_exception, log_info, request_id
from regard.server.page import is_page_request
from regard.server.service import Service

ALWAYS_ADMITTED = frozenset({"/livez", "/readyz", "/metrics", "/health"})
DOWNLOAD_PREFIXES = ("/translate_file/", "/download_file/")  # admitted while the server drains
MAX_HEADERS = 100
MAX_UNREAD_BYTES = 100_000  # of a refused body: if more would follow, the connection is closed
CLIENT_CLOSED_REQUEST = 499  # the status that servers log for a client that disconnected


@dataclass
class RequestContext:
    """One request, and the status of its response."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    request_id: str
    started_at: float = field(default_factory=time.monotonic)
    status: int = 0

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def is_always_admitted(self) -> bool:
        return self.path in ALWAYS_ADMITTED

    @property
    def is_download(self) -> bool:
        """Whether it is about a file that was accepted earlier."""
        return self.scope["method"] == "GET" and self.path.startswith(DOWNLOAD_PREFIXES)

    @property
    def route(self) -> str:
        """The pattern of the route: a client chooses the path, but not the pattern."""
        route = self.scope.get("route")
        return route.path if isinstance(route, Route) else "none"


class AdmissionMiddleware:
    """Admits or refuses requests, adds the common headers, and logs and counts each response."""

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        host_policy: HostPolicy,
        lifecycle: Lifecycle,
        metrics: Metrics,
        *,
        queued_paths: Collection[str] = (),
    ) -> None:
        self.app, self.service, self.host_policy = app, service, host_policy
        self.lifecycle, self.metrics = lifecycle, metrics
        self.queued_paths = frozenset(queued_paths)
        self.rate_limiter = RateLimiter(service.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        context = RequestContext(scope, receive, send, headers, request_id(headers.get("x-request-id")))
        with self.lifecycle.track_request(is_work=not context.is_always_admitted):
            await self._serve(context)
        self._log_request(context)

    async def _serve(self, context: RequestContext) -> None:
        try:
            self.admit(context)
            await self.app(context.scope, context.receive, self._send_with_headers(context))
        except ClientDisconnected:
            self.metrics.client_disconnects.inc()
            context.status = context.status or CLIENT_CLOSED_REQUEST
        except Exception as error:
            if context.status:
                raise  # the response has started: it cannot be replaced by an error
            api_error = to_api_error(error)
            if api_error.status == 500:
                log_exception("a request failed", request=context.request_id, route=context.route)
            response = error_response(context.path, api_error)
            await response(context.scope, context.receive, self._send_with_headers(context))

    def admit(self, context: RequestContext) -> None:
        """Raise if the request must not or cannot be served; the cheapest check comes first.

        The page and its files are exempt from the rate limit.
        """
        if context.is_always_admitted:
            return
        if len(context.scope["headers"]) > MAX_HEADERS:
            raise ApiError(431, "too_many_headers", f"There are more than {MAX_HEADERS} headers.")
        method, host = context.scope["method"], context.headers.get("host", "")
        self.host_policy.check_host(host)
        self.host_policy.check_origin(method, context.headers.get("origin"), host=host)
        if self.lifecycle.is_draining and not context.is_download:
            raise ApiError(503, "draining", "The server is stopping. Retry on another one.", retry_after=1)
        if not is_page_request(method, context.path):
            self._limit_rate(Request(context.scope))
        if method == "POST" and context.path in self.queued_paths:
            self.service.batcher.require_room()

    def _limit_rate(self, request: Request) -> None:
        """Count the request for its key or, without one, for its address."""
        key = self.service.keys.identify(request.headers)
        address = request.client.host if request.client else "unknown"
        self.rate_limiter.acquire(f"key {key}" if key is not None else f"address {address}")

    def _send_with_headers(self, context: RequestContext) -> Send:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                self.add_headers(context, MutableHeaders(scope=message))
            await context.send(message)

        return send

    def add_headers(self, context: RequestContext, headers: MutableHeaders) -> None:
        """Add the headers that every response has."""
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers["x-request-id"] = context.request_id
        headers.setdefault("cache-control", "no-store")
        origin = context.headers.get("origin")
        if origin is not None and self.host_policy.is_allowed_origin(origin):
            headers["cross-origin-resource-policy"] = "cross-origin"
        if self.lifecycle.is_draining or _has_unread_body(context):
            headers["connection"] = "close"

    def _log_request(self, context: RequestContext) -> None:
        seconds = time.monotonic() - context.started_at
        self.metrics.record_request(context.route, context.status, seconds)
        if not context.is_always_admitted and context.status not in (429, 503):
            log_info(
                "request",
                request=context.request_id,
                route=context.route,
                method=context.scope["method"],
                status=context.status,
                milliseconds=round(seconds * 1000, 1),
            )


def _has_unread_body(context: RequestContext) -> bool:
    """Whether much of a refused body would still arrive."""
    if context.status < 400:
        return False
    length = context.headers.get("content-length", "0")
    is_long = not length.isascii() or not length.isdigit() or len(length) > 18 or int(length) > MAX_UNREAD_BYTES
    return context.status == 413 or is_long

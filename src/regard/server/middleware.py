"""The outermost layer: every request is admitted or refused here before its body is read.

Probes of liveness, readiness and metrics are always admitted, so that a busy server does not appear dead.
"""

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.auth import SECURITY_HEADERS, HostPolicy, parse_host
from regard.server.errors import ApiError, ClientDisconnected, error_response, to_api_error
from regard.server.lifecycle import Lifecycle
from regard.server.limits import client_address
from regard.server.monitoring import Metrics, log_exception, log_info, request_id
from regard.server.page import is_of_page

ALWAYS_ADMITTED = frozenset({"/livez", "/readyz", "/metrics", "/health"})
ACCEPTED_FILES = ("/translate_file/", "/download_file/", "/v2/document/")  # paths admitted while the server drains
MAX_HEADERS = 100
MAX_UNREAD_BYTES = 100_000  # of a refused body: if more would follow, the connection is closed
CLIENT_CLOSED_REQUEST = 499  # the status that servers log for a client that disconnected


@dataclass
class RequestContext:
    """One request, and the status of its response."""

    request: Request
    id: str
    path: str
    started_at: float = field(default_factory=time.monotonic)
    status: int = 0

    @property
    def is_always_admitted(self) -> bool:
        return self.path in ALWAYS_ADMITTED

    @property
    def route(self) -> str:
        """The pattern of the route: a client chooses the path, but not the pattern."""
        route = self.request.scope.get("route")
        return route.path if isinstance(route, Route) else "none"

    @property
    def has_unread_body(self) -> bool:
        """Whether much of a refused body would still arrive."""
        if self.status < 400:
            return False
        length = self.request.headers.get("content-length", "0")
        is_short = length.isascii() and length.isdigit() and len(length) <= 18 and int(length) <= MAX_UNREAD_BYTES
        return self.status == 413 or not is_short


class AdmissionMiddleware:
    """Admits or refuses requests, adds the common headers, and logs and counts each response."""

    def __init__(
        self, app: ASGIApp, lifecycle: Lifecycle, host_policy: HostPolicy, *, queued_paths: Collection[str] = ()
    ) -> None:
        self.app, self.lifecycle, self.host_policy = app, lifecycle, host_policy
        self.service = lifecycle.service
        self.metrics = self.service.component(Metrics)
        self.queued_paths = frozenset(queued_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        context = RequestContext(request, request_id(request.headers.get("x-request-id")), scope["path"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                self.add_headers(context, MutableHeaders(scope=message))
            await send(message)

        with self.lifecycle.track_request(is_work=not context.is_always_admitted):
            await self._respond(context, receive, send_with_headers)
        seconds = time.monotonic() - context.started_at
        self.metrics.record_request(context.route, context.status, seconds)
        if not context.is_always_admitted and context.status not in (429, 503):
            log_info(
                "request",
                request=context.id,
                route=context.route,
                method=request.method,
                status=context.status,
                milliseconds=round(seconds * 1000, 1),
            )

    async def _respond(self, context: RequestContext, receive: Receive, send: Send) -> None:
        scope = context.request.scope
        try:
            self.admit(context)
            await self.app(scope, receive, send)
        except ClientDisconnected:
            self.metrics.client_disconnects.inc()
            context.status = context.status or CLIENT_CLOSED_REQUEST
        except (Exception, asyncio.CancelledError) as error:
            if context.status and isinstance(error, asyncio.CancelledError):
                return  # the server stops, and uvicorn closes the connection
            if context.status:
                raise  # the response has started: it cannot be replaced by an error
            api_error = to_api_error(error, context.path)
            if api_error.status == 500:
                log_exception("a request failed", request=context.id, route=context.route)
            await error_response(context.path, api_error)(scope, receive, send)

    def admit(self, context: RequestContext) -> None:
        """Raise if the request must not or cannot be served; the cheapest check comes first.

        The page and its files are exempt from the rate limit.
        """
        request, method, path = context.request, context.request.method, context.path
        host = parse_host(request.headers.getlist("host"))
        if context.is_always_admitted:
            return
        if len(request.headers) > MAX_HEADERS:
            raise ApiError(431, "too_many_headers", f"There are more than {MAX_HEADERS} headers.")
        self.host_policy.check_host(host)
        self.host_policy.check_origin(method, request.headers.get("origin"), host=host)
        if self.lifecycle.is_draining and not path.startswith(ACCEPTED_FILES):
            raise ApiError(503, "draining", "The server is stopping. Retry on another one.", retry_after=1)
        if not is_of_page(method, path):
            request.state.key = self.service.keys.in_request(request)
            self.service.rate_limiter.acquire(client_address(request), key=request.state.key)
        if method == "POST" and path in self.queued_paths:
            self.service.batcher.require_capacity()

    def add_headers(self, context: RequestContext, headers: MutableHeaders) -> None:
        """Add the headers that every response has."""
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers["x-request-id"] = context.id
        headers.setdefault("cache-control", "no-store")
        origin = context.request.headers.get("origin")
        if origin is not None and self.host_policy.is_allowed_origin(origin):
            headers["cross-origin-resource-policy"] = "cross-origin"
        if self.lifecycle.is_draining or context.has_unread_body:
            headers["connection"] = "close"

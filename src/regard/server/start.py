"""`serve`: the page is sent at once, and the APIs answer as soon as they are imported.

Importing torch takes longer than anything else before the first response, and the page does not need it: a browser
loads the page meanwhile. So nothing here, and nothing that is imported here, imports torch.
"""

import asyncio
import importlib
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.server.auth import SECURITY_HEADERS, HostPolicy, parse_host, parse_proxy_address
from regard.server.errors import ApiError, error_response, to_api_error
from regard.server.lifecycle import STOP_SIGNALS, Lifecycle, Server
from regard.server.monitoring import start_logs
from regard.server.page import is_of_page, page_routes
from regard.server.settings import ServerParts, ServerSettings


def serve(settings: ServerSettings, *, on_start: Callable[[str], object]) -> int:
    """Run the server until it is stopped; `on_start` gets its address. The exit code is 128 plus the signal."""
    parts = ServerParts.of(settings)
    with ExitStack() as opened:
        sockets = [opened.enter_context(one) for one in bind(settings.host, settings.port)]
        start_logs()
        code = asyncio.run(_run_server(parts, sockets, on_start))
    for number in STOP_SIGNALS:  # a signal while the interpreter ends must not change the exit code
        if code:
            signal.signal(number, signal.SIG_IGN)
    return code


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets for all addresses of the host, before any model is loaded."""
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            listener = socket.socket(family, kind, protocol)
            if sys.platform != "win32":  # there it would let two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            own_port = sockets[0].getsockname()[1] if sockets else port
            sockets.append(listener)
            listener.bind((address[0], own_port, *address[2:]))
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        for listener in sockets:
            listener.close()
        reason = getattr(error, "strerror", None) or error
        raise RegardError(
            f"the server cannot listen on {host}, port {port}: {reason}. Choose another port with --port (0: any "
            "free one), or an address of this machine with --host."
        ) from None
    return sockets


class PageFirst:
    """Sends the page, and that the process responds, while the APIs are imported; other requests wait for them."""

    def __init__(self, host_policy: HostPolicy) -> None:
        errors: Any = {ApiError: _send_error, 404: _send_error, 405: _send_error}
        routes = [Route("/livez", _live), *page_routes()]
        self._early, self._host_policy = Starlette(routes=routes, exception_handlers=errors), host_policy
        self._app: ASGIApp | None = None
        self._is_open = asyncio.Event()

    def open(self, app: ASGIApp) -> None:
        """Give all further requests, and those that wait, to this app."""
        self._app = app
        self._is_open.set()

    def refuse(self) -> None:
        """Refuse the requests that wait: the server stops before it can serve them."""
        self.open(_refuse)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None and self._is_early(scope):
            await self._early(scope, receive, _with_security_headers(send))
            return
        await self._is_open.wait()
        assert self._app is not None  # noqa: S101  (for the type checker)
        await self._app(scope, receive, send)

    def _is_early(self, scope: Scope) -> bool:
        try:
            host = parse_host(Headers(scope=scope).getlist("host"))
            if scope["path"] != "/livez":
                self._host_policy.check_host(host)
        except ApiError:
            return False
        return scope["path"] == "/livez" or is_of_page(scope["method"], scope["path"])


async def _live(request: Request) -> Response:  # noqa: ARG001
    return PlainTextResponse("alive\n")


async def _send_error(request: Request, error: Exception) -> Response:
    return error_response(request.url.path, to_api_error(error))


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    response = error_response(scope["path"], to_api_error(asyncio.CancelledError()))
    await response(scope, receive, _with_security_headers(send))


def _with_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(SECURITY_HEADERS)
        await send(message)

    return send_with_headers


async def _run_server(parts: ServerParts, sockets: list[socket.socket], on_start: Callable[[str], object]) -> int:
    settings = parts.settings
    app = PageFirst(parts.host_policy)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),  # otherwise a local client could claim any address
        forwarded_allow_ips=[*map(parse_proxy_address, settings.trusted_proxies)],
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
        lifespan="off",
        ws="none",
    )
    server = Server(config, on_start, on_early_stop=app.refuse)
    serving_apis = asyncio.ensure_future(_serve_apis(parts, server, app))
    serving_apis.add_done_callback(lambda _: server.stop_now())  # it ends by itself only if it fails
    await server.serve(sockets)
    if serving_apis.done():
        serving_apis.result()
    serving_apis.cancel()
    if server.lifecycle is not None and not server.force_exit:
        await server.lifecycle.service.batcher.close()
    if server.lifecycle is not None and server.lifecycle.failure is not None:
        raise server.lifecycle.failure
    return 0 if server.stopped_by is None else 128 + server.stopped_by


async def _serve_apis(parts: ServerParts, server: Server, page_first: PageFirst) -> None:
    """Import the APIs, open them, and load models for as long as the server runs."""
    await asyncio.to_thread(importlib.import_module, "regard.server.app")
    from regard.server.app import build_app, build_service

    server.lifecycle = Lifecycle(build_service(parts))
    server.lifecycle.on_failure = server.stop_now
    page_first.open(build_app(parts, server.lifecycle))
    await server.lifecycle.watch_models()

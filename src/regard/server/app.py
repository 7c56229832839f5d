"""The server as a whole: settings, the endpoints of all APIs, health, and `serve`."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from regard.errors import RegardError
from regard.inference.interface import EngineName
from regard.server.api import captions, deepl, libretranslate, runs, text, traces
from regard.server.auth import ApiKeys, HostPolicy, parse_proxy_address
from regard.server.batcher import Batcher
from regard.server.endpoint import PLAIN_TEXT, Endpoint, json_response, openapi, routes
from regard.server.errors import ApiError
from regard.server.lifecycle import Lifecycle, Server, TimedHttpProtocol
from regard.server.limits import Limits
from regard.server.middleware import AdmissionMiddleware
from regard.server.models import ModelRegistry
from regard.server.monitoring import Metrics, start_logs
from regard.server.page import page_routes
from regard.server.service import Service
from regard.training.runs import find_models


@dataclass(frozen=True)
class ServerSettings:
    """The options of `regard serve`."""

    models: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    engine: EngineName | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    keys: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    trusted_proxies: Sequence[str] = ()
    gold: Path | None = None
    report: Path | None = None
    limits: Limits = field(default_factory=Limits)
    workers: int = 1


@dataclass(frozen=True)
class ServerParts:
    """The objects that live as long as the server."""

    service: Service
    lifecycle: Lifecycle
    metrics: Metrics


def serve(settings: ServerSettings, *, on_start: Callable[[str], object]) -> int:
    """Run the server until it is stopped; `on_start` gets its address. The exit code is 128 plus the signal."""
    _check_address(settings.host, settings.port)
    start_logs()
    return asyncio.run(_run_server(settings, on_start))


def _check_address(host: str, port: int) -> None:
    """Raise if the address is not available, before any model is loaded."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind, protocol) as probe:
            if sys.platform != "win32":  # there it would let two servers share a port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:  # UnicodeError: not a valid host name
        reason = getattr(error, "strerror", None) or error
        raise RegardError(
            f"the server cannot listen on {host}, port {port}: {reason}. Choose another port with --port (0: any "
            "free one), or an address of this machine with --host."
        ) from None


async def _run_server(settings: ServerSettings, on_start: Callable[[str], object]) -> int:
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one core is left for the event loop
    parts = build_parts(settings)
    config = uvicorn.Config(
        build_app(settings, parts),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),  # otherwise a local client could claim any address
        forwarded_allow_ips=[*map(parse_proxy_address, settings.trusted_proxies)],
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
        lifespan="on",
        http=TimedHttpProtocol,
        ws="none",
        backlog=2048,
    )
    server = Server(config, parts.lifecycle, on_start)
    parts.lifecycle.on_failure = server.stop_now
    await server.serve()
    if parts.lifecycle.failure is not None:
        raise parts.lifecycle.failure
    return 0 if server.stopped_by is None else 128 + server.stopped_by


def build_parts(settings: ServerSettings) -> ServerParts:
    """The parts of the server; raises for wrong settings, before the port is opened."""
    metrics = Metrics()
    models = ModelRegistry(find_models(settings.models, settings.runs), engine=settings.engine)
    batcher = Batcher(settings.limits, metrics.record_batch, workers=settings.workers)
    gold = runs.GoldFiles(settings.gold)
    components = [
        gold,
        runs.EvaluationReportFile(settings.report),
        traces.TraceCache(),
        traces.HeadAlignmentCache(gold),
        captions.ExampleImageCache(),
    ]
    service = Service(models, settings.limits, ApiKeys(settings.keys), batcher, components)
    metrics.observe_queue(batcher)
    metrics.ready.set_function(lambda: sum(one.is_ready for one in models.all))
    metrics.load_failures.set_function(lambda: len(models.failing()))
    return ServerParts(service, Lifecycle(service), metrics)


def build_app(settings: ServerSettings, parts: ServerParts) -> ASGIApp:
    """All routes behind the admission middleware."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        watching = asyncio.ensure_future(parts.lifecycle.watch_models())
        yield
        watching.cancel()
        await parts.service.batcher.close()

    endpoints = all_endpoints(parts.metrics)
    app = Starlette(
        routes=[*page_routes(), *routes(endpoints, parts.service)],
        lifespan=lifespan,
        exception_handlers={Exception: _reraise, 404: _reraise, 405: _reraise},
    )
    host_policy = HostPolicy.from_options(settings.host, hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    admission = AdmissionMiddleware(
        app,
        parts.service,
        host_policy,
        parts.lifecycle,
        parts.metrics,
        queued_paths=[endpoint.path for endpoint in endpoints if endpoint.uses_queue],
    )
    if not host_policy.origins:
        return admission
    return CORSMiddleware(  # outermost, so that pages of allowed origins can read errors too
        admission,
        allow_origins=sorted(host_policy.origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
        expose_headers=["x-request-id", "x-regard-shape", "retry-after"],
    )


async def _reraise(request: Request, error: Exception) -> Response:  # noqa: ARG001
    raise error  # for the admission middleware, which knows the error format of each API


def all_endpoints(metrics: Metrics) -> list[Endpoint]:
    """The endpoints of every API, of health and metrics, and of the OpenAPI document."""
    described = [
        *text.ENDPOINTS,
        *traces.ENDPOINTS,
        *captions.ENDPOINTS,
        *runs.ENDPOINTS,
        *libretranslate.ENDPOINTS,
        *deepl.ENDPOINTS,
        *health_endpoints(metrics),
    ]
    document = openapi(described)

    async def send_document(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
        return json_response(document)

    path = "/api/v1/openapi.json"
    return [
        *described,
        Endpoint(method="GET", path=path, handler=send_document, key="none", summary="The OpenAPI document."),
    ]


def health_endpoints(metrics: Metrics) -> list[Endpoint]:
    """Liveness, readiness and metrics."""

    async def live(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
        return PlainTextResponse("alive\n")

    async def ready(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
        if not service.is_ready:
            raise ApiError(503, "not_ready", "No model is ready yet, or the server is stopping.", retry_after=1)
        return PlainTextResponse("ready\n")

    async def figures(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
        return metrics.page()

    declared = [
        ("/livez", live, "The process responds."),
        ("/readyz", ready, "A model is loaded and warmed up."),
        ("/metrics", figures, "Metrics for Prometheus."),
    ]
    return [
        Endpoint(method="GET", path=path, handler=handler, response=PLAIN_TEXT, key="none", summary=summary)
        for path, handler, summary in declared
    ]

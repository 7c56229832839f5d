"""The server put together: parts, routes, the door before them, and what runs beside them."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from regard.errors import RegardError
from regard.export.opening import EngineName
from regard.serve import own_api, page
from regard.serve.batcher import Batcher
from regard.serve.connections import connections_that
from regard.serve.finding import find_models
from regard.serve.front import Front
from regard.serve.gathering import GatheringSelector
from regard.serve.gold import GoldFiles
from regard.serve.lifecycle import Lifecycle, Server
from regard.serve.limits import Limits
from regard.serve.logs import start_logs
from regard.serve.metrics import Metrics
from regard.serve.models import Models
from regard.serve.openapi import Paths, document
from regard.serve.quality import Quality
from regard.serve.refusals import Refusal
from regard.serve.safety import Gate, Keys, trusted_address
from regard.serve.service import Service
from regard.serve.shedding import Shedder

SPOKEN = ("libretranslate", "deepl", "inference")  # the APIs of others


@dataclass(frozen=True)
class Settings:
    """All that a server is started with."""

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
    quality: Path | None = None
    limits: Limits = field(default_factory=Limits)
    workers: int = 1


@dataclass(frozen=True)
class Parts:
    """What the routes are made over."""

    service: Service
    lifecycle: Lifecycle
    metrics: Metrics
    gold: GoldFiles
    quality: Quality


def serve(settings: Settings, *, on_start: Callable[[str], object]) -> int:
    """Run the server until it is stopped; `on_start` gets its address, the exit code tells the signal."""
    _check_address(settings.host, settings.port)
    start_logs()
    selector = GatheringSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        return runner.run(_serve(settings, on_start, selector))


def _check_address(host: str, port: int) -> None:
    """Whether the address can be had, before models are loaded; uvicorn would say why not in its own words."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind, protocol) as probe:
            if sys.platform != "win32":  # where it would let two servers have one port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, UnicodeError) as error:  # the second for what cannot be a name
        reason = getattr(error, "strerror", None) or error
        raise RegardError(
            f"nothing can be served at {host}, port {port}: {reason}. Choose another port with --port (0: any "
            "free one), or an address of this machine with --host."
        ) from None


async def _serve(settings: Settings, on_start: Callable[[str], object], selector: GatheringSelector) -> int:
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one is left for the event loop
    parts = assemble(settings)
    selector.is_busy = lambda: parts.service.batcher.is_busy
    config = uvicorn.Config(
        application(settings, parts),
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),  # otherwise whoever is on this machine could name any address
        forwarded_allow_ips=[*map(trusted_address, settings.trusted_proxies)],
        timeout_keep_alive=30,
        timeout_graceful_shutdown=1,
        lifespan="on",
        http=connections_that(Shedder(parts.service.batcher, parts.lifecycle, parts.metrics).answer),
        ws="none",
        backlog=2048,
    )
    server = Server(config, parts.lifecycle, on_start)
    parts.lifecycle.on_failure = server.give_up
    await server.serve()
    if parts.lifecycle.failure is not None:
        raise parts.lifecycle.failure
    return 0 if server.stopped_by is None else 128 + server.stopped_by


def assemble(settings: Settings) -> Parts:
    """The parts; what was given wrongly is an error here, before the port is opened."""
    metrics, gold = Metrics(), GoldFiles(settings.gold)
    gold.check()
    models = Models(find_models(settings.models, settings.runs), engine=settings.engine)
    batcher = Batcher(settings.limits, metrics.decoded, workers=settings.workers)
    service = Service(models, settings.limits, Keys(settings.keys), batcher)
    metrics.watch(batcher)
    metrics.ready.set_function(lambda: sum(one.is_ready for one in models.all))
    metrics.failing.set_function(lambda: len(models.failing()))
    return Parts(service, Lifecycle(service), metrics, gold, Quality(settings.quality))


def application(settings: Settings, parts: Parts) -> Front:
    """All routes behind the door."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        watching = asyncio.ensure_future(parts.lifecycle.watch_models())
        yield
        watching.cancel()
        await parts.service.batcher.close()

    spoken = [import_module(f"regard.serve.{name}") for name in SPOKEN if find_spec(f"regard.serve.{name}")]
    schema = document(own_api.ROUTES_SCHEMA, *(module.ROUTES_SCHEMA for module in spoken), _HEALTH_SCHEMA)
    routes = [
        *_health(parts),
        *page.routes(),
        *own_api.routes(parts.service, parts.gold, parts.quality, schema),
        *(route for module in spoken for route in module.routes(parts.service)),
    ]
    inner = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Exception: _raise, 404: _raise, 405: _raise}
    )
    gate = Gate.of(settings.host, hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    return Front(inner, parts.service, gate, parts.lifecycle, parts.metrics)


def _health(parts: Parts) -> list[Route]:
    async def alive(request: Request) -> Response:  # noqa: ARG001
        return PlainTextResponse("alive\n")

    async def ready(request: Request) -> Response:  # noqa: ARG001
        if not parts.service.is_ready:
            raise Refusal(503, "not_ready", "No model is ready yet, or the server is stopping.", retry_after=1)
        return PlainTextResponse("ready\n")

    async def figures(request: Request) -> Response:  # noqa: ARG001
        return parts.metrics.page()

    return [Route("/livez", alive), Route("/readyz", ready), Route("/metrics", figures)]


async def _raise(request: Request, error: Exception) -> Response:  # noqa: ARG001
    raise error  # the door answers it


_TEXT: dict[str, Any] = {
    "200": {"description": "Plain text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
_HEALTH_SCHEMA: Paths = {
    "/livez": {"get": {"summary": "The process answers.", "responses": _TEXT}},
    "/readyz": {
        "get": {
            "summary": "A model has been loaded and has translated something.",
            "responses": {**_TEXT, "503": {"description": "Not yet, or no more."}},
        }
    },
    "/metrics": {"get": {"summary": "Figures for Prometheus.", "responses": _TEXT}},
}

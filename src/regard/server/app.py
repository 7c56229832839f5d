"""The server as a whole: settings, the endpoints of all APIs, health, and `serve`."""

import asyncio
import functools
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from regard.errors import RegardError
from regard.inference.interface import EngineName
from regard.interop.ctranslate2 import Quantization
from regard.pretrained import EVALUATION_FILE, EXAMPLES_FOLDER, is_pretrained
from regard.server.api import captions, classify, deepl, interventions, libretranslate, runs, text, traces
from regard.server.auth import ApiKeys, HostPolicy, parse_proxy_address
from regard.server.batcher import Batcher
from regard.server.endpoint import PLAIN_TEXT, Endpoint, Endpoints, json_response, routes
from regard.server.errors import ApiError
from regard.server.lifecycle import STOP_SIGNALS, Lifecycle, Server
from regard.server.limits import Limits
from regard.server.middleware import AdmissionMiddleware
from regard.server.models import ModelRegistry
from regard.server.monitoring import Metrics, start_logs
from regard.server.openapi import openapi
from regard.server.page import page_routes
from regard.server.service import Service
from regard.training.runs import find_models

ENDPOINTS = Endpoints()


@dataclass(frozen=True)
class ServerSettings:
    """The options of `regard serve`."""

    models: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    engine: EngineName = "auto"
    quantization: Quantization | None = None
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


def serve(settings: ServerSettings, *, on_start: Callable[[str], object]) -> int:
    """Run the server until it is stopped; `on_start` gets its address. The exit code is 128 plus the signal."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(one) for one in bind(settings.host, settings.port)]
        start_logs()
        code = asyncio.run(_run_server(settings, sockets, on_start))
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


async def _run_server(settings: ServerSettings, sockets: list[socket.socket], on_start: Callable[[str], object]) -> int:
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one core is left for the event loop
    lifecycle = Lifecycle(build_service(settings))
    config = uvicorn.Config(
        build_app(settings, lifecycle),
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
    server = Server(config, lifecycle, on_start)
    lifecycle.on_failure = server.stop_now
    watching = asyncio.ensure_future(lifecycle.watch_models())
    await server.serve(sockets)
    watching.cancel()
    if not server.force_exit:
        await lifecycle.service.batcher.close()
    if lifecycle.failure is not None:
        raise lifecycle.failure
    return 0 if server.stopped_by is None else 128 + server.stopped_by


def build_service(settings: ServerSettings) -> Service:
    """The service with all its parts; raises for wrong settings, before the port is opened."""
    metrics = Metrics()
    found = find_models(settings.models, settings.runs)
    models = ModelRegistry(found, engine=settings.engine, quantization=settings.quantization)
    batcher = Batcher(settings.limits, metrics.record_batch, workers=settings.workers)
    has_pretrained = any(is_pretrained(one.directory) for one in found)
    examples = sorted(file.with_suffix("") for file in EXAMPLES_FOLDER.glob("*.align")) if has_pretrained else []
    gold = runs.GoldFiles(*([settings.gold] if settings.gold else []), *examples)
    components = [
        metrics,
        gold,
        runs.EvaluationReports(settings.report, EVALUATION_FILE if has_pretrained else None),
        traces.TraceCache(),
        traces.HeadAlignmentCache(gold),
        captions.ExampleImageCache(),
    ]
    service = Service(models, settings.limits, ApiKeys(settings.keys), batcher, components)
    metrics.observe_queue(batcher)
    metrics.ready.set_function(lambda: sum(one.is_ready for one in models.all))
    metrics.load_failures.set_function(lambda: len(models.failing()))
    return service


def build_app(settings: ServerSettings, lifecycle: Lifecycle) -> ASGIApp:
    """All routes behind the admission middleware."""
    endpoints = all_endpoints()
    app = Starlette(
        routes=[*page_routes(), *routes(endpoints, lifecycle.service)],
        exception_handlers={Exception: _reraise, 404: _reraise, 405: _reraise},
    )
    host_policy = HostPolicy.from_options(settings.host, hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    queued_paths = [endpoint.path for endpoint in endpoints if endpoint.uses_queue]
    admission = AdmissionMiddleware(app, lifecycle, host_policy, queued_paths=queued_paths)
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
    raise error  # for the admission middleware, which has the error format of each API


@ENDPOINTS.add("GET", "/livez", response=PLAIN_TEXT, needs_key=False)
async def live() -> Response:
    """The process responds."""
    return PlainTextResponse("alive\n")


@ENDPOINTS.add("GET", "/readyz", response=PLAIN_TEXT, needs_key=False)
async def ready(service: Service) -> Response:
    """A model is loaded and warmed up."""
    if not service.is_ready:
        raise ApiError(503, "not_ready", "No model is ready yet, or the server is stopping.", retry_after=1)
    return PlainTextResponse("ready\n")


@ENDPOINTS.add("GET", "/metrics", response=PLAIN_TEXT, needs_key=False)
async def metrics(service: Service) -> Response:
    """Metrics for Prometheus."""
    return service.component(Metrics).page()


@ENDPOINTS.add("GET", "/api/v1/openapi.json", response=dict[str, Any], needs_key=False)
async def openapi_document() -> Response:
    """This document."""
    return json_response(_openapi_document())


@ENDPOINTS.add("GET", "/spec", response=dict[str, Any], needs_key=False)
async def libretranslate_document() -> Response:
    """The part of this document for clients of LibreTranslate, at its own path."""
    return json_response(openapi(libretranslate.ENDPOINTS))


@functools.cache
def _openapi_document() -> dict[str, Any]:
    return openapi(all_endpoints())


def all_endpoints() -> list[Endpoint]:
    """The endpoints of every API, of health and metrics, and of the OpenAPI document."""
    modules = (text, traces, interventions, captions, classify, runs, libretranslate, deepl)
    return [*(endpoint for module in modules for endpoint in module.ENDPOINTS), *ENDPOINTS]

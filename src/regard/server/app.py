"""The app: the endpoints of all APIs and of health behind the admission middleware, and the service that they call."""

import functools
import os
from typing import Any

import msgspec
import torch
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from regard.pretrained import EVALUATION_FILE, EXAMPLES_FOLDER, is_pretrained
from regard.server.api import captions, classify, deepl, libretranslate, runs, text, traces, what_if
from regard.server.batcher import Batcher
from regard.server.endpoint import PLAIN_TEXT, Endpoint, Endpoints, routes
from regard.server.errors import JSON, ApiError
from regard.server.lifecycle import Lifecycle
from regard.server.middleware import AdmissionMiddleware
from regard.server.models import ModelRegistry
from regard.server.monitoring import Metrics
from regard.server.openapi import openapi
from regard.server.page import page_routes
from regard.server.service import Service
from regard.server.settings import ServerParts

ENDPOINTS = Endpoints()


def build_service(parts: ServerParts) -> Service:
    """The service with all its parts."""
    settings, found = parts.settings, parts.models
    torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))  # one core is left for the event loop
    metrics = Metrics()
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
    service = Service(models, settings.limits, parts.keys, batcher, components)
    metrics.observe_queue(batcher)
    metrics.ready.set_function(lambda: sum(one.is_ready for one in models.all))
    metrics.load_failures.set_function(lambda: len(models.failing()))
    return service


def build_app(parts: ServerParts, lifecycle: Lifecycle) -> ASGIApp:
    """All routes behind the admission middleware."""
    endpoints = all_endpoints()
    app = Starlette(
        routes=[*page_routes(), *routes(endpoints, lifecycle.service)],
        exception_handlers={Exception: _reraise, 404: _reraise, 405: _reraise},
    )
    app.router.redirect_slashes = False  # a redirect to a path with or without a slash is no error format of any API
    host_policy = parts.host_policy
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
    return Response(_openapi_json(), media_type=JSON)


@ENDPOINTS.add("GET", "/spec", response=dict[str, Any], needs_key=False)
async def libretranslate_document() -> Response:
    """The part of this document for clients of LibreTranslate, at its own path."""
    return Response(_libretranslate_json(), media_type=JSON)


@functools.cache  # as bytes: clients that request it again and again must not keep others waiting
def _openapi_json() -> bytes:
    return msgspec.json.encode(openapi(all_endpoints()))


@functools.cache
def _libretranslate_json() -> bytes:
    return msgspec.json.encode(openapi(libretranslate.ENDPOINTS))


def all_endpoints() -> list[Endpoint]:
    """The endpoints of every API, of health and metrics, and of the OpenAPI document."""
    modules = (text, traces, what_if, captions, classify, runs, libretranslate, deepl)
    return [*(endpoint for module in modules for endpoint in module.ENDPOINTS), *ENDPOINTS]

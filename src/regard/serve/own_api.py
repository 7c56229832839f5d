"""The own API under /api/v1: its five parts, and the OpenAPI document of everything that is served."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve import api_language, api_runs, api_traces, api_translation, pictures
from regard.serve.answers import as_json
from regard.serve.gold import GoldFiles
from regard.serve.openapi import Paths
from regard.serve.quality import Quality
from regard.serve.readings import Readings
from regard.serve.service import Service

ROUTES_SCHEMA: Paths = {
    **api_translation.ROUTES_SCHEMA,
    **api_language.ROUTES_SCHEMA,
    **api_traces.ROUTES_SCHEMA,
    **api_runs.ROUTES_SCHEMA,
    **pictures.ROUTES_SCHEMA,
}


def routes(service: Service, gold: GoldFiles, quality: Quality, document: dict[str, Any]) -> list[Route]:
    """All routes under /api/v1; where keys are required, each asks for one."""
    parts = [
        *api_translation.TranslationRoutes(service).routes(),
        *api_language.LanguageRoutes(service).routes(),
        *api_traces.TraceRoutes(service, Readings(gold)).routes(),
        *api_runs.RunRoutes(service, gold, quality).routes(),
        *pictures.PictureRoutes(service).routes(),
    ]
    return [_locked(service, route) for route in parts] + [_document_route(document)]


def _locked(service: Service, route: Route) -> Route:
    endpoint: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def checked(request: Request) -> Response:
        service.check_key(request)
        return await endpoint(request)

    return Route(route.path, checked, methods=sorted(route.methods or {"GET"}))


def _document_route(document: dict[str, Any]) -> Route:
    async def answer(request: Request) -> Response:  # noqa: ARG001
        return as_json(document)

    return Route("/api/v1/openapi.json", answer)

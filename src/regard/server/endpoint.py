"""One declaration per route: an `Endpoint` gives parsing, API key, deadline, disconnect, response and OpenAPI document.

The modules of `regard.server.api` list their endpoints in `ENDPOINTS`; `routes` makes starlette routes of them. A
handler gets the service, the parsed body or query (None if the endpoint declares neither) and the request. It returns
a struct, which becomes JSON, a starlette `Response`, or an `EventStream`.
"""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from regard.server.errors import JSON, ApiError, ClientDisconnected, error_type, key_error, to_api_error
from regard.server.monitoring import log_exception
from regard.server.requests import MULTIPART, Upload, read_fields, read_json, read_query, read_upload
from regard.server.service import Service

BYTES = "application/octet-stream"
ONE_SENTENCE = "The model translates a text as one sentence: of several sentences, some may be missing in the output."
SPLIT_SENTENCES = "A text is split into sentences, which are translated one by one."

Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
NumberOrMean = Number | Literal["mean"]
Handler = Callable[[Service, Any, Request], Awaitable[object]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Content:
    """A body or response that is not JSON: its media type, its schema and the headers that come with it."""

    media: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string", "format": "binary"})
    headers: dict[str, Any] = field(default_factory=dict)


PLAIN_TEXT = Content("text/plain", {"type": "string"})
FLOATS = Content(
    BYTES, headers={"X-Regard-Shape": {"description": "Rows, columns.", "schema": {"type": "string"}, "required": True}}
)


def event_stream(*names: str) -> Content:
    """The response of a stream of server-sent events with these names."""
    properties = {"event": {"enum": list(names)}, "data": {"type": "string"}}
    return Content("text/event-stream", {"type": "object", "properties": properties, "required": list(properties)})


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A route and all that the server does around its handler."""

    method: Literal["GET", "POST", "DELETE"]
    path: str  # in starlette's notation: /runs/{name}/images/{probe:number}
    handler: Handler
    summary: str
    description: str = ""
    body: type[msgspec.Struct] | None = None
    body_format: Literal["json", "fields", "upload"] = "json"  # fields: JSON, a form or a query string
    upload_field: str = ""  # name of the file in a form, for body_format "upload"
    allow_raw_upload: bool = False  # the body may also be the file itself, or be empty
    query: type[msgspec.Struct] | None = None
    response: Any = None  # a type for JSON, or Content
    other_responses: dict[int, Any] = field(default_factory=dict)  # by status; None: no body
    uses_queue: bool = False  # the middleware refuses it before the body is read if the queue is full
    has_deadline: bool = True
    key: Literal["required", "none"] = "required"

    def has_field(self, name: str) -> bool:
        """Whether the body has a field of that name."""
        return self.body is not None and name in self.body.__struct_fields__


def routes(endpoints: Sequence[Endpoint], service: Service) -> list[Route]:
    """Starlette routes, one per path."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [_route(path, methods, service) for path, methods in by_path.items()]


def _route(path: str, methods: dict[str, Endpoint], service: Service) -> Route:
    async def answer(request: Request) -> Any:
        return await _handle(methods["GET" if request.method == "HEAD" else request.method], service, request)

    return Route(path, answer, methods=list(methods))


async def _handle(endpoint: Endpoint, service: Service, request: Request) -> "Response | EventStream":
    """Check the key, parse, and run the handler until the deadline or until the client disconnects."""
    lacks_key = endpoint.key == "required" and service.keys.required and not _has_key(endpoint, service, request)
    if lacks_key and not endpoint.has_field("api_key"):
        raise key_error(request.url.path)  # before the body is read
    body = await _parse(endpoint, service, request)
    if lacks_key:  # LibreTranslate's clients send it in the body
        fields = body.fields if isinstance(body, Upload) else body
        if service.keys.identify({}, given=fields.api_key) is None:
            raise key_error(request.url.path)
    work = endpoint.handler(service, body, request)
    if endpoint.has_deadline:
        work = within_deadline(service.limits.deadline, work)
    result = await cancel_on_disconnect(request, work)
    return result if isinstance(result, Response | EventStream) else json_response(result)


def _has_key(endpoint: Endpoint, service: Service, request: Request) -> bool:
    """Whether a valid key is in the headers, or in the query, as old clients of DeepL send it."""
    given = request.query_params.get("auth_key", "") if endpoint.has_field("auth_key") else ""
    keys = service.keys
    return keys.identify(request.headers) is not None or keys.identify({}, given=given) is not None


async def _parse(endpoint: Endpoint, service: Service, request: Request) -> Any:
    if endpoint.body is None:
        return None if endpoint.query is None else read_query(request, endpoint.query)
    if endpoint.body_format == "json":
        return await read_json(request, service.limits, endpoint.body)
    if endpoint.body_format == "fields":
        return await read_fields(request, service.limits, endpoint.body)
    return await read_upload(
        request, service.limits, endpoint.upload_field, endpoint.body, allow_raw=endpoint.allow_raw_upload
    )


async def within_deadline(seconds: float, work: Awaitable[Result]) -> Result:
    """The result of the work, or 503 after that many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise ApiError(
            503, "too_late", "The response was not ready in time. Send less at a time, or retry later.", retry_after=5
        ) from None


async def cancel_on_disconnect(request: Request, work: Awaitable[Result]) -> Result:
    """The result of the work, which is cancelled if the client disconnects; call it after the body was read."""

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, disconnect = asyncio.ensure_future(work), asyncio.ensure_future(wait_for_disconnect())
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        working.cancel()
        disconnect.cancel()


def json_response(value: object, *, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def floats_response(array: NDArray[np.float32]) -> Response:
    """A matrix as little-endian float32, row by row, with its shape in a header."""
    shape = ",".join(map(str, array.shape))
    return Response(array.astype("<f4").tobytes(), media_type=BYTES, headers={"x-regard-shape": shape})


def index_or_none(index: NumberOrMean) -> int | None:
    """The index of a layer or head; None for their mean."""
    return None if index == "mean" else index


# --- event streams ---


StreamEvent = tuple[str, Any]  # name, data
EmitEvent = Callable[[str, object], bool]  # name and data of an event; returns whether the client is still connected
FINAL_EVENTS = ("done", "error")


class EventStream:
    """A response of server-sent events; it ends early if the client disconnects."""

    def __init__(self, request: Request, events: AsyncIterator[StreamEvent]) -> None:
        self.request, self.events = request, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await cancel_on_disconnect(self.request, self._send_events(send))

    async def _send_events(self, send: Send) -> None:
        async for name, data in self.events:
            body = f"event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def stream_events(
    service: Service, work: Callable[[EmitEvent], Any], to_record: Callable[[Any], object], *, cost: int
) -> AsyncIterator[StreamEvent]:
    """The events that the work emits in a worker thread, then `done` with the record of its result, or `error`."""
    events: asyncio.Queue[StreamEvent] = asyncio.Queue()
    loop, has_disconnected = asyncio.get_running_loop(), threading.Event()

    def emit(name: str, data: object) -> bool:
        loop.call_soon_threadsafe(events.put_nowait, (name, data))
        return not has_disconnected.is_set()

    running = asyncio.ensure_future(
        within_deadline(service.limits.deadline, service.batcher.run_exclusive(lambda: work(emit), cost=cost))
    )
    running.add_done_callback(lambda done: events.put_nowait(_final_event(done, to_record)))
    try:
        while (event := await events.get())[0] not in FINAL_EVENTS:
            yield event
        yield event
    finally:
        has_disconnected.set()
        running.cancel()


def _final_event(done: asyncio.Future[Any], to_record: Callable[[Any], object]) -> StreamEvent:
    if done.cancelled():
        return "error", {"code": "cancelled", "message": "The client disconnected."}
    if (problem := done.exception()) is None:
        return "done", to_record(done.result())
    error = to_api_error(problem if isinstance(problem, Exception) else RuntimeError())
    if error.status == 500:
        log_exception("a stream failed", problem)
    return "error", {"code": error.code, "message": error.message}


# --- the OpenAPI document ---


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    types = list(dict.fromkeys(kind for endpoint in endpoints for kind in _types(endpoint)))
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, _simplify(schemas), strict=True))
    components = _simplify(components)
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        path = re.sub(r":\w+\}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, by_type, components)
    used = {name: schema for name, schema in components.items() if name not in _parameter_structs(endpoints)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "regard", "version": version("regard"), "summary": "Translation with attention to inspect."},
        "paths": paths,
        "components": {"schemas": used, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _types(endpoint: Endpoint) -> list[Any]:
    """Every type whose schema the operation needs."""
    kinds = [endpoint.body, endpoint.query, endpoint.response, *endpoint.other_responses.values()]
    kinds.append(error_type(endpoint.path))
    return [kind for kind in kinds if kind is not None and not isinstance(kind, Content)]


def _parameter_structs(endpoints: Sequence[Endpoint]) -> set[str]:
    """The names of structs that appear only as parameters or as fields of a form."""
    queries = {one.query.__name__ for one in endpoints if one.query}
    return queries | {
        one.body.__name__ for one in endpoints if one.body and (one.method == "GET" or one.body_format == "upload")
    }


def _operation(endpoint: Endpoint, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": endpoint.summary}
    if endpoint.description:
        operation["description"] = endpoint.description
    is_query = endpoint.method == "GET" or endpoint.allow_raw_upload
    query = endpoint.query or (endpoint.body if is_query else None)
    parameters = [_path_parameter(*match) for match in re.findall(r"\{(\w+)(:number)?\}", endpoint.path)]
    if query is not None:
        schema = components[query.__name__]
        required = schema.get("required", [])
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": own}
            for name, own in schema["properties"].items()
        ]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None and endpoint.method != "GET":
        operation["requestBody"] = _request_body(endpoint, by_type, components)
    return operation | {"responses": _responses(endpoint, by_type)}


def _path_parameter(name: str, convertor: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0, "maximum": 10**9 - 1} if convertor else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _request_body(endpoint: Endpoint, by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    if endpoint.body_format != "upload" or endpoint.body is None:
        return {"required": True, "content": {JSON: {"schema": by_type[endpoint.body]}}}
    binary = {"type": "string", "format": "binary"}
    form = {"type": "object", "properties": {endpoint.upload_field: binary}, "required": [endpoint.upload_field]}
    if endpoint.allow_raw_upload:
        return {"content": {BYTES: {"schema": binary}, MULTIPART: {"schema": form}}}
    fields = components[endpoint.body.__name__]
    form = {
        "type": "object",
        "properties": {endpoint.upload_field: binary, **fields["properties"]},
        "required": [endpoint.upload_field, *fields.get("required", [])],
    }
    return {"required": True, "content": {MULTIPART: {"schema": form}}}


def _responses(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    error = {"description": "An error.", "content": {JSON: {"schema": by_type[error_type(endpoint.path)]}}}
    responses: dict[str, Any] = {"4XX": error, "503": error}
    own = {} if endpoint.response is None else {200: endpoint.response}
    for status, kind in (own | endpoint.other_responses).items():
        response: dict[str, Any] = {"description": "Success."}
        if isinstance(kind, Content):
            response |= {"content": {kind.media: {"schema": kind.schema}}}
            response |= {"headers": kind.headers} if kind.headers else {}
        elif kind is not None:
            response["content"] = {JSON: {"schema": by_type[kind]}}
        responses[str(status)] = response
    return responses


def _simplify(schema: Any) -> Any:
    """The schema with tuples of one type as plain arrays: few tools support `prefixItems`."""
    if isinstance(schema, list | tuple):
        return [_simplify(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    new = {name: _simplify(one) for name, one in schema.items()}
    first, *others = new.get("prefixItems", [None])
    if first is not None and all(other == first for other in others):
        del new["prefixItems"]
        new["items"] = first
    return new

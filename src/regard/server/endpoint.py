"""One declaration per route: an `Endpoint` gives parsing, API key, deadline, disconnect, response and OpenAPI document.

A module of `regard.server.api` declares its endpoints in `ENDPOINTS`, each above its handler. The parameters of the
handler give the input: `service`, `request`, the parameters of the path, and one of `body` (JSON), `fields` (JSON, a
form or a query string), `query` and `upload`, whose type is what is parsed. It returns a struct, which becomes JSON, a
starlette `Response` or an `EventStream`. Its docstring is the description in the OpenAPI document.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from regard.server.errors import JSON, ApiError, ClientDisconnected, key_error, to_api_error
from regard.server.limits import client_address
from regard.server.monitoring import log_exception
from regard.server.requests import Upload, read_fields, read_json, read_query, read_upload
from regard.server.service import Service

BYTES = "application/octet-stream"
ONE_SENTENCE = "The model translates a text as one sentence: of several sentences, some may be missing in the output."
SPLIT_SENTENCES = "A text is split into sentences, which are translated one by one."

Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
NumberOrMean = Number | Literal["mean"]
Method = Literal["GET", "POST", "DELETE"]
InputName = Literal["body", "fields", "query", "upload"]
HandlerT = TypeVar("HandlerT", bound=Callable[..., Awaitable[object]])
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

    method: Method
    path: str  # in starlette's notation: /runs/{name}/images/{probe:number}
    handler: Callable[..., Awaitable[object]]
    parameters: frozenset[str]  # of the handler
    input_name: InputName | None
    input_type: Any  # of an upload, the type of the fields beside the file
    response: Any  # a type for JSON, or Content
    summary: str
    description: str
    other_responses: dict[int, Any] = field(default_factory=dict)  # by status; None: no body
    upload_field: str = ""  # name of the file in a form
    allow_raw_upload: bool = False  # the body may also be the file itself, or be empty
    uses_queue: bool = False  # the middleware refuses it before the body is read if the queue is full
    has_deadline: bool = True
    needs_key: bool = True

    async def parse(self, service: Service, request: Request) -> Any:
        """The input of the handler; None if it has none."""
        match self.input_name:
            case "query":
                return read_query(request, self.input_type)
            case "body":
                return await read_json(request, service.limits, self.input_type)
            case "fields":
                return await read_fields(request, service.limits, self.input_type)
            case "upload":
                field, allow_raw = self.upload_field, self.allow_raw_upload
                return await read_upload(request, service.limits, field, self.input_type, allow_raw=allow_raw)
        return None

    async def handle(self, service: Service, request: Request) -> "Response | EventStream":
        """Check the key, parse, and run the handler until the deadline or until the client disconnects."""
        key = getattr(request.state, "key", None)  # in the headers or in the query
        is_closed = self.needs_key and service.keys.required
        has_key_field = "api_key" in getattr(self.input_type, "__struct_fields__", ())
        may_have_key = has_key_field and "authorization" not in request.headers
        if is_closed and key is None and not may_have_key:
            raise key_error(self.path)  # before the body is read
        given = await self.parse(service, request)
        if key is None and may_have_key:
            key = service.keys.identify((given.fields if isinstance(given, Upload) else given).api_key)
            if key is not None:
                service.rate_limiter.charge_key(client_address(request), key)
        if is_closed and key is None:
            raise key_error(self.path)
        request.state.key = key
        values: dict[Any, Any] = {"service": service, "request": request, self.input_name: given, **request.path_params}
        work = self.handler(**{name: values[name] for name in self.parameters})
        if self.has_deadline:
            work = within_deadline(service.limits.deadline, work)
        result = await cancel_on_disconnect(request, work)
        return result if isinstance(result, Response | EventStream) else json_response(result)


class Endpoints(list[Endpoint]):
    """The endpoints of a module, each declared above its handler: `@ENDPOINTS.add("GET", "/api/v1/models")`."""

    def add(
        self, method: Method, path: str, *, response: Any = None, description: str = "", **options: Any
    ) -> Callable[[HandlerT], HandlerT]:
        """Declare an endpoint; `response` is for a handler whose return type is not that of the JSON."""

        def declare(handler: HandlerT) -> HandlerT:
            hints = get_type_hints(handler, include_extras=True)
            returned = hints.pop("return")
            input_name: Any = next((name for name in hints if name in get_args(InputName)), None)
            input_type = hints.get(input_name)
            summary, _, details = inspect.cleandoc(handler.__doc__ or "").partition("\n\n")
            endpoint = Endpoint(
                method=method,
                path=path,
                handler=handler,
                parameters=frozenset(hints),
                input_name=input_name,
                input_type=get_args(input_type)[0] if input_name == "upload" else input_type,
                response=response or (None if returned is Response else returned),
                summary=" ".join(summary.split()),
                description=" ".join([*details.split(), *description.split()]),
                **options,
            )
            self.append(endpoint)
            return handler

        return declare


def routes(endpoints: Sequence[Endpoint], service: Service) -> list[Route]:
    """Starlette routes, one per path."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    def route(path: str, methods: dict[str, Endpoint]) -> Route:
        async def answer(request: Request) -> Any:
            return await methods["GET" if request.method == "HEAD" else request.method].handle(service, request)

        return Route(path, answer, methods=list(methods))

    return [route(path, methods) for path, methods in by_path.items()]


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


class EventStream:
    """A response of server-sent events; it ends early if the client disconnects."""

    def __init__(self, request: Request, events: AsyncIterator[StreamEvent]) -> None:
        self.request, self.events = request, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def send_event(name: str, data: object) -> None:
            body = f"event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})

        async def send_events() -> None:
            async for name, data in self.events:
                await send_event(name, data)

        try:
            await cancel_on_disconnect(self.request, send_events())
        except asyncio.CancelledError as stopped:
            error = to_api_error(stopped)
            await send_event("error", {"code": error.code, "message": error.message})
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

    async def run() -> None:
        running = service.batcher.run_exclusive(lambda: work(emit), cost=cost)
        try:
            final = "done", to_record(await within_deadline(service.limits.deadline, running))
        except Exception as problem:
            error = to_api_error(problem)
            if error.status == 500:
                log_exception("a stream failed")
            final = "error", {"code": error.code, "message": error.message}
        events.put_nowait(final)

    task = asyncio.ensure_future(run())
    try:
        while (event := await events.get())[0] not in ("done", "error"):
            yield event
        yield event
    finally:
        has_disconnected.set()
        task.cancel()

"""A translation that is seen while it grows: the decode loop in a worker's thread, its steps as server-sent events."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from regard.batch import source_of
from regard.config import DecodingConfig
from regard.decoding.loop import steps
from regard.serve.front import as_refusal
from regard.serve.leaving import unless_client_leaves
from regard.serve.logs import tell_defect
from regard.serve.search import Search
from regard.serve.service import Service
from regard.serve.spans import record_of
from regard.translation.lines import LONGEST
from regard.translation.translator import Translation, Translator

Event = tuple[str, Any]  # name, data


class EventStream:
    """An answer made of server-sent events; it ends early when the client leaves."""

    def __init__(self, request: Request, events: AsyncIterator[Event]) -> None:
        self.request, self.events = request, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await unless_client_leaves(self.request, self._send(send))

    async def _send(self, send: Send) -> None:
        async for name, data in self.events:
            body = f"event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def streamed(service: Service, search: Search, text: str) -> AsyncIterator[Event]:
    """`partial` with the text so far, again and again; then `done` with the record, or `error`."""
    events: asyncio.Queue[Event] = asyncio.Queue()
    loop, has_left = asyncio.get_running_loop(), threading.Event()

    def show(partial: str) -> bool:
        loop.call_soon_threadsafe(events.put_nowait, ("partial", {"text": partial}))
        return not has_left.is_set()

    cost = search.cost(text)
    work = asyncio.ensure_future(service.batcher.alone(lambda: _finished(search, text, show), cost=cost))
    work.add_done_callback(lambda done: events.put_nowait(_last_event(text, done)))
    try:
        while (event := await events.get())[0] == "partial":
            yield event
        yield event
    finally:
        has_left.set()
        work.cancel()


def _finished(search: Search, text: str, show: Callable[[str], bool]) -> Translation:
    """The translation of the text, shown as it grows."""
    if not isinstance(search.translator, Translator):
        return search.run([text])[0][0]  # an export decodes out of sight
    return search.aligned([text], [[_steps(search.translator, text, search.config, show)]])[0][0]


def _steps(translator: Translator, text: str, config: DecodingConfig, show: Callable[[str], bool]) -> Translation:
    bundle = translator.bundle
    row = bundle.tokenizers.source.encode(text)
    if not row:
        return Translation("", 0.0, 0.0, [])
    best = None
    for found in steps(bundle.model, source_of([row[:LONGEST]], device=translator.device), config):  # type: ignore[arg-type]
        best = found
        if not show(bundle.tokenizers.target.decode(found.best()[0])):
            break
    ended = [] if best is None else sorted(best.ended[0], key=lambda one: -one.score)
    if not ended:
        return Translation("", 0.0, 0.0, [])  # the client has left: nobody will see it
    said = bundle.tokenizers.target.decode(ended[0].tokens)
    return Translation(said, ended[0].score, ended[0].log_probability, ended[0].tokens, is_cut=len(row) > LONGEST)


def _last_event(text: str, done: asyncio.Future[Any]) -> Event:
    if done.cancelled():
        return "error", {"code": "left", "message": "The client has left."}
    if (error := done.exception()) is None:
        return "done", record_of(text, done.result())
    refusal = as_refusal(error) if isinstance(error, Exception) else as_refusal(RuntimeError())
    if refusal.status == 500:
        tell_defect("a stream failed")
    return "error", {"code": refusal.code, "message": refusal.message}

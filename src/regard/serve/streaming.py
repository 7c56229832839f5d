"""Text that is seen while it grows: the decode loop in a worker's thread, its steps as server-sent events."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from regard.batch import source_of
from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import outputs_of, steps
from regard.models.interface import Generator, Source
from regard.serve.front import as_refusal
from regard.serve.leaving import unless_client_leaves
from regard.serve.logs import tell_defect
from regard.serve.search import Search
from regard.serve.service import Service
from regard.serve.spans import record_of
from regard.translation.translator import Translation, Translator

Event = tuple[str, Any]  # name, data
Events = AsyncIterator[Event]
Tell = Callable[[str, object], bool]  # an event's name and data; whether anyone still listens
LAST = ("done", "error")


class EventStream:
    """An answer made of server-sent events; it ends early when the client leaves."""

    def __init__(self, request: Request, events: Events) -> None:
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


async def growing(service: Service, work: Callable[[Tell], Any], last: Callable[[Any], object], *, cost: int) -> Events:
    """What the work tells as it goes on in a worker's thread; then `done` with the last of it, or `error`."""
    events: asyncio.Queue[Event] = asyncio.Queue()
    loop, has_left = asyncio.get_running_loop(), threading.Event()

    def tell(name: str, data: object) -> bool:
        loop.call_soon_threadsafe(events.put_nowait, (name, data))
        return not has_left.is_set()

    running = asyncio.ensure_future(service.batcher.alone(lambda: work(tell), cost=cost))
    running.add_done_callback(lambda done: events.put_nowait(_last_event(last, done)))
    try:
        while (event := await events.get())[0] not in LAST:
            yield event
        yield event
    finally:
        has_left.set()
        running.cancel()


def best_of_steps(
    model: Generator, source: Source, config: DecodingConfig, watch: Callable[[list[int]], bool]
) -> Hypothesis | None:
    """The best output of one source, whose tokens so far are watched after each step; None: the watcher has left."""
    for found in steps(model, source, config):
        if not watch(found.best()[0]):
            return None
    return outputs_of(found, model, source, config)[0][0]


def streamed(service: Service, search: Search, text: str) -> Events:
    """`partial` with the text so far, again and again; then `done` with the record, or `error`."""
    return growing(
        service,
        lambda tell: _finished(search, text, tell),
        lambda found: record_of(text, found),
        cost=search.cost(text),
    )


def _finished(search: Search, text: str, tell: Tell) -> Translation:
    """The translation of the text, told as it grows."""
    if not isinstance(search.translator, Translator):
        return search.run([text])[0][0]  # an export decodes out of sight
    return search.aligned([text], [[_translated(search.translator, text, search.config, tell)]])[0][0]


def _translated(translator: Translator, text: str, config: DecodingConfig, tell: Tell) -> Translation:
    model, target = translator.bundle.model, translator.bundle.tokenizers.target
    row = translator.bundle.tokenizers.source.encode(text)
    if not row:
        return Translation("", 0.0, 0.0, [])
    source = source_of([row[: translator.longest]], device=translator.device)
    best = best_of_steps(model, source, config, lambda tokens: tell("partial", {"text": target.decode(tokens)}))  # type: ignore[arg-type]
    if best is None:
        return Translation("", 0.0, 0.0, [])  # the client has left: nobody will see it
    said, is_cut = target.decode(best.tokens), len(row) > translator.longest
    return Translation(said, best.score, best.log_probability, best.tokens, is_cut=is_cut, is_ended=best.is_ended)


def _last_event(last: Callable[[Any], object], done: asyncio.Future[Any]) -> Event:
    if done.cancelled():
        return "error", {"code": "left", "message": "The client has left."}
    if (error := done.exception()) is None:
        return "done", last(done.result())
    refusal = as_refusal(error) if isinstance(error, Exception) else as_refusal(RuntimeError())
    if refusal.status == 500:
        tell_defect("a stream failed")
    return "error", {"code": refusal.code, "message": refusal.message}

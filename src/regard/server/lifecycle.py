"""From start to stop: load models as they appear, drain on a signal, and bound each connection in time and bytes."""

import asyncio
import gc
import math
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from regard.errors import RegardError
from regard.server.monitoring import log_error, log_info
from regard.server.service import Service

POLL_SECONDS = 1.0  # between checks for models that are new or have changed
DRAIN_SECONDS = 8.5  # for the requests that were admitted before the server stops
HEADER_TIMEOUT = 10.0  # seconds
TICKS_PER_SECOND = 10  # of uvicorn's main loop
MAX_HEADER_BYTES = 65_536  # of one request, its first line included
HEADERS_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Lifecycle:
    """Whether the server loads, serves or drains, and how many requests are active."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.failure: RegardError | None = None  # a required model cannot be loaded
        self.on_failure: Callable[[], object] = lambda: None
        self.active_requests = 0
        self._idle = asyncio.Event()

    @property
    def is_draining(self) -> bool:
        return self.service.is_draining

    @contextmanager
    def track_request(self, *, is_work: bool) -> Iterator[None]:
        """Count a request as active; a health probe is not work."""
        self.active_requests += is_work
        try:
            yield
        finally:
            self.active_requests -= is_work
            if not self.active_requests:
                self._idle.set()

    async def watch_models(self) -> None:
        """Load models that are new or have changed, for as long as the server runs."""
        while True:
            loaded = await asyncio.to_thread(self.service.models.load_changed)
            for model, problem in loaded:
                if problem is None:
                    log_info("a model is ready", model=model.name, engine=model.engine)
                elif model.is_required and not model.is_ready:
                    self.failure = problem
                    self.on_failure()
                else:
                    log_error(f"a model cannot be loaded: {problem}", model=model.name)
            if loaded:
                gc.collect()
                gc.freeze()  # models stay: scanning them in each collection would take a tenth of a second
            await asyncio.sleep(POLL_SECONDS)

    async def drain(self) -> None:
        """Refuse new requests; return when all admitted ones have their responses, or when the time is up."""
        self.service.is_draining = True
        log_info("draining", active_requests=self.active_requests)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.service.jobs.settle()
                while self.active_requests:
                    self._idle.clear()
                    await self._idle.wait()
        log_info("drained", unanswered=self.active_requests)


class Server(uvicorn.Server):
    """uvicorn's server, which drains before it stops; a second signal stops it at once."""

    def __init__(self, config: uvicorn.Config, lifecycle: Lifecycle, on_start: Callable[[str], object]) -> None:
        super().__init__(config)
        self.lifecycle, self.on_start = lifecycle, on_start
        self.stopped_by: int | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    def stop_now(self) -> None:
        """Stop without draining: there is nothing to serve."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.stopped_by is not None:
            super().handle_exit(signal.SIGINT, frame)
            self.force_exit = True
            return
        self.stopped_by = sig
        asyncio.get_event_loop().call_soon_threadsafe(self._start_to_drain)

    def _start_to_drain(self) -> None:
        async def drain_and_stop() -> None:
            await self.lifecycle.drain()
            self.should_exit = True

        self._draining = asyncio.ensure_future(drain_and_stop())

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_SECOND == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                connection.check_deadline(now)  # type: ignore[union-attr]
        return await super().on_tick(counter)


class TimedHttpProtocol(HttpToolsProtocol):
    """A connection whose request headers are bounded in bytes and in time, which uvicorn does not do with httptools.

    The time starts with the connection, later with the first byte of a request. The rest of a request that already has
    its response has the same time.
    """

    _deadline = math.inf  # on the clock of the event loop
    _is_in_headers = False
    _is_in_request = False
    _header_bytes = 0  # received of headers that are not complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._deadline = self.loop.time() + HEADER_TIMEOUT

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_answered = self.cycle is None or self.cycle.response_complete
        if not self._is_in_headers and not (self._is_in_request and is_answered):
            self._deadline = math.inf
        elif self._deadline == math.inf:
            self._deadline = self.loop.time() + HEADER_TIMEOUT
        self._header_bytes += len(data)
        if self._is_in_headers and self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(HEADERS_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._is_in_headers = self._is_in_request = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_request = False
        super().on_message_complete()

    def check_deadline(self, now: float) -> None:
        """Close the connection if its time is up; the server calls it once per second."""
        if now > self._deadline:
            self.transport.close()

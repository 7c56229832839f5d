"""From start to stop: load models as they appear, drain on a signal, and bound each connection in time and bytes."""

import asyncio
import functools
import gc
import heapq
import math
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from regard.errors import RegardError
from regard.languages import detect_language
from regard.server.monitoring import log_error, log_info, log_repetitions

if TYPE_CHECKING:
    from regard.server.service import Service

POLL_SECONDS = 1.0  # between checks for models that are new or have changed
DRAIN_SECONDS = 8.5  # for the requests that were admitted before the server stops
HEADER_TIMEOUT = 10.0  # seconds
WRITE_TIMEOUT = 10.0  # seconds in which a client must read something of what waits for it
LISTEN_BACKLOG = 2048  # connections that wait to be accepted
RESERVED_DESCRIPTORS = 50  # for files and models
SEND_BUFFER_BYTES = 131_072  # of the system for one connection, so that a client that never reads soon stands out
CLOSED_AT_A_TIME = 16  # connections, to make room for as many new ones
ACCEPT_RETRY_SECONDS = 0.02  # while there are as many connections as possible
STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
TICKS_PER_SECOND = 10  # of uvicorn's main loop
MAX_HEADER_BYTES = 65_536  # of one request, its first line included
HEADERS_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Lifecycle:
    """Whether the server loads, serves or drains, and how many requests are active."""

    def __init__(self, service: "Service") -> None:
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
        is_settled = True
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
            if not loaded and not is_settled:
                if self.service.pairs():  # it reads a file, which takes seconds: no model and no request should wait
                    await asyncio.to_thread(detect_language, "AI changes the world", ["en"])
                gc.collect()
                gc.freeze()  # models stay: scanning them in each collection would take a tenth of a second
            is_settled = not loaded
            await asyncio.sleep(POLL_SECONDS)

    async def drain(self, stop: Callable[[], object]) -> None:
        """Refuse new requests; stop when all admitted ones have their responses, or when the time is up."""
        self.service.is_draining = True
        log_info("draining", active_requests=self.active_requests)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self.service.jobs.settle()
                while self.active_requests:
                    self._idle.clear()
                    await self._idle.wait()
        log_info("drained", unanswered=self.active_requests)
        stop()


class Server(uvicorn.Server):
    """uvicorn's server, which drains before it stops; a second signal stops it at once."""

    def __init__(
        self, config: uvicorn.Config, on_start: Callable[[str], object], *, on_early_stop: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self.on_start = on_start
        self.on_early_stop = on_early_stop  # called if the server stops before the APIs are imported
        self.lifecycle: Lifecycle | None = None  # until the APIs are imported: no request has been admitted
        self.stopped_by: int | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._accepting: list[asyncio.Task[None]] = []
        self._accepted = 0  # connections that have no protocol yet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the sockets; not by uvicorn, whose server accepts more connections than it has descriptors for."""
        self.servers, self.started = [], True
        for listener in sockets or []:
            listener.listen(LISTEN_BACKLOG)
            listener.setblocking(False)
            self._accepting.append(asyncio.ensure_future(self._accept(listener)))
        host, port = (sockets or [])[0].getsockname()[:2]
        self.on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    async def _accept(self, listener: socket.socket) -> None:
        """Accept connections; while there are too many, close those that wait for their clients, the longest first."""
        loop, connections = asyncio.get_running_loop(), self.server_state.connections

        async def open_connection(accepted: socket.socket) -> None:
            try:
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
                await loop.connect_accepted_socket(
                    lambda: TimedHttpProtocol(self.config, self.server_state, app_state={}), accepted
                )
            except OSError:  # the client is gone already
                accepted.close()
            finally:
                self._accepted -= 1

        while True:
            while len(connections) + self._accepted >= max_connections():
                waiting: list[Any] = [one for one in connections if one.is_waiting]  # type: ignore[union-attr]
                for one in heapq.nsmallest(CLOSED_AT_A_TIME, waiting, key=lambda one: one.active_at):
                    one.close_early()
                await asyncio.sleep(0 if waiting else ACCEPT_RETRY_SECONDS)
            await wait_readable(listener)
            try:
                accepted, _ = listener.accept()
            except BlockingIOError:  # the client is gone already, or another process was faster
                continue
            except OSError as error:  # such as too many open files in the whole system
                log_error(f"a connection cannot be accepted: {error}")
                await asyncio.sleep(ACCEPT_RETRY_SECONDS)
            else:
                self._accepted += 1
                self._start_task(open_connection(accepted))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop_now(self) -> None:
        """Stop without draining."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals that stop the server; one that is ignored, as under nohup, stays ignored."""
        self._loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS if threading.current_thread() is threading.main_thread() else ():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.handle_exit)
        yield  # the handlers stay: a signal during the last steps must not break them off

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Drain on the first signal, stop without draining on the second, and end the process on the third."""
        if self.stopped_by is None:
            self.stopped_by = sig
            with suppress(RuntimeError):  # the event loop is closed: the server has stopped by itself
                self._loop.call_soon_threadsafe(self._begin_stop)
        elif not self.force_exit:
            self.should_exit = self.force_exit = True
        else:
            os._exit(128 + self.stopped_by)

    def _begin_stop(self) -> None:
        if self.lifecycle is None:
            self.on_early_stop()
            self.stop_now()
        else:
            self._start_task(self.lifecycle.drain(self.stop_now))

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_SECOND == 0:
            for connection in list(self.server_state.connections):
                connection.check_deadlines()  # type: ignore[union-attr]
            log_repetitions()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._accepting:
            task.cancel()
        await super().shutdown(sockets)
        tasks = set(self.server_state.tasks)
        for task in tasks if self.force_exit else ():  # otherwise uvicorn has cancelled those that took too long
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1)  # each still sends its error
        for connection in list(self.server_state.connections):
            connection.transport.abort()  # otherwise a client that reads nothing would hold the process


async def wait_readable(listener: socket.socket) -> None:
    """Wait for a client. `loop.sock_accept` may run once more after its task is cancelled, and log a traceback."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(listener, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(listener)


@functools.cache
def max_connections() -> int:
    """How many connections the descriptors of this process allow."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource  # Windows has none

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else max(RESERVED_DESCRIPTORS, soft - RESERVED_DESCRIPTORS)


class Http1Parser(httptools.HttpRequestParser):
    """Ignores that a client wants another protocol, as Java and curl want HTTP/2 with each request.

    httptools would take the body of such a request for the next request.
    """

    def __init__(self, protocol: "TimedHttpProtocol") -> None:
        self._protocol = protocol
        self._start()

    def _start(self) -> None:
        super().__init__(self._protocol)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does

    def feed_data(self, data: Any) -> None:
        """Parse; headers with such a wish are parsed again without it."""
        while True:
            try:
                super().feed_data(data)
            except httptools.HttpParserUpgrade as stopped:
                if not self._protocol.wants_upgrade:  # the method is CONNECT
                    raise
                data = self._protocol.head_without_upgrade() + data[stopped.args[0] :]
                self._start()
            else:
                return


class TimedHttpProtocol(HttpToolsProtocol):
    """A connection bounded in time and bytes, which uvicorn does not do with httptools.

    The time for the headers of a request starts with the connection, later with the first byte of the request. The rest
    of a request that already has its response has the same time. A client that reads nothing of its response for a
    while is disconnected.

    The main loop counts these seconds, and reads from all clients between any two. So a client loses no time while this
    process cannot run, such as while torch is loaded or a laptop sleeps.
    """

    _header_seconds = 0.0  # for which the headers have been awaited; -inf while none are
    _unread_seconds = 0  # for which the client has read nothing of what waits for it
    active_at = 0.0  # when the client last sent something, or read some of what waits for it; orders the connections
    _unsent = 0  # bytes that waited for the client at the last check
    _is_in_headers = False
    _is_in_request = False
    _header_bytes = 0  # received since the request or the last part of its body: headers, trailers, or chunk extensions

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = Http1Parser(self)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.active_at = self.loop.time()

    @property
    def is_waiting(self) -> bool:
        """Whether the client must send or read something before the server can continue."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered or self._is_in_request or self.transport.get_write_buffer_size() > 0

    def close_early(self) -> None:
        """Close the connection; what the client has not read is lost."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        self._header_bytes += len(data)
        super().data_received(data)
        if not self._unsent:  # otherwise a client that sends and never reads would not be disconnected
            self.active_at = self.loop.time()
        if not self._is_in_headers and self.cycle is not None and not self.cycle.response_complete:
            self._header_seconds = -math.inf
        else:
            self._header_seconds = max(0.0, self._header_seconds)
        if self._is_in_request and self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(HEADERS_TOO_LARGE)
            self.transport.close()

    @property
    def wants_upgrade(self) -> bool:
        """Whether the headers ask for another protocol; they are parsed again without that."""
        return self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers)

    def head_without_upgrade(self) -> bytes:
        """The request line and the headers that were parsed last, without the wish for another protocol."""
        first = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        others = [b"%s: %s" % (name, value) for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([first, *others, b"", b""])

    def on_message_begin(self) -> None:
        self._is_in_headers = self._is_in_request = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self.wants_upgrade:
            return
        self._is_in_headers = False
        target = re.match(rb"[^/]+://([^/?#]*)", self.url)
        if target and (b"host", target[1]) not in self.headers:
            self.headers.append((b"host", target[1]))  # refused: the hosts must agree
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._header_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.wants_upgrade:
            return
        self._is_in_request = False
        super().on_message_complete()

    def resume_writing(self) -> None:
        self._note_reading()
        super().resume_writing()

    def _note_reading(self) -> None:
        self.active_at, self._unread_seconds = self.loop.time(), 0

    def check_deadlines(self) -> None:
        """Close the connection if its time is up; the server calls it once per second."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        self._header_seconds += 1
        self._unread_seconds += bool(self._unsent)
        if self._unsent and (not before or self._unsent < before):
            self._note_reading()
        if self._unread_seconds > WRITE_TIMEOUT:
            self.transport.abort()
        elif self._header_seconds > HEADER_TIMEOUT:
            self.transport.close()

"""Connections whose requests must begin in time and within bounds, and that can refuse one before it is parsed."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
HEADER_BYTES = 65_536  # of one request, its first line included
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class JoinedWrites:
    """A transport on which an answer's head goes out together with what is written next, or soon by itself.

    Handing bytes to the system is the dearest part of a short answer, and uvicorn writes head and body apart.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or hold what is a head."""
        if not self._held and data.startswith(b"HTTP/1.1 ") and data.endswith(b"\r\n\r\n"):
            self._held = data
            self._loop.call_soon(self._release)
            return
        held, self._held = self._held, b""
        self._transport.write(held + data)

    def close(self) -> None:
        """Close, once all has been written."""
        self._release()
        self._transport.close()

    def _release(self) -> None:
        if self._held:
            self.write(b"")


class PromptConnection(HttpToolsProtocol):
    """A connection with bounds on a request's headers: on their bytes, and on the time that they take to come.

    The time begins with the connection, later with a request's first byte. What still comes of a request that has been
    answered has as much time.
    """

    shed: Callable[[bytes], bytes | None]
    _bound: asyncio.TimerHandle | None = None
    _is_in_headers = False
    _is_in_request = False
    _header_bytes = 0  # received of headers that are not complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._bound = self.loop.call_later(HEADER_SECONDS, self._close)

    def data_received(self, data: bytes) -> None:
        if not self._is_shed(data):
            super().data_received(data)
            self._bind(len(data))

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

    def connection_lost(self, exc: Exception | None) -> None:
        self._unbind()
        super().connection_lost(exc)

    @property
    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _is_shed(self, data: bytes) -> bool:
        """Whether these bytes were a whole request, and have been refused."""
        answer = None if self._is_in_request or not self._is_answered else self.shed(data)
        if answer is None:
            return False
        self.transport.write(answer)
        self._unbind()
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        return True

    def _bind(self, received: int) -> None:
        is_bound = self._is_in_headers or (self._is_in_request and self._is_answered)
        if not is_bound:
            self._unbind()
        elif self._bound is None:
            self._bound = self.loop.call_later(HEADER_SECONDS, self._close)
        self._header_bytes += received
        if self._is_in_headers and self._header_bytes > HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(TOO_LONG)
            self.transport.close()

    def _unbind(self) -> None:
        if self._bound is not None:
            self._bound.cancel()
            self._bound = None

    def _close(self) -> None:
        self._bound = None
        self.transport.close()


def connections_that(shed: Callable[[bytes], bytes | None]) -> type[PromptConnection]:
    """The class of connections that ask `shed` for an answer to each new request first."""
    return type("SheddingConnection", (PromptConnection,), {"shed": staticmethod(shed)})

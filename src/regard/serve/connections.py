"""Connections whose requests must begin in time: one that sends its headers byte by byte is closed, not kept."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class PromptConnection(H11Protocol):
    """A connection with a bound on the time from its start, or a request's first byte, to the last header."""

    _bound: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bound = self.loop.call_later(HEADER_SECONDS, self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_between_headers = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if is_between_headers and self._bound is None:
            self._bound = self.loop.call_later(HEADER_SECONDS, self._close)
        elif not is_between_headers:
            self._unbind()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unbind()
        super().connection_lost(exc)

    def _unbind(self) -> None:
        if self._bound is not None:
            self._bound.cancel()
            self._bound = None

    def _close(self) -> None:
        self._bound = None
        self.transport.close()

"""Connections whose requests must begin in time, and that can refuse one before it is parsed."""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0


class PromptConnection(H11Protocol):
    """A connection with a bound on the time from its start, or a request's first byte, to the last header."""

    shed: Callable[[bytes], bytes | None]
    _bound: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bound = self.loop.call_later(HEADER_SECONDS, self._close)

    def data_received(self, data: bytes) -> None:
        if not self._is_shed(data):
            super().data_received(data)
            self._bind()

    def _is_shed(self, data: bytes) -> bool:
        """Whether these bytes were a whole request, and have been refused."""
        is_between = self.conn.our_state is h11.IDLE and self.conn.their_state is h11.IDLE
        answer = self.shed(data) if is_between and not self.conn.trailing_data[0] else None
        if answer is None:
            return False
        self.transport.write(answer)
        self._unbind()
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)
        return True

    def _bind(self) -> None:
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


def connections_that(shed: Callable[[bytes], bytes | None]) -> type[PromptConnection]:
    """The class of connections that ask `shed` for an answer to each new request first."""
    return type("SheddingConnection", (PromptConnection,), {"shed": staticmethod(shed)})

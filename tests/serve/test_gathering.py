"""The loop that gathers while all workers are busy: nothing is lost, and other threads wake it at once."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from regard.serve import gathering
from regard.serve.gathering import GatheringSelector

LONG = 120.0  # seconds: a test that waited for such a moment would not end in time


class Counting(GatheringSelector):
    """A selector that counts how often it has looked and would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def select(self, timeout: float | None = None) -> list[tuple[object, int]]:  # type: ignore[override]
        self.looks += timeout != 0  # the loop asks in passing too, between two parts of its work
        return super().select(timeout)  # type: ignore[return-value]


def run(test: Callable[[Counting], Awaitable[None]]) -> None:
    selector = Counting()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(asyncio.wait_for(test(selector), 60))


async def received(selector: Counting, *, is_busy: bool, messages: int = 60) -> tuple[int, float]:
    """How often the loop looks while messages come, one a third of a millisecond, and for how long; all do come."""
    selector.is_busy = lambda: is_busy
    near, far = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near)

    def send() -> None:
        for _ in range(messages):
            far.send(b"x")
            time.sleep(0.0003)

    before, begun, thread = selector.looks, time.monotonic(), threading.Thread(target=send)
    thread.start()
    assert await reader.readexactly(messages) == b"x" * messages
    thread.join()
    far.close()
    writer.close()
    return selector.looks - before, time.monotonic() - begun


def test_a_busy_server_looks_once_in_a_moment_and_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOMENT", 0.05)

    async def test(selector: Counting) -> None:
        looks, seconds = await received(selector, is_busy=True)
        assert 1 <= looks <= 1 + seconds / gathering.MOMENT  # however long it takes here

    run(test)


def test_another_thread_and_a_timer_wake_it_in_the_middle_of_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOMENT", LONG)

    async def test(selector: Counting) -> None:
        selector.is_busy = lambda: True
        assert await asyncio.to_thread(lambda: "done") == "done"
        await asyncio.sleep(0.01)

    run(test)


def test_a_loop_that_is_not_busy_hears_of_everything_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOMENT", LONG)

    async def test(selector: Counting) -> None:
        looks, _ = await received(selector, is_busy=False, messages=3)
        assert looks > 0

    run(test)

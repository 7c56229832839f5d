"""Signals: answered at once while data are prepared, then a question that the training loop asks after each step."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from regard.cli.running.telling import tell

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noted_signals() -> Iterator[Callable[[], int | None]]:
    """Within the block the first signal is noted, so that a step can end and be saved; a second one stops at once."""
    noted: list[int] = []
    before = {number: signal.getsignal(number) for number in STOPPING}

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in STOPPING:
        signal.signal(number, note)
    try:
        yield lambda: noted[0] if noted else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def answered_signals() -> Iterator[None]:
    """Within the block a signal gets a word at once, and a second one ends the process.

    Python itself notices a signal only when the call that is under way returns, and learning a vocabulary is one call.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    before = signal.set_wakeup_fd(writing.fileno())
    answering = threading.Thread(target=_answer, args=(reading,), daemon=True)
    answering.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writing.close()
        answering.join()
        reading.close()


def _answer(signals: socket.socket) -> None:
    has_answered = False
    while number := signals.recv(1):
        if number[0] not in STOPPING:
            continue
        if has_answered:
            os._exit(128 + number[0])
        tell("stopping as soon as this step of the preparation ends; a second signal stops at once", to_error=True)
        has_answered = True

"""Reasons to stop: answered at once while data are prepared, then a question that the loop asks after each step."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from regard.cli.running.telling import tell, try_to_tell

INSISTENT = (signal.SIGINT, signal.SIGTERM)  # a second one is someone's impatience
# A closed terminal sends two of them, one from its shell and one from the system; Windows has none.
STOPPING = (*INSISTENT, signal.SIGHUP) if hasattr(signal, "SIGHUP") else INSISTENT
BROKEN_PIPE: int = getattr(signal, "SIGPIPE", 13)  # Windows, again


class Stopping:
    """A reason to stop after this step, as soon as there is one."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> int | None:
        """The first signal that came; SIGPIPE stands for output that cannot be written."""
        return self.signal

    @contextmanager
    def if_untold(self) -> Iterator[None]:
        """Within the block a run's output is written; where that fails it is a reason to stop, and not an error."""
        try:
            yield
        except OSError as error:
            if self.signal is None:
                try_to_tell(f"the output cannot be written ({error.strerror}): stopping after this step")
            self.signal = self.signal or BROKEN_PIPE


def heeded() -> list[signal.Signals]:
    """The signals that stop a run, but for those that the process was told to ignore, as by nohup."""
    return [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def noted_signals() -> Iterator[Stopping]:
    """Within the block the first signal is noted, so that a step can end and be saved; a second insistent one stops.

    A closed terminal's second signal may come behind the block: once the first was noted, it says nothing new.
    """
    stopping = Stopping()
    before = {number: signal.getsignal(number) for number in STOPPING}

    def note(number: int, _frame: FrameType | None) -> None:
        stopping.signal = stopping.signal or number
        if number in INSISTENT:
            for each in INSISTENT:
                signal.signal(each, before[each])
        else:
            before[signal.Signals(number)] = signal.SIG_IGN

    for number in heeded():
        signal.signal(number, note)
    try:
        yield stopping
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
        if number[0] not in INSISTENT:
            continue
        if has_answered:
            os._exit(128 + number[0])
        tell("stopping as soon as this step of the preparation ends; a second signal stops at once", to_error=True)
        has_answered = True

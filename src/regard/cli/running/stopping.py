"""Signals turned into a question that the training loop asks after each step."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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

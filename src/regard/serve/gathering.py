"""An event loop that, while all workers decode, looks at its connections a few hundred times a second and no more.

Python runs one thread at a time, and decoding gives way each time that the loop wakes up: under many times the load
that can be borne, for every request to refuse. So requests are gathered for a moment. Nothing is lost by it: what comes
in then could not begin before a worker is free, and a worker that has finished is heard at once.
"""

import selectors
import time
from collections.abc import Callable
from typing import Any

MOMENT = 0.004  # seconds


class GatheringSelector(selectors.DefaultSelector):
    """A selector that looks again only after a moment, as long as `is_busy` says so; other threads wake it sooner."""

    def __init__(self) -> None:
        super().__init__()
        self.is_busy: Callable[[], bool] = lambda: False
        self._woken: selectors.BaseSelector | None = None
        self._looked = 0.0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self._woken is None:  # the loop's first is the one by which other threads wake it
            self._woken = selectors.DefaultSelector()
            self._woken.register(fileobj, events)
        return super().register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            timeout = self._gathered(timeout)
        ready = super().select(timeout)
        self._looked = time.monotonic()
        return ready

    def close(self) -> None:
        if self._woken is not None:
            self._woken.close()
        super().close()

    def _gathered(self, timeout: float | None) -> float | None:
        """Let the moment pass; what is left of the timeout."""
        before = time.monotonic()
        moment = self._looked + MOMENT - before
        if moment <= 0 or self._woken is None or not self.is_busy():
            return timeout
        self._woken.select(moment if timeout is None else min(moment, timeout))
        return None if timeout is None else max(0.0, timeout - (time.monotonic() - before))

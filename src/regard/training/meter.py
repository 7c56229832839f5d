"""How fast a run goes and what its loss is, since it was last told."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from regard.training.journal import Progressed

TELL_EVERY = 5.0  # seconds between two progress events


class Meter:
    """The loss and the speed since they were last told, and the time spent training in all."""

    def __init__(self, earlier: float) -> None:
        self.earlier = earlier  # seconds of earlier sittings
        self.started = self.told = time.monotonic()
        self.loss, self.tokens = 0.0, 0

    def add(self, loss: float, tokens: int) -> None:
        """Count a step's summed loss and its real target tokens."""
        self.loss += loss
        self.tokens += tokens

    @property
    def seconds(self) -> float:
        return self.earlier + time.monotonic() - self.started

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.told >= TELL_EVERY and self.tokens > 0

    def read(self, step: int, *, rate: float, epoch: int) -> Progressed:
        """What has happened since the last reading."""
        now = time.monotonic()
        event = Progressed(
            step=step,
            loss=self.loss / max(self.tokens, 1),
            rate=rate,
            tokens_per_second=self.tokens / max(now - self.told, 1e-9),
            seconds=self.seconds,
            epoch=epoch,
        )
        self.loss, self.tokens, self.told = 0.0, 0, now
        return event

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock: validating and saving are not training."""
        begun = time.monotonic()
        yield
        pause = time.monotonic() - begun
        self.told += pause
        self.started += pause

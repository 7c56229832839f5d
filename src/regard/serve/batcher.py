"""One queue for all clients: what can be decoded together is, the longest-waiting first.

The queue lives on the event loop; batches run in threads, a few at a time. An item whose client has left is taken out
at once, and a batch that nobody waits for any more ends early. When the wait would be too long, a request is refused
before anything is done for it.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from regard.serve.limits import Limits
from regard.serve.refusals import Refusal

LINGER_SHARE, LONGEST_LINGER = 0.3, 0.03  # of the last batch's seconds; seconds: how long a worker waits for more
SLICE = 8  # answers given out before other requests have their turn
ALIKE = 4  # items go together when neither costs more than this many times the other: a batch lasts as its longest
MEMORY = 0.7  # weight of the past in the measured speed
WHILE = 0.5  # seconds after which a busy server is asked again
PATIENCE = 0.05  # seconds of waiting below which nobody is refused, however slow the first measurements


class Work(Hashable, Protocol):
    """What is done to items; equal works are done together."""

    @property
    def budget(self) -> int:
        """How much one batch may cost, each item counted as the dearest."""

    def cost(self, item: Any) -> int:
        """About how much work the item is, in tokens."""

    def run(self, items: list[Any], is_wanted: Callable[[], bool]) -> list[Any]:
        """The results, in order; called in a thread. It may raise `LeftOffError` once nobody wants them."""


class LeftOffError(Exception):
    """Work that was not done to its end, since all who wanted it have left."""


@dataclass(eq=False)
class Place:
    """An item in the queue."""

    work: Work
    item: Any
    cost: int
    result: asyncio.Future[Any]
    since: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Finished:
    """What is told of a batch that has run."""

    work: Work
    items: list[Any]
    results: list[Any]
    cost: int
    seconds: float


@dataclass(frozen=True)
class Alone:
    """Work on its own, such as a trace; no two are done together."""

    function: Callable[[], Any]
    tokens: int
    budget: int = 1

    def cost(self, item: Any) -> int:  # noqa: ARG002
        return self.tokens

    def run(self, items: list[Any], is_wanted: Callable[[], bool]) -> list[Any]:  # noqa: ARG002
        return [self.function()]


class Batcher:
    """The queue, and the threads that work it off."""

    def __init__(self, limits: Limits, told: Callable[[Finished], object], *, workers: int = 1) -> None:
        self.limits = limits
        self.told = told
        self.waiting: dict[Place, None] = {}  # in the order of arrival
        self.waiting_cost = 0
        self.speed = 2000.0  # cost a second, as measured
        self._free = self._workers = workers
        self._turns = asyncio.Semaphore(workers)  # of those who are in no hurry
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="decoding")
        self._expected = 1  # items: those who wait, and those who were just answered and may come back
        self._until = 0.0  # when the wait for them is over
        self._linger: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    # --- from the requests' side ---

    @property
    def expected_wait(self) -> float:
        """Seconds that a new request would wait for a worker, as far as is known."""
        return self.waiting_cost / self.speed

    @property
    def is_busy(self) -> bool:
        """Whether every worker has a batch."""
        return not self._free

    def check_room(self) -> None:
        """Refuse when the queue is full; asked before a body is read, and again when it has been."""
        if (refusal := self.refusal()) is not None:
            raise refusal

    def refusal(self) -> Refusal | None:
        """What a new request would be answered, if there is no room for it."""
        wait = self.expected_wait
        is_full = len(self.waiting) >= self.limits.waiting_texts
        return busy(wait / 2) if is_full or wait > max(self.limits.waiting_seconds, PATIENCE) else None

    async def submit(self, work: Work, items: list[Any]) -> list[Any]:
        """The results of the items, which wait, and are decoded, with those of other clients."""
        if not items:
            return []
        self.check_room()
        try:
            async with asyncio.timeout(self.limits.deadline):
                return await self._results(work, items)
        except TimeoutError:
            raise Refusal(
                503, "too_late", "The answer was not ready in time. Try again later.", retry_after=5
            ) from None

    async def submit_patiently(self, work: Work, items: list[Any]) -> list[Any]:
        """The results of items that nobody is in a hurry for: they wait for room, and are never too late.

        At any time only as many requests as there are workers have theirs in the queue, so that others find room.
        """
        async with self._turns:
            while self.refusal() is not None:
                await asyncio.sleep(WHILE)
            return await self._results(work, items)

    async def alone(self, function: Callable[[], Any], *, cost: int) -> Any:
        """The result of a function that has a worker for itself."""
        return (await self.submit(Alone(function, cost), [None]))[0]

    async def close(self) -> None:
        """Wait for what is running; nothing may be submitted any more."""
        while self._running:
            await asyncio.wait(self._running)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _results(self, work: Work, items: list[Any]) -> list[Any]:
        places = [self._enter(work, item) for item in items]
        self._pump()  # not before all are there: the first would be decoded by itself
        try:
            return [await place.result for place in places]
        finally:
            for place in places:
                self._leave(place)

    def _enter(self, work: Work, item: Any) -> Place:
        place = Place(work, item, work.cost(item), asyncio.get_running_loop().create_future())
        self.waiting[place] = None
        self.waiting_cost += place.cost
        return place

    def _leave(self, place: Place) -> None:
        place.result.cancel()
        if place in self.waiting:
            del self.waiting[place]
            self.waiting_cost -= place.cost

    # --- from the workers' side ---

    def _pump(self) -> None:
        """Give free workers batches, now or in a moment."""
        while self._free and self.waiting and not self._should_linger():
            self._start(self._next_batch())

    def _should_linger(self) -> bool:
        """Clients that were answered often ask again: for a moment, a batch waits to hold them all.

        A client that is alone never waits, and a batch that is full does not either.
        """
        first = next(iter(self.waiting))
        left = self._until - time.monotonic()
        if left <= 0 or len(self.waiting) >= self._expected or self.waiting_cost >= first.work.budget:
            return False
        if self._linger is None:
            self._linger = asyncio.get_running_loop().call_later(left, self._lingered)
        return True

    def _lingered(self) -> None:
        self._linger = None
        self._until = 0.0
        self._pump()

    def _next_batch(self) -> list[Place]:
        """The longest-waiting item, and those like it, in order of arrival, as far as the budget goes."""
        first = next(iter(self.waiting))
        batch: list[Place] = []
        dearest = 0
        for place in self.waiting:
            if place.work != first.work or not first.cost / ALIKE <= place.cost <= first.cost * ALIKE:
                continue
            cost = max(dearest, place.cost)
            if batch and cost * (len(batch) + 1) > first.work.budget:
                break
            batch.append(place)
            dearest = cost
        for place in batch:
            del self.waiting[place]
            self.waiting_cost -= place.cost
        return batch

    def _start(self, batch: list[Place]) -> None:
        self._free -= 1
        running = asyncio.get_running_loop().create_task(self._run(batch))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _run(self, batch: list[Place]) -> None:
        begun = time.monotonic()
        work, items = batch[0].work, [place.item for place in batch]

        def is_wanted() -> bool:
            return not all(place.result.done() for place in batch)

        try:
            results = await asyncio.get_running_loop().run_in_executor(self._threads, work.run, items, is_wanted)
        except Exception as error:
            for place in batch:
                _refuse(place, error)
            self._go_on(0, 0.0)
        else:
            seconds = time.monotonic() - begun
            self._go_on(len(batch), seconds)
            self._learn(Finished(work, items, results, sum(place.cost for place in batch), seconds))
            await _give_out(batch, results)

    def _go_on(self, size: int, seconds: float) -> None:
        """A worker is free again; what it did tells what to expect."""
        self._free += 1
        self._expected = size + len(self.waiting)
        self._until = time.monotonic() + min(LONGEST_LINGER, LINGER_SHARE * seconds)
        self._pump()

    def _learn(self, finished: Finished) -> None:
        if not isinstance(finished.work, Alone):
            measured = finished.cost / max(finished.seconds, 1e-3)
            self.speed = MEMORY * self.speed + (1 - MEMORY) * measured
        self.told(finished)


def busy(seconds: float) -> Refusal:
    """The refusal of a request that finds no room."""
    return Refusal(429, "busy", "The server is busy. Try again later.", retry_after=max(1.0, seconds))


async def _give_out(batch: list[Place], results: list[Any]) -> None:
    """Let everyone have his result; in slices, since each wakes a request that has an answer to write."""
    for number, (place, result) in enumerate(zip(batch, results, strict=True), start=1):
        if not place.result.done():
            place.result.set_result(result)
        if number % SLICE == 0:
            await asyncio.sleep(0)


def _refuse(place: Place, error: Exception) -> None:
    if not place.result.done():
        place.result.set_exception(error)
        place.result.exception()  # whoever waited may have left: then nobody else asks for it

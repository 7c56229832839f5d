"""One queue for all clients: dynamic batches of items that can be decoded together, the longest-waiting item first.

The queue lives on the event loop; batches run in threads, a few at a time. An item whose client disconnected leaves the
queue at once, and a batch that no client waits for ends early. If the wait would be too long, a request is refused.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from regard.config import DecodingConfig
from regard.inference.translator import Translation, Translator
from regard.interventions import AnyIntervention
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.tracing.alignment import HeadSelection, align_token_pairs
from regard.tracing.interventions import intervene

BATCH_WAIT_SHARE, MAX_BATCH_WAIT = 0.3, 0.03  # how long a free worker waits for more items: of the last batch; seconds
RESULTS_PER_SLICE = 8  # results delivered before other requests get a turn on the event loop
MAX_COST_RATIO = 4  # between items of one batch, since a batch takes as long as its longest item
SPEED_SMOOTHING = 0.7  # weight of the past in the measured speed
RETRY_SECONDS = 0.5  # between tries of those that wait for room in the queue
MIN_WAIT_SECONDS = 0.05  # a shorter wait is never too long, however slow the first measurements
BATCH_TOKEN_BUDGET = 2048  # tokens decoded together, those of the beam included: more would delay other clients
BYTES_PER_TOKEN = 4  # in UTF-8, roughly: an English word of four letters, or one and a third Korean syllables


class BatchJob(Hashable, Protocol):
    """What is done to items; items of equal jobs may share a batch."""

    @property
    def budget(self) -> int:
        """The maximum cost of one batch, each item counted as the most expensive one."""

    def cost(self, item: Any) -> int:
        """The approximate cost of the item, in tokens."""

    def run(self, items: list[Any], is_wanted: Callable[[], bool]) -> list[Any]:
        """The results, in order; called in a thread. It may raise `BatchCancelled` once no client waits for them."""


class BatchCancelled(Exception):  # noqa: N818
    """The job stopped early, since every client that waited for it disconnected."""


@dataclass(eq=False)
class QueueItem:
    """An item in the queue."""

    job: BatchJob
    item: Any
    cost: int
    result: asyncio.Future[Any]


@dataclass(frozen=True)
class BatchResult:
    """A batch that has run."""

    job: BatchJob
    items: list[Any]
    results: list[Any]
    cost: int
    seconds: float


@dataclass(frozen=True)
class ExclusiveJob:
    """A function that has a worker to itself, such as a trace; no two share a batch."""

    function: Callable[[], Any]
    tokens: int
    budget: int = 1

    def cost(self, item: Any) -> int:  # noqa: ARG002
        return self.tokens

    def run(self, items: list[Any], is_wanted: Callable[[], bool]) -> list[Any]:  # noqa: ARG002
        return [self.function()]


@dataclass(frozen=True)
class DecodeRequest:
    """The decoding options of a request; a beam size of None is the model's own, within the limits."""

    beam_size: int | None = None
    nbest: int = 1
    align: bool = False
    interventions: tuple[AnyIntervention, ...] = ()
    sample: tuple[str, ...] = ()  # for the interventions that replace a head by its mean


@dataclass(frozen=True)
class TranslateJob:
    """Translation by one model with one set of options."""

    translator: Translator
    config: DecodingConfig
    head_selection: HeadSelection | None = None  # for word alignment; None: without
    pair: str = ""  # for the metrics
    interventions: tuple[AnyIntervention, ...] = ()
    sample: tuple[str, ...] = ()

    @property
    def budget(self) -> int:
        return BATCH_TOKEN_BUDGET

    def cost(self, item: str) -> int:
        """The approximate number of decoded tokens, those of all hypotheses together."""
        return estimate_tokens(item) * self.config.beam_size

    def batch_size(self, item: str) -> int:
        """How many items of this length fit into one batch."""
        return max(1, self.budget // self.cost(item))

    def run(self, items: list[str], is_wanted: Callable[[], bool] = lambda: True) -> list[list[Translation]]:
        """The translations of each text; decoding stops at its next step if they are no longer wanted."""

        def stop_if_unwanted(finished: int) -> None:  # noqa: ARG001
            if not is_wanted():
                raise BatchCancelled

        align = self.head_selection or False
        with self.intervene(items):
            return list(self.translator.translate_lines(items, self.config, align=align, progress=stop_if_unwanted))

    @contextmanager
    def intervene(self, texts: list[str]) -> Iterator[None]:
        """The interventions of the job; a mean is taken over its sample, or else over the texts."""
        with intervene(self.translator, *self.interventions, sample=self.sample or texts):
            yield

    def align(self, text: str, output: Translation) -> Translation:
        """The output with its word alignment, if the job has a head for it."""
        if self.head_selection is None:
            return output
        pairs = [(self.translator.encode(text), output.tokens)]
        bundle = self.translator.require_bundle("alignments")
        return replace(output, alignment=next(align_token_pairs(bundle, pairs, self.head_selection)))


def estimate_tokens(text: str) -> int:
    """The approximate number of tokens of a text."""
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 2


class Batcher:
    """The queue and the worker threads."""

    def __init__(self, limits: Limits, on_batch: Callable[[BatchResult], object], *, workers: int = 1) -> None:
        self.limits = limits
        self.on_batch = on_batch
        self.waiting: dict[QueueItem, None] = {}  # in the order of arrival
        self.waiting_cost = 0
        self.speed = 2000.0  # cost per second, as measured
        self._free_workers = workers
        self._background = asyncio.Semaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="decoding")
        self._expected = 1  # items: those that wait, and those just delivered, whose clients may send more
        self._wait_until = 0.0
        self._wait_timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    # --- for requests ---

    @property
    def expected_wait(self) -> float:
        """Seconds that a new request would wait for a worker, as far as is known."""
        return self.waiting_cost / self.speed

    @property
    def is_busy(self) -> bool:
        """Whether every worker has a batch."""
        return not self._free_workers

    @property
    def is_full(self) -> bool:
        """Whether a new request would be refused."""
        max_wait = max(self.limits.max_wait_seconds, MIN_WAIT_SECONDS)
        return len(self.waiting) >= self.limits.max_queue or self.expected_wait > max_wait

    def require_capacity(self) -> None:
        """Raise if the queue is full.

        The middleware calls it before a body is read; `submit` again, since other requests may have come meanwhile.
        """
        if self.is_full:
            wait = max(1.0, self.expected_wait / 2)
            raise ApiError(429, "busy", "The server is busy. Retry later.", retry_after=wait)

    async def submit(self, job: BatchJob, items: list[Any]) -> list[Any]:
        """The results of the items, which share batches with those of other clients."""
        self.require_capacity()
        return await self._results(job, items)

    async def submit_background(self, job: BatchJob, items: list[Any]) -> list[Any]:
        """The results of items that wait for room instead of being refused.

        Only as many such requests as there are workers are in the queue at a time, so that others find room.
        """
        async with self._background:
            while self.is_full:
                await asyncio.sleep(RETRY_SECONDS)
            return await self._results(job, items)

    async def run_exclusive(self, function: Callable[[], Any], *, cost: int) -> Any:
        """The result of a function that has a worker to itself; `cost` is its approximate number of tokens."""
        return (await self.submit(ExclusiveJob(function, cost), [None]))[0]

    async def close(self) -> None:
        """Wait for the running batches; nothing may be submitted any more."""
        while self._running:
            await asyncio.wait(self._running)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _results(self, job: BatchJob, items: list[Any]) -> list[Any]:
        loop = asyncio.get_running_loop()
        queued = [QueueItem(job, item, job.cost(item), loop.create_future()) for item in items]
        self.waiting |= dict.fromkeys(queued)
        self.waiting_cost += sum(one.cost for one in queued)
        self._dispatch()  # after all are queued: otherwise the first would be a batch by itself
        try:
            return [await one.result for one in queued]
        finally:
            for one in queued:
                one.result.cancel()
                self._remove(one)

    def _remove(self, queued: QueueItem) -> None:
        if queued in self.waiting:
            del self.waiting[queued]
            self.waiting_cost -= queued.cost

    # --- for workers ---

    def _dispatch(self) -> None:
        """Start batches on the free workers, now or after a short wait."""
        while self._free_workers and self.waiting and not self._should_wait():
            self._free_workers -= 1
            running = asyncio.get_running_loop().create_task(self._run(self._next_batch()))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    def _should_wait(self) -> bool:
        """Clients that just got a result often send the next request: wait a moment, so that a batch has them all.

        A single client never waits, and a full batch does not either.
        """
        first = next(iter(self.waiting))
        left = self._wait_until - time.monotonic()
        if left <= 0 or len(self.waiting) >= self._expected or self.waiting_cost >= first.job.budget:
            return False
        if self._wait_timer is None:
            self._wait_timer = asyncio.get_running_loop().call_later(left, self._end_wait)
        return True

    def _end_wait(self) -> None:
        self._wait_timer = None
        self._wait_until = 0.0
        self._dispatch()

    def _next_batch(self) -> list[QueueItem]:
        """The longest-waiting item and similar ones, in order of arrival, within the budget."""
        first = next(iter(self.waiting))
        batch: list[QueueItem] = []
        highest = 0
        for queued in self.waiting:
            if queued.job != first.job or not first.cost / MAX_COST_RATIO <= queued.cost <= first.cost * MAX_COST_RATIO:
                continue
            cost = max(highest, queued.cost)
            if batch and cost * (len(batch) + 1) > first.job.budget:
                break
            batch.append(queued)
            highest = cost
        for queued in batch:
            self._remove(queued)
        return batch

    async def _run(self, batch: list[QueueItem]) -> None:
        started_at = time.monotonic()
        job, items = batch[0].job, [queued.item for queued in batch]

        def is_wanted() -> bool:
            return not all(queued.result.done() for queued in batch)

        try:
            results = await asyncio.get_running_loop().run_in_executor(self._threads, job.run, items, is_wanted)
        except Exception as error:
            for queued in batch:
                if not queued.result.done():
                    queued.result.set_exception(error)
                    queued.result.exception()  # retrieved, since the client may have disconnected
            self._release_worker(0, 0.0)
        else:
            seconds = time.monotonic() - started_at
            self._release_worker(len(batch), seconds)
            finished = BatchResult(job, items, results, sum(queued.cost for queued in batch), seconds)
            if not isinstance(job, ExclusiveJob):
                measured = finished.cost / max(seconds, 1e-3)
                self.speed = SPEED_SMOOTHING * self.speed + (1 - SPEED_SMOOTHING) * measured
            self.on_batch(finished)
            for number, (queued, result) in enumerate(zip(batch, results, strict=True), start=1):
                if not queued.result.done():
                    queued.result.set_result(result)
                if number % RESULTS_PER_SLICE == 0:  # each result wakes a request, which writes its response
                    await asyncio.sleep(0)

    def _release_worker(self, size: int, seconds: float) -> None:
        """Make a worker free; the batch that it ran determines how many items to wait for."""
        self._free_workers += 1
        self._expected = size + len(self.waiting)
        self._wait_until = time.monotonic() + min(MAX_BATCH_WAIT, BATCH_WAIT_SHARE * seconds)
        self._dispatch()

"""The queue: what goes together, in which order, and who is let go or refused."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.server.batcher import BatchCancelled, Batcher, BatchResult
from regard.server.endpoint import within_deadline
from regard.server.errors import ApiError
from regard.server.limits import Limits


@dataclass(frozen=True)
class Doubling:
    """Work on numbers that cost as much as they are; it waits until it is let go."""

    name: str = "doubling"
    budget: int = 100
    gate: threading.Event = field(default_factory=threading.Event, compare=False)
    batches: list[list[int]] = field(default_factory=list, compare=False)

    def cost(self, item: int) -> int:
        return item

    def run(self, items: list[int], is_wanted: Callable[[], bool]) -> list[int]:  # noqa: ARG002
        self.batches.append(items)
        assert self.gate.wait(60)
        if 13 in items:
            raise ValueError("unlucky")
        return [2 * item for item in items]


def in_a_loop(test: Callable[[Batcher], Awaitable[None]], **limits: Any) -> list[BatchResult]:
    result: list[BatchResult] = []

    async def run() -> None:
        async with asyncio.timeout(120):
            batcher = Batcher(Limits(**limits), result.append)
            await test(batcher)
            await batcher.close()

    asyncio.run(run())
    return result


async def entered(batcher: Batcher, work: Doubling, *requests: list[int]) -> list[asyncio.Future[list[int]]]:
    """Requests that have their places in the queue."""
    tasks = [asyncio.ensure_future(batcher.submit(work, items)) for items in requests]
    await asyncio.sleep(0)
    return tasks


async def begun(work: Doubling, batches: int = 1) -> None:
    while len(work.batches) < batches:
        await asyncio.sleep(0.001)


def test_lone_item_starts_immediately_and_later_ones_batch() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        first = await entered(batcher, work, [5])
        await begun(work)
        others = await entered(batcher, work, [6], [7, 8], [9])
        work.gate.set()
        assert await asyncio.gather(*first, *others) == [[10], [12], [14, 16], [18]]

    result = in_a_loop(test)
    assert work.batches == [[5], [6, 7, 8, 9]]
    assert [one.results for one in result] == [[10], [12, 14, 16, 18]]


def test_batch_keeps_budget_counting_items_as_the_longest() -> None:
    work = Doubling(budget=100)

    async def test(batcher: Batcher) -> None:
        tasks = await entered(batcher, work, [1], [20, 20, 20, 40, 20, 20])
        work.gate.set()
        await asyncio.gather(*tasks)

    in_a_loop(test)
    assert work.batches[1:] == [[20, 20, 20], [40, 20], [20]]


def test_oldest_goes_first_with_items_of_its_kind() -> None:
    work = Doubling(budget=1000)

    async def test(batcher: Batcher) -> None:
        tasks = await entered(batcher, work, [1], [50], [2], [60], [3])
        work.gate.set()
        await asyncio.gather(*tasks)

    in_a_loop(test)
    assert work.batches[1:] == [[50, 60], [2, 3]]


def test_other_work_is_never_in_the_same_batch() -> None:
    one, other = Doubling("one"), Doubling("other")

    async def test(batcher: Batcher) -> None:
        order = [(one, [1]), (one, [2]), (other, [3]), (one, [4])]
        tasks = [task for work, items in order for task in await entered(batcher, work, items)]
        one.gate.set()
        other.gate.set()
        assert await asyncio.gather(*tasks) == [[2], [4], [6], [8]]

    in_a_loop(test)
    assert (one.batches, other.batches) == ([[1], [2, 4]], [[3]])


def test_cancelled_item_frees_its_places_immediately() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        first, leaver, stayer = await entered(batcher, work, [1], [2, 3], [4])
        await begun(work)
        assert (len(batcher.waiting), batcher.waiting_cost) == (3, 9)
        leaver.cancel()
        await asyncio.sleep(0)
        assert (len(batcher.waiting), batcher.waiting_cost) == (1, 4)
        work.gate.set()
        assert await asyncio.gather(first, stayer) == [[2], [8]]
        assert (len(batcher.waiting), batcher.waiting_cost) == (0, 0)

    in_a_loop(test)
    assert work.batches == [[1], [4]]


def test_cancelled_item_does_not_disturb_its_batch() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        first, leaver, stayer = await entered(batcher, work, [1], [2], [4])
        work.gate.set()
        await begun(work, 2)
        leaver.cancel()
        assert await asyncio.gather(first, stayer) == [[2], [8]]

    in_a_loop(test)


def test_full_queue_refuses_with_a_retry_time() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        tasks = await entered(batcher, work, [1], [2], [3])
        with pytest.raises(ApiError) as refused:
            await batcher.submit(work, [4])
        assert (refused.value.status, refused.value.headers["retry-after"]) == (429, "1")
        work.gate.set()
        await asyncio.gather(*tasks)
        assert await batcher.submit(work, [4]) == [8]

    in_a_loop(test, max_queue=2)


def test_queue_is_full_by_work_as_by_count() -> None:
    work = Doubling(budget=10)

    async def test(batcher: Batcher) -> None:
        batcher.speed = 10.0
        tasks = await entered(batcher, work, [1], [30], [30])
        with pytest.raises(ApiError) as refused:
            batcher.require_capacity()
        assert refused.value.headers["retry-after"] == "3"
        work.gate.set()
        await asyncio.gather(*tasks)

    in_a_loop(test, max_wait_seconds=5.0)


def test_cancelled_requests_leave_the_queue() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        tasks = await entered(batcher, work, [1], [2])
        for task in tasks:
            with pytest.raises(ApiError) as refused:
                await within_deadline(0.05, task)
            assert (refused.value.status, refused.value.code) == (503, "too_late")
        assert not batcher.waiting
        work.gate.set()

    in_a_loop(test)


def test_background_items_leave_space_for_others() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        batcher.speed = 10.0
        files = [asyncio.ensure_future(batcher.submit_background(work, [40, 40])) for _ in range(4)]
        await begun(work)
        assert (batcher.waiting_cost, batcher.is_full) == (0, False)
        [other] = await entered(batcher, work, [30])
        work.gate.set()
        assert await asyncio.gather(other, *files) == [[60], *[[80, 80]] * 4]

    in_a_loop(test, max_wait_seconds=5.0)
    assert work.batches[0] == [40, 40]
    assert 30 in work.batches[1]


def test_background_items_wait_for_space() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        first, second = await entered(batcher, work, [1], [2])
        patient = asyncio.ensure_future(batcher.submit_background(work, [3]))
        await asyncio.sleep(0.05)
        assert not patient.done()
        work.gate.set()
        assert await asyncio.gather(first, second, patient) == [[2], [4], [6]]

    in_a_loop(test, max_queue=1)


def test_failure_reaches_exactly_the_items_of_its_batch() -> None:
    work = Doubling(budget=60)

    async def test(batcher: Batcher) -> None:
        tasks = await entered(batcher, work, [1], [13], [14], [15], [16])
        work.gate.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in done] == [list, ValueError, ValueError, ValueError, list]

    in_a_loop(test)


def test_work_for_one_alone_passes_the_same_queue() -> None:
    work = Doubling()

    async def test(batcher: Batcher) -> None:
        first = await entered(batcher, work, [1])
        lone = asyncio.ensure_future(batcher.run_exclusive(threading.get_ident, cost=3))
        await asyncio.sleep(0)
        assert batcher.waiting_cost == 3
        work.gate.set()
        assert await asyncio.gather(*first) == [[2]]
        assert await lone != threading.get_ident()

    in_a_loop(test)


@dataclass(frozen=True)
class Endless:
    """Work that goes on, step by step, for as long as anybody wants it."""

    budget: int = 100
    steps: list[int] = field(default_factory=list, compare=False)

    def cost(self, item: int) -> int:
        return item

    def run(self, items: list[int], is_wanted: Callable[[], bool]) -> list[int]:
        deadline = time.monotonic() + 60  # a thread that never ends would keep a failed test session from ending
        while is_wanted() and time.monotonic() < deadline:
            self.steps.append(len(items))
            time.sleep(0.001)
        raise BatchCancelled


def test_batch_ends_early_only_when_all_have_left() -> None:
    work, next_one = Endless(), Doubling()
    next_one.gate.set()

    async def test(batcher: Batcher) -> None:
        blocking = Doubling("blocking")
        first = await entered(batcher, blocking, [1])
        clients = [asyncio.ensure_future(batcher.submit(work, [2])) for _ in range(3)]
        await asyncio.sleep(0)
        blocking.gate.set()
        await asyncio.gather(*first)
        while not work.steps:
            await asyncio.sleep(0.001)
        for client in clients[:2]:
            client.cancel()
        taken = len(work.steps)
        while len(work.steps) < taken + 5:
            await asyncio.sleep(0.001)
        assert batcher.is_busy
        clients[2].cancel()
        assert await batcher.submit(next_one, [4]) == [8]
        assert set(work.steps) == {3}

    in_a_loop(test)

"""Files under translation: bounded in number, size and age, and gone when given up."""

import asyncio
import gc
import shutil

import pytest

from regard.errors import RegardError
from regard.serve.documents import jobs as bounds
from regard.serve.documents.jobs import Job, Jobs
from regard.serve.refusals import Refusal


async def _greet(job: Job) -> str:
    job.note(1, 2)
    await asyncio.sleep(0)
    return "안녕"


async def _forever(job: Job) -> str:  # noqa: ARG001
    await asyncio.Event().wait()
    return ""


def test_a_job_ends_with_its_result_in_the_store() -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.begin("a.txt", _greet)
        assert jobs.find(job.id).state == "translating"
        await jobs.finish(job)
        assert (job.state, job.said, job.sentences) == ("done", 1, 2)
        assert jobs.path(job).read_bytes().decode() == "안녕"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "status"), [(RegardError("bad"), 400), (Refusal(429, "b", "busy"), 429), (KeyError(), 500)]
)
def test_a_job_that_fails_says_why(error: Exception, status: int) -> None:
    async def fail(job: Job) -> str:  # noqa: ARG001
        raise error

    async def run() -> None:
        job = Jobs().begin("a.txt", fail)
        assert job.task is not None
        await job.task
        assert job.state == "failed"
        assert job.refusal is not None
        assert job.refusal.status == status

    asyncio.run(run())


def test_only_a_few_files_are_translated_at_once() -> None:
    async def run() -> None:
        jobs = Jobs()
        begun = [jobs.begin("a.txt", _forever) for _ in range(bounds.UNDER_WAY)]
        with pytest.raises(Refusal) as refused:
            jobs.begin("a.txt", _greet)
        assert refused.value.status == 429
        jobs.forget(begun[0])
        await jobs.finish(jobs.begin("a.txt", _greet))

    asyncio.run(run())


def test_the_oldest_results_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "KEPT", 2)

    async def run() -> None:
        jobs = Jobs()
        made = [jobs.begin(f"{number}.txt", _greet) for number in range(3)]
        for job in made:
            await jobs.finish(job)
        with pytest.raises(Refusal, match="no such file"):
            jobs.find(made[0].id)
        assert not jobs.path(made[0]).exists()
        assert jobs.find(made[2].id) is made[2]

    asyncio.run(run())


@pytest.mark.parametrize(("bound", "value"), [("KEPT_BYTES", 5), ("KEPT_SECONDS", 0.0)])
def test_results_that_are_too_large_or_too_old_are_forgotten(
    bound: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.begin("a.txt", _greet)
        await jobs.finish(job)
        monkeypatch.setattr(bounds, bound, value)
        with pytest.raises(Refusal, match="no such file"):
            jobs.find(job.id)

    asyncio.run(run())


def test_a_job_nobody_waits_for_any_more_is_given_up() -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.begin("a.txt", _forever)
        waiting = asyncio.ensure_future(jobs.finish(job))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert job.task is not None
        assert job.task.cancelled() or job.task.cancelling()

    asyncio.run(run())


def test_a_result_that_nobody_has_fetched_yet_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        jobs = Jobs()
        job = jobs.begin("a.txt", _greet)
        await jobs.finish(job)
        settling = asyncio.ensure_future(jobs.settle())
        await asyncio.sleep(0)
        assert not settling.done()
        job.settled.set()
        await settling

        await jobs.finish(jobs.begin("b.txt", _greet))
        monkeypatch.setattr(bounds, "EXPECTED_SECONDS", 0.0)
        await jobs.settle()  # nobody comes for it any more

    asyncio.run(run())


def test_the_store_goes_with_its_owner() -> None:
    async def run() -> Jobs:
        jobs = Jobs()
        await jobs.finish(jobs.begin("a.txt", _greet))
        return jobs

    jobs = asyncio.run(run())
    directory = jobs.path(Job("x")).parent
    assert directory.is_dir()
    del jobs
    gc.collect()
    assert not directory.exists()


def test_a_store_that_was_swept_away_is_made_anew_and_what_was_in_it_is_forgotten() -> None:
    async def run() -> None:
        jobs = Jobs()
        lost = jobs.begin("a.txt", _greet)
        await jobs.finish(lost)
        shutil.rmtree(jobs.path(lost).parent)
        later = jobs.begin("b.txt", _greet)
        await jobs.finish(later)
        assert jobs.path(jobs.find(later.id)).read_bytes().decode() == "안녕"
        assert jobs.path(later).parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises(Refusal, match="no such file"):
            jobs.find(lost.id)

    asyncio.run(run())


def test_what_is_under_way_settles_when_it_is_fetched_fails_or_is_given_up() -> None:
    async def fail(job: Job) -> str:  # noqa: ARG001
        raise RegardError("bad")

    async def run() -> None:
        jobs = Jobs()
        fetched, failed, given_up = (jobs.begin("a.txt", work) for work in (_greet, fail, _forever))
        settling = asyncio.ensure_future(jobs.settle())
        await jobs.finish(fetched)
        jobs.forget(given_up)
        await asyncio.sleep(0)
        assert (fetched.state, failed.state, settling.done()) == ("done", "failed", False)
        fetched.settled.set()
        await settling
        await jobs.settle()

    asyncio.run(run())

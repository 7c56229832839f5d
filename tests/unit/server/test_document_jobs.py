"""Document jobs: bounded in number, size and age, and deleted with their client."""

import asyncio
import gc
import shutil

import pytest

from regard.errors import RegardError
from regard.server import document_jobs as bounds
from regard.server.document_jobs import DocumentJob, DocumentJobs
from regard.server.errors import ApiError


async def _greet(job: DocumentJob) -> str:
    job.report_progress(1, 2)
    await asyncio.sleep(0)
    return "안녕"


async def _forever(job: DocumentJob) -> str:  # noqa: ARG001
    await asyncio.Event().wait()
    return ""


def test_finished_job_has_its_result() -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        job = jobs.start("a.txt", _greet)
        assert jobs.find(job.id).state == "running"
        await jobs.finish(job)
        assert (job.state, job.translated, job.total) == ("done", 1, 2)
        assert jobs.path(job).read_bytes().decode() == "안녕"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "status"), [(RegardError("bad"), 400), (ApiError(429, "b", "busy"), 429), (KeyError(), 500)]
)
def test_failed_job_has_the_reason(error: Exception, status: int) -> None:
    async def fail(job: DocumentJob) -> str:  # noqa: ARG001
        raise error

    async def run() -> None:
        job = DocumentJobs().start("a.txt", fail)
        assert job.task is not None
        await job.task
        assert job.state == "failed"
        assert job.error is not None
        assert job.error.status == status

    asyncio.run(run())


def test_number_of_running_jobs_is_bounded() -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        started_at = [jobs.start("a.txt", _forever) for _ in range(bounds.MAX_RUNNING)]
        with pytest.raises(ApiError) as refused:
            jobs.start("a.txt", _greet)
        assert refused.value.status == 429
        jobs.delete(started_at[0])
        await jobs.finish(jobs.start("a.txt", _greet))

    asyncio.run(run())


def test_oldest_results_are_deleted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_RESULTS", 2)

    async def run() -> None:
        jobs = DocumentJobs()
        made = [jobs.start(f"{number}.txt", _greet) for number in range(3)]
        for job in made:
            await jobs.finish(job)
        with pytest.raises(ApiError, match="no such file"):
            jobs.find(made[0].id)
        assert not jobs.path(made[0]).exists()
        assert jobs.find(made[2].id) is made[2]

    asyncio.run(run())


@pytest.mark.parametrize(("bound", "value"), [("MAX_RESULT_BYTES", 5), ("RESULT_SECONDS", 0.0)])
def test_large_or_old_results_are_deleted(bound: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        job = jobs.start("a.txt", _greet)
        await jobs.finish(job)
        monkeypatch.setattr(bounds, bound, value)
        with pytest.raises(ApiError, match="no such file"):
            jobs.find(job.id)

    asyncio.run(run())


def test_job_without_a_client_is_cancelled() -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        job = jobs.start("a.txt", _forever)
        waiting = asyncio.ensure_future(jobs.finish(job))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert job.task is not None
        assert job.task.cancelled() or job.task.cancelling()

    asyncio.run(run())


def test_settle_waits_for_recent_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        job = jobs.start("a.txt", _greet)
        await jobs.finish(job)
        settling = asyncio.ensure_future(jobs.settle())
        await asyncio.sleep(0)
        assert not settling.done()
        job.settled.set()
        await settling

        await jobs.finish(jobs.start("b.txt", _greet))
        monkeypatch.setattr(bounds, "FETCH_SECONDS", 0.0)
        await jobs.settle()  # nobody comes for it any more

    asyncio.run(run())


def test_results_go_with_their_owner() -> None:
    async def run() -> DocumentJobs:
        jobs = DocumentJobs()
        await jobs.finish(jobs.start("a.txt", _greet))
        return jobs

    jobs = asyncio.run(run())
    directory = jobs.path(DocumentJob("x")).parent
    assert directory.is_dir()
    del jobs
    gc.collect()
    assert not directory.exists()


def test_deleted_result_directory_is_made_again() -> None:
    async def run() -> None:
        jobs = DocumentJobs()
        lost = jobs.start("a.txt", _greet)
        await jobs.finish(lost)
        shutil.rmtree(jobs.path(lost).parent)
        later = jobs.start("b.txt", _greet)
        await jobs.finish(later)
        assert jobs.path(jobs.find(later.id)).read_bytes().decode() == "안녕"
        assert jobs.path(later).parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises(ApiError, match="no such file"):
            jobs.find(lost.id)

    asyncio.run(run())


def test_jobs_settle_when_downloaded_failed_or_deleted() -> None:
    async def fail(job: DocumentJob) -> str:  # noqa: ARG001
        raise RegardError("bad")

    async def run() -> None:
        jobs = DocumentJobs()
        fetched, failed, given_up = (jobs.start("a.txt", work) for work in (_greet, fail, _forever))
        settling = asyncio.ensure_future(jobs.settle())
        await jobs.finish(fetched)
        jobs.delete(given_up)
        await asyncio.sleep(0)
        assert (fetched.state, failed.state, settling.done()) == ("done", "failed", False)
        fetched.settled.set()
        await settling
        await jobs.settle()

    asyncio.run(run())

"""Files under translation: what can be asked about each, and a store of results that is bounded in every way."""

import asyncio
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regard.errors import RegardError
from regard.serve.logs import tell_defect
from regard.serve.refusals import Refusal

UNDER_WAY = 4  # files translated at the same time
KEPT = 64  # results
KEPT_BYTES = 64_000_000
KEPT_SECONDS = 3600.0
EXPECTED_SECONDS = 60.0  # within which whoever sent a file comes for it


@dataclass(eq=False)
class Job:
    """A file on its way; whoever knows its id may ask about it."""

    name: str  # of the result, as it is downloaded
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None
    state: Literal["translating", "done", "failed"] = "translating"
    said: int = 0  # sentences
    sentences: int = 0
    refusal: Refusal | None = None  # why it failed
    size: int = 0  # of the result, in bytes
    task: asyncio.Task[None] | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # nobody will come for it: fetched, failed, forgotten

    def note(self, said: int, sentences: int) -> None:
        """How far it is."""
        self.said, self.sentences = said, sentences


Work = Callable[[Job], Coroutine[Any, Any, str]]


class Jobs:
    """The jobs of a server; the oldest results go first when there are too many, and all with the process."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}  # in the order of their beginning
        self._directory: Path | None = None

    def begin(self, name: str, work: Work) -> Job:
        """Start a job, or refuse it while too many are under way."""
        self._sweep()
        if sum(job.state == "translating" for job in self._jobs.values()) >= UNDER_WAY:
            raise Refusal(429, "busy", "Too many files are being translated. Try again later.", retry_after=5)
        job = Job(name)
        self._jobs[job.id] = job
        job.task = asyncio.ensure_future(self._run(job, work))
        return job

    def find(self, identity: str) -> Job:
        """The job of that id."""
        self._sweep()
        if identity not in self._jobs:
            raise Refusal(404, "no_job", "There is no such file, or it has been forgotten. Send it again.")
        return self._jobs[identity]

    def path(self, job: Job) -> Path:
        """Where the result is, or will be."""
        if self._directory is None or not self._directory.is_dir():  # old temporary files are often swept away
            self._directory = Path(tempfile.mkdtemp(prefix="regard-documents-"))
            weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        return self._directory / job.id

    async def finish(self, job: Job) -> None:
        """Wait until the job is over; if whoever waits leaves, it is given up."""
        try:
            if job.task is not None:
                await job.task
        except asyncio.CancelledError:
            self.forget(job)
            raise

    async def settle(self) -> None:
        """Wait until the files that are under way, or were until just now, have been translated and fetched."""
        now = time.monotonic()
        expected = [job for job in self._jobs.values() if job.ended is None or now - job.ended < EXPECTED_SECONDS]
        for job in expected:
            await job.settled.wait()

    def forget(self, job: Job) -> None:
        """Give the job up and remove its result."""
        job.settled.set()
        self._jobs.pop(job.id, None)
        if job.task is not None:
            job.task.cancel()
        self.path(job).unlink(missing_ok=True)

    async def _run(self, job: Job, work: Work) -> None:
        try:
            result = (await work(job)).encode()
            await asyncio.to_thread(self.path(job).write_bytes, result)
            job.size, job.state = len(result), "done"
        except (Refusal, RegardError) as error:
            job.refusal = error if isinstance(error, Refusal) else Refusal(400, "bad_file", str(error))
        except Exception:
            tell_defect("a file could not be translated")
            job.refusal = Refusal(500, "defect", "Something went wrong here. The log says what.")
        finally:
            job.ended = time.monotonic()
            if job.state != "done":
                job.state = "failed"
                job.settled.set()

    def _sweep(self) -> None:
        """Forget what is too old, too much, or gone."""
        over = [job for job in self._jobs.values() if job.state != "translating"]
        size = sum(job.size for job in over)
        for number, job in enumerate(over):
            is_old = time.monotonic() - job.begun > KEPT_SECONDS
            is_gone = job.state == "done" and not self.path(job).exists()
            if is_old or is_gone or size > KEPT_BYTES or len(over) - number > KEPT:
                size -= job.size
                self.forget(job)

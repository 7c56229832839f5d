"""Document jobs: files that are being translated, and their results, bounded in number, size and age."""

import asyncio
import re
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from regard.errors import RegardError
from regard.server.errors import ApiError
from regard.server.monitoring import log_exception

MAX_RUNNING = 4  # files translated at the same time
MAX_RESULTS = 64
MAX_RESULT_BYTES = 64_000_000
RESULT_SECONDS = 3600.0  # for which a result is kept
FETCH_SECONDS = 60.0  # for which a server that stops waits for the download of a result


@dataclass(eq=False)
class DocumentJob:
    """The translation of one file; a client needs its id for status and download."""

    name: str  # of the result, as it is downloaded
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    started_at: float = field(default_factory=time.monotonic)
    ended_at: float | None = None
    state: Literal["running", "done", "failed"] = "running"
    translated: int = 0  # sentences
    total: int = 0
    characters: int = 0  # of the text in the file
    error: ApiError | None = None  # why it failed
    size: int = 0  # of the result, in bytes
    task: asyncio.Task[None] | None = None
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # downloaded, failed or deleted

    def report_progress(self, translated: int, total: int) -> None:
        """Record how many of the sentences are translated."""
        self.translated, self.total = translated, total


JobFunction = Callable[[DocumentJob], Coroutine[Any, Any, str]]


def result_name(name: str, language: str) -> str:
    """The name of the file with the language, without characters that are special in file systems or headers."""
    path = PurePath(name.replace("\\", "/"))
    stem = re.sub(r"[^\w.-]+", "_", path.stem)[:80].strip(".") or "document"
    return f"{stem}_{re.sub('[^a-z]', '', language)}{path.suffix.lower()}"


class WholeFileResponse(FileResponse):
    """A file without regard to Range, which a server may ignore: its errors would have the format of no API."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers["accept-ranges"] = "none"
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


class DocumentJobs:
    """The jobs of a server; the oldest results are deleted first, and all of them with the process."""

    def __init__(self) -> None:
        self._jobs: dict[str, DocumentJob] = {}  # the oldest first
        self._directory: Path | None = None

    def start(self, name: str, work: JobFunction) -> DocumentJob:
        """Start a job; raises if too many are running."""
        self._delete_old()
        if sum(job.state == "running" for job in self._jobs.values()) >= MAX_RUNNING:
            raise ApiError(429, "busy", "Too many files are being translated. Retry later.", retry_after=5)
        job = DocumentJob(name)
        self._jobs[job.id] = job
        job.task = asyncio.ensure_future(self._run(job, work))
        return job

    def find(self, identity: str) -> DocumentJob:
        """The job of that id."""
        self._delete_old()
        if identity not in self._jobs:
            raise ApiError(404, "no_job", "There is no such file, or it was deleted. Send it again.")
        return self._jobs[identity]

    def download(self, job: DocumentJob) -> FileResponse:
        """The result as an attachment, which a browser never shows as a page of this server."""
        job.settled.set()
        return WholeFileResponse(self.path(job), media_type="application/octet-stream", filename=job.name)

    def path(self, job: DocumentJob) -> Path:
        """The path of the result, which exists once the job is done."""
        if self._directory is None or not self._directory.is_dir():  # systems delete old temporary files
            self._directory = Path(tempfile.mkdtemp(prefix="regard-documents-"))
            weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        return self._directory / job.id

    async def finish(self, job: DocumentJob) -> None:
        """Wait for the end of the job; if the waiting task is cancelled, the job is deleted."""
        try:
            if job.task is not None:
                await job.task
        except asyncio.CancelledError:
            self.delete(job)
            raise

    async def settle(self) -> None:
        """Wait until the running jobs, and those that ended recently, are done and downloaded."""
        now = time.monotonic()
        recent = [job for job in self._jobs.values() if job.ended_at is None or now - job.ended_at < FETCH_SECONDS]
        for job in recent:
            await job.settled.wait()

    def delete(self, job: DocumentJob) -> None:
        """Cancel the job and delete its result."""
        job.settled.set()
        self._jobs.pop(job.id, None)
        if job.task is not None:
            job.task.cancel()
        self.path(job).unlink(missing_ok=True)

    async def _run(self, job: DocumentJob, work: JobFunction) -> None:
        try:
            result = (await work(job)).encode()
            await asyncio.to_thread(self.path(job).write_bytes, result)
            job.size, job.state = len(result), "done"
        except (ApiError, RegardError) as error:
            job.error = error if isinstance(error, ApiError) else ApiError(400, "bad_file", str(error))
        except Exception:
            log_exception("a document job failed")
            job.error = ApiError(500, "defect", "The server failed. Its log has the reason.")
        finally:
            job.ended_at = time.monotonic()
            if job.state != "done":
                job.state = "failed"
                job.settled.set()

    def _delete_old(self) -> None:
        """Delete the results that are too old, too many, too large together, or no longer on disk."""
        ended = [job for job in self._jobs.values() if job.state != "running"]
        size = sum(job.size for job in ended)
        for number, job in enumerate(ended):
            is_old = time.monotonic() - job.started_at > RESULT_SECONDS
            is_gone = job.state == "done" and not self.path(job).exists()
            if is_old or is_gone or size > MAX_RESULT_BYTES or len(ended) - number > MAX_RESULTS:
                size -= job.size
                self.delete(job)

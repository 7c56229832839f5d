"""Run `regard` as a user does, in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finished:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


Regard = Callable[..., Finished]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "regard", *map(str, arguments)]


@contextmanager
def started(arguments: Sequence[object], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A process for the length of a block; then it and its children are killed.

    `Popen` itself waits for its process at the end of a block, for ever if the test failed while the process ran.
    """
    with subprocess.Popen(list(map(str, arguments)), start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run_command(*arguments: object, given: bytes = b"", **more: str) -> Finished:
    """Run a command to its end; `given` is its standard input."""
    ended = subprocess.run(
        command(*arguments), input=given, capture_output=True, env=environment(**more), check=False, timeout=600
    )
    return Finished(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

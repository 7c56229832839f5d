"""Run `regard` as a user does, in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass


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


def run_command(*arguments: object, given: bytes = b"", **more: str) -> Finished:
    """Run a command to its end; `given` is its standard input."""
    ended = subprocess.run(
        command(*arguments), input=given, capture_output=True, env=environment(**more), check=False, timeout=600
    )
    return Finished(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

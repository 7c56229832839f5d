"""`regard train --processes N`: the same command N times over, as one run on this machine; no torch in the parent."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO

from regard.cli.running.stopping import heeded

GRACE = 10.0  # seconds that the others get to end by themselves when one has failed
LOOK_EVERY = 0.05  # seconds
_SIGNAL_ON_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG, of prctl(2)


@dataclass(frozen=True)
class Member:
    """One process of the run; what any but the first says is kept, and shown only if it is the first to fail."""

    process: "subprocess.Popen[bytes]"
    said: BinaryIO

    @property
    def code(self) -> int | None:
        """How it ended, as a shell tells it; None while it runs."""
        code = self.process.poll()
        return 128 - code if code is not None and code < 0 else code


def is_member() -> bool:
    """Whether this process is one of several already, by torchrun or by `launch`."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run a command in several processes that know of each other; returns the exit code of the first that failed."""
    port = _free_port()
    members = [_start(rank, processes, port, arguments) for rank in range(processes)]
    with _passing_signals_on(members):
        try:
            failed = _first_failure(members)
            _end_soon(members)
        finally:
            for member in members:
                member.process.kill()
                member.process.wait()
    if failed is None:
        return 0
    failed.said.seek(0)
    sys.stderr.write(failed.said.read().decode(errors="replace"))
    return failed.code or 1


def _start(rank: int, processes: int, port: int, arguments: Sequence[str]) -> Member:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    environment = os.environ | {name: str(value) for name, value in (place | meeting).items()}
    said: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *arguments],
        env=environment,
        stdout=None if rank == 0 else subprocess.DEVNULL,
        stderr=None if rank == 0 else said,
        process_group=0,  # so that Ctrl-C comes to each once, from us, and not a second time from the terminal
        preexec_fn=end_with_parent,  # noqa: PLW1509  (this process has no threads)
    )
    return Member(process, said)


def end_with_parent() -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SIGNAL_ON_PARENTS_DEATH, signal.SIGTERM)


def _first_failure(members: list[Member]) -> Member | None:
    """Wait until one member has failed, or all have ended well."""
    while True:
        codes = [member.code for member in members]
        failed = [member for member, code in zip(members, codes, strict=True) if code]
        if failed:
            return failed[0]
        if all(code == 0 for code in codes):
            return None
        time.sleep(LOOK_EVERY)


def _end_soon(members: list[Member]) -> None:
    """Let the members end by themselves, for a while; those that wait for a dead one are told so by their sockets."""
    deadline = time.monotonic() + GRACE
    while any(member.code is None for member in members) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


@contextmanager
def _passing_signals_on(members: list[Member]) -> Iterator[None]:
    def pass_on(number: int, _frame: FrameType | None) -> None:
        for member in members:
            if member.process.poll() is None:
                member.process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

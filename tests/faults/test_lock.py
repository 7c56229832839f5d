"""One process at a time in a run."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.locks import lock_run, wait_for_lock
from tests.support.commands import started

HOLDER = """
import sys
from pathlib import Path
from regard.locks import lock_run
with lock_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def locking(run: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that holds the lock of the run until it is killed, unless it is refused."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with started([sys.executable, "-c", HOLDER, run], env=environment, text=True, **pipes) as process:
        yield process


@contextmanager
def holder(run: Path) -> Iterator["subprocess.Popen[str]"]:
    with locking(run) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process


def test_second_process_is_refused_with_holder_of_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(RegardError, match=f"is in use by process {process.pid}"), lock_run(tmp_path):
            raise AssertionError("the lock was held twice")
        process.kill()  # however the holder ends, the lock is free
    with lock_run(tmp_path):
        pass


def test_holding_twice_in_one_process_is_holding_once(tmp_path: Path) -> None:
    with lock_run(tmp_path):
        with lock_run(tmp_path):
            pass
        with locking(tmp_path) as refused:
            assert f"is in use by process {os.getpid()}" in refused.communicate(timeout=120)[1]
            assert refused.returncode != 0
    with holder(tmp_path) as process:
        process.kill()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_file_locks_a_run_warns_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(number))
    with lock_run(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    [message] = caplog.messages
    assert message == f"{tmp_path} cannot be locked on this file system: make sure that no other process trains in it"
    entered = []
    with wait_for_lock(tmp_path, lambda: pytest.fail("it waited for a lock that nobody can hold")):
        entered.append(tmp_path)
    assert entered


def test_other_lock_failure_is_not_taken_for_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", refusing(errno.EIO))
    with pytest.raises(OSError, match="refused"), lock_run(tmp_path):
        raise AssertionError("the lock was not held")


def refusing(number: int) -> Callable[[int, int], None]:
    """A file system that answers every wish for a lock with an error."""

    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(number, "refused")

    return flock


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RegardError, match="file/run/lock cannot be written"), lock_run(tmp_path / "file" / "run"):
        pass

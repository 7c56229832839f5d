"""Locks on directories, so that two processes never write the same one.

The system releases a lock however its holder ends. Windows and some network file systems have no such locks: there, do
not train twice in one directory, and prepare a shared image store with one run first.
"""

import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import RegardError

LOCK_NAME = "lock"
LOCK_POLL_SECONDS = 0.5
UNSUPPORTED_LOCK_ERRNOS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # of some network file systems
_log = logging.getLogger(__name__)
_held_run_locks: set[Path] = set()


def try_lock(descriptor: int) -> bool | None:
    """Whether this process now has the lock; None if there are no locks: on Windows, or on some file systems."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in UNSUPPORTED_LOCK_ERRNOS:
            raise
        return None
    return True


@contextmanager
def lock_run(run: Path) -> Iterator[None]:
    """Hold the lock of a run: two processes that write the same checkpoints would corrupt them. It is reentrant."""
    path = Path(os.path.realpath(run / LOCK_NAME))  # `resolve` fails for circular links
    if path in _held_run_locks:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RegardError(
            f"{path} cannot be written: {error.strerror}. Choose a directory that can be written, with --run."
        ) from None
    try:
        _acquire_run_lock(descriptor, run)
        _held_run_locks.add(path)
        yield
    finally:
        _held_run_locks.discard(path)
        os.close(descriptor)


def _acquire_run_lock(descriptor: int, run: Path) -> None:
    is_ours = try_lock(descriptor)
    if is_ours is False:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise RegardError(
            f"{run} is in use by process {holder}. Wait until it ends, stop it (kill {holder}), "
            "or start another run with --run DIR."
        )
    if is_ours is None:
        _log.warning("%s cannot be locked on this file system: make sure that no other process trains in it", run)
    with suppress(OSError):  # a full disk: the lock holds, without the process id in it
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())


@contextmanager
def wait_for_lock(directory: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a directory; if another process has it, wait."""
    descriptor = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while try_lock(descriptor) is False:
            while_waiting()
            time.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)

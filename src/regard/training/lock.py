"""One process at a time in a run's directory: two that write the same checkpoints would ruin each other's."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import RegardError

NAME = "lock"
_held: set[Path] = set()


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold the run's lock; the system gives it back however the process ends. Holding it twice is holding it once."""
    path = (run / NAME).resolve()
    if path in _held:
        yield
        return
    descriptor = _opened(path)
    try:
        _take(descriptor, run)
        _held.add(path)
        yield
    finally:
        _held.discard(path)
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise RegardError(
            f"{path} cannot be written: {error.strerror}. Choose a directory that can be written, with --run."
        ) from None


def _take(descriptor: int, run: Path) -> None:
    if sys.platform == "win32":
        return  # it has no flock
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise RegardError(
            f"{run} is in use by process {holder}. Wait until that has ended, stop it (kill {holder}), "
            "or begin another run with --run DIR."
        ) from None
    with suppress(OSError):  # a full disk: the lock holds all the same, it only cannot say by whom
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())

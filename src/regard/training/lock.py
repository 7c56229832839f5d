"""One process at a time in a run's directory: two that write the same checkpoints would ruin each other's."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import RegardError
from regard.file_lock import try_lock

NAME = "lock"
_log = logging.getLogger(__name__)
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
    is_ours = try_lock(descriptor)
    if is_ours is False:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        raise RegardError(
            f"{run} is in use by process {holder}. Wait until that has ended, stop it (kill {holder}), "
            "or begin another run with --run DIR."
        )
    if is_ours is None:
        _log.warning("%s cannot be locked where it is: see to it that no other process trains in it", run)
    with suppress(OSError):  # a full disk: the lock holds all the same, it only cannot say by whom
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())

"""One process at a time in a store of pictures: whoever comes second waits, and then finds the work done.

Where the system has no such locks (Windows, some network file systems), prepare a shared store with one run first.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "lock"
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
LOOK_EVERY = 0.5  # seconds


@contextmanager
def alone_in(directory: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the directory's lock; the system gives it back however the process ends."""
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while not _is_taken(descriptor):
            while_waiting()
            time.sleep(LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)


def _is_taken(descriptor: int) -> bool:
    """Whether the lock is ours now."""
    if sys.platform == "win32":
        return True  # it has no flock
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
    return True

"""One process at a time in a store of pictures: whoever comes second waits, and then finds the work done.

Where the system has no such locks (Windows, some network file systems), prepare a shared store with one run first.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.file_lock import try_lock

LOCK = "lock"
LOOK_EVERY = 0.5  # seconds


@contextmanager
def alone_in(directory: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the directory's lock; the system gives it back however the process ends."""
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while try_lock(descriptor) is False:
            while_waiting()
            time.sleep(LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)

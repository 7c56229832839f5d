"""Starting quickly."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """For imports that bring torch: within, nobody looks for garbage, and later nobody looks through what they made.

    That is more than a hundred thousand objects, all of which stay. `regard translate` starts and ends half a second
    sooner. Where torch is there already, nothing is different: a program's own garbage is not to be kept.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

"""Telling the C library to keep large blocks of memory: it gives every large tensor fresh pages otherwise.

At small widths those page faults cost a quarter of the training time, and a twentieth of a translation's.
"""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENAS = -1, -3, -8  # of mallopt(3)
_HEAP_BELOW = 1 << 30  # bytes: larger blocks come from the system and go back to it
_KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}  # of oneDNN, and of torch around it
_NEVER = -1  # give back what is free: each step needs it again, and at width 512 it is more than mallopt can name


def keep_freed_memory() -> bool:
    """Ask glibc to reuse large blocks from now on; what was freed before goes back to the system first.

    False where there is no glibc to ask.
    """
    library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None  # what this process has loaded already
    trim, mallopt = getattr(library, "malloc_trim", None), getattr(library, "mallopt", None)
    if trim is not None:
        trim(0)  # preparing a large corpus leaves free blocks that the work to come would only lie beside
    # One arena for all threads: only the first one keeps what is freed.
    wishes = ((_MMAP_THRESHOLD, _HEAP_BELOW), (_TRIM_THRESHOLD, _NEVER), (_ARENAS, 1))
    return mallopt is not None and all(mallopt(*wish) for wish in wishes)


def keep_few_kernels() -> None:
    """Ask torch to keep few of the kernels that it makes for bfloat16, one for each shape that a product may have.

    By default it is the last 1,024 of them, twice: batches have ever new shapes, and memory grew by 600 MB in a hundred
    steps. It is heard before the first such product only; whoever has set it otherwise is obeyed.
    """
    for name, count in _KERNELS.items():
        os.environ.setdefault(name, count)

"""Telling the C library to keep large blocks of memory: it gives every large tensor fresh pages otherwise.

At small widths those page faults cost a quarter of the training time.
"""

import ctypes
import ctypes.util
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_KEEP = 1 << 30  # bytes: blocks below a gigabyte come from the heap, and a gigabyte of it is kept free


def keep_freed_memory() -> bool:
    """Ask glibc to reuse large blocks; False where there is no glibc to ask."""
    if not sys.platform.startswith("linux"):
        return False
    name = ctypes.util.find_library("c")
    mallopt = getattr(ctypes.CDLL(name), "mallopt", None) if name else None
    return mallopt is not None and all(mallopt(option, _KEEP) for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD))

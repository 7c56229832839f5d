"""Settings of this process that apply before torch is imported: memory, garbage collection, cores.

ctypes and pathlib are imported where they are used, so that `--help` starts fast.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENAS = -1, -3, -8  # of mallopt(3)
_HEAP_BLOCK_BYTES = 1 << 30  # larger blocks come from the system and go back to it
_NEVER_TRIM = -1  # each step needs freed memory again, and at width 512 it is more than mallopt can name

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_KERNEL_CACHE_SIZES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}  # of oneDNN and of torch

SPIN_COUNT = 10_000  # turns of a waiting thread before it sleeps; docs/decisions/0009


def open_standard_streams() -> None:
    """Open the standard streams that are closed, so that no other file gets their numbers.

    Reading from such an input and writing to such an output fails, as it should; errors go to the null device.
    """
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # the lowest free number
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """How many bytes this process can still allocate without swapping, as far as the system tells; else a terabyte."""
    from pathlib import Path

    limits = [1 << 40]
    with suppress(OSError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    with suppress(OSError, ValueError):  # of a container; "max" without a limit
        group = Path("/sys/fs/cgroup")
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return min(limits)


def configure_malloc() -> bool:
    """Make glibc reuse large blocks from now on, after it returned what is free; False without glibc.

    By default it gives every large tensor fresh pages. At small widths those page faults cost a quarter of the training
    time, and a twentieth of the time of a translation.
    """
    import ctypes

    library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None  # what this process has loaded already
    trim, mallopt = getattr(library, "malloc_trim", None), getattr(library, "mallopt", None)
    if trim is not None:
        trim(0)  # preparing a large corpus leaves free blocks that later work could not use
    # One arena for all threads: only the first one keeps what is freed.
    settings = ((_MMAP_THRESHOLD, _HEAP_BLOCK_BYTES), (_TRIM_THRESHOLD, _NEVER_TRIM), (_ARENAS, 1))
    return mallopt is not None and all(mallopt(*setting) for setting in settings)


def limit_spinning() -> None:
    """Make torch's waiting threads sleep soon: a spinning thread keeps the core that the thread it waits for needs.

    libgomp, which is torch's OpenMP, reads the variable when torch is imported. Values that the user has set stay.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPIN_COUNT))


def limit_kernel_cache() -> None:
    """Make torch keep few of the kernels that it compiles for bfloat16, one for each shape of a product.

    By default it keeps the last 1,024, twice: batches have many shapes, and memory grew by 600 MB in a hundred steps.
    torch reads the setting before the first such product only. Values that the user has set stay.
    """
    for name, count in _KERNEL_CACHE_SIZES.items():
        os.environ.setdefault(name, count)


@contextmanager
def gc_frozen_import() -> Iterator[None]:
    """Import torch without garbage collection, and exclude what the import made from later collections.

    These are more than a hundred thousand objects, all of which stay. `regard translate` starts and ends half a second
    sooner. If torch is imported already, nothing changes: a program's own garbage must be collected.
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


def exit_with_parent() -> None:
    """Make the system send SIGTERM to this process when its parent ends; only Linux can do it."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)

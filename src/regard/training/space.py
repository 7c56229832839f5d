"""Room on the disk and in memory: told before it runs out where that can be known, and plainly where it cannot."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import RegardError

SPARE = 2**16  # bytes, for headers, the manifest and directories
_SIGNS = ("can't allocate memory", "not enough memory", "out of memory")


def require_space(path: Path, tensors: Iterable[Tensor]) -> None:
    """Refuse to begin writing tensors where they do not fit."""
    needed = sum(tensor.numel() * tensor.element_size() for tensor in tensors) + SPARE
    existing = next(place for place in (path, *path.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise RegardError(
            f"{path} needs {needed:,} bytes, and the disk has {free:,} free. Make room, then go on with --resume; "
            "what was saved earlier is as it was."
        )


@contextmanager
def told_of_memory(advice: str) -> Iterator[None]:
    """Turn the many ways in which memory runs out into one error with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and not any(
            sign in str(error).lower() for sign in _SIGNS
        ):
            raise
        reason = (str(error) or "no memory is left").splitlines()[0]
        raise RegardError(f"there is not enough memory: {reason}. {advice}") from None

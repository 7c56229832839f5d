"""Dropout that is cheap on a CPU: one random byte for each entry, drawn eight at a time.

torch draws a float for each entry, on one thread; at small widths that is a seventh of the training time. A byte is
exact enough: the share that is kept is rounded to 256ths, and what is kept is scaled by exactly that share.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

LEVELS = 256  # of a byte
_own = threading.local()  # .generator: what this thread draws from, in place of torch's one for all


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within, dropout draws from this generator in this thread; on CPUs only."""
    _own.generator = generator
    try:
        yield
    finally:
        del _own.generator


class Dropout(nn.Module):
    """In training, sets a share of the entries to zero and scales up the others, so that the mean stays."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        if not self.training or self.share == 0.0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        kept_levels = min(max(1, round((1 - self.share) * LEVELS)), LEVELS - 1)
        room = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        draws = room.random_(-(2**63), None, generator=getattr(_own, "generator", None))  # all 64 bits
        levels = draws.view(torch.uint8)[: x.numel()].view(x.shape)
        is_kept = torch.lt(levels, kept_levels, out=torch.empty_like(x))  # ones and zeros: torch is slow with booleans
        if x.dtype == torch.float32:
            return x * is_kept.mul_(LEVELS / kept_levels)
        return (x * is_kept).mul_(LEVELS / kept_levels)  # a pass more: bfloat16 would round a factor that stood alone

    def extra_repr(self) -> str:
        return f"share={self.share}"

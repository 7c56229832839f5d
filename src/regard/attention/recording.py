"""Seeing inside: `record_attention(model)` keeps what every attention layer of a model computes, by the layer's name.

Whether anyone watches stands in a context variable: one thread may record a model while another one serves with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


@dataclass
class Recording:
    """By layer name: `weights` (B, H, Q, K); with details, also query, key, value, scores, visible and context."""

    details: bool
    names: dict[int, str]
    layers: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    def keep(self, layer: nn.Module, **computed: Tensor) -> None:
        """Add one call of a layer; the calls of one sequence that grows step by step are joined along the queries."""
        kept = self.layers.setdefault(self.names[id(layer)], {})
        for part, now in computed.items():
            if self.details or part == "weights":
                kept[part] = _joined(part, kept.get(part), now.detach())


_active: ContextVar[Recording | None] = ContextVar("regard_recording", default=None)


@contextmanager
def record_attention(model: nn.Module, *, details: bool = False, named: str = "") -> Iterator[Recording]:
    """Record the attention layers inside `model`, those with `named` in their names, while the block runs."""
    recording = Recording(details, {id(module): name for name, module in model.named_modules() if named in name})
    token = _active.set(recording)
    try:
        yield recording
    finally:
        _active.reset(token)


def recording_of(layer: nn.Module) -> Recording | None:
    """The recording that watches this layer, if any does."""
    recording = _active.get()
    return recording if recording is not None and id(layer) in recording.names else None


def _joined(part: str, earlier: Tensor | None, now: Tensor) -> Tensor:
    """Queries of an earlier call, then those of this one; the earlier had no weight on keys that did not exist yet."""
    if earlier is None or part in ("key", "value"):  # this call's keys include those of earlier calls
        return now
    growth = now.shape[-1] - earlier.shape[-1]
    if len(now) != len(earlier) or growth < 0:
        raise ValueError("a recording holds one pass over one batch; to see a finished output, rescore it")
    return torch.cat([pad(earlier, (0, growth), value=float("-inf") if part == "scores" else 0), now], dim=-2)

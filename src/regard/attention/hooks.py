"""`record_attention(model)` records what every attention layer of a model computes, by the layer's name.

The active recording is a context variable: one thread may record a model while another one serves requests with it.
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

    def record(self, layer: nn.Module, **computed: Tensor) -> None:
        """Add one call of a layer; the calls of a sequence that grows step by step are joined along the queries."""
        recorded = self.layers.setdefault(self.names[id(layer)], {})
        for part, current in computed.items():
            if self.details or part == "weights":
                recorded[part] = _append_queries(part, recorded.get(part), current.detach())


_active_recording: ContextVar[Recording | None] = ContextVar("regard_recording", default=None)


@contextmanager
def record_attention(model: nn.Module, *, details: bool = False, name_contains: str = "") -> Iterator[Recording]:
    """Record the attention layers of `model` whose names contain `name_contains`, while the block runs."""
    recording = Recording(
        details, {id(module): name for name, module in model.named_modules() if name_contains in name}
    )
    token = _active_recording.set(recording)
    try:
        yield recording
    finally:
        _active_recording.reset(token)


def active_recording(layer: nn.Module) -> Recording | None:
    """The active recording, if it includes this layer."""
    recording = _active_recording.get()
    return recording if recording is not None and id(layer) in recording.names else None


def _append_queries(part: str, earlier: Tensor | None, current: Tensor) -> Tensor:
    """The queries of earlier calls, then those of this one; earlier queries have no weight on later keys."""
    if earlier is None or part in ("key", "value"):  # this call's keys include those of earlier calls
        return current
    growth = current.shape[-1] - earlier.shape[-1]
    if len(current) != len(earlier) or growth < 0:
        raise ValueError("a recording holds one pass over one batch; to record a finished output, rescore it")
    return torch.cat([pad(earlier, (0, growth), value=float("-inf") if part == "scores" else 0), current], dim=-2)

"""Record or change what a model computes, where its layers expose it.

`record_attention(model)` records every attention layer by its name. `apply_edits(edits)` replaces values: a layer
passes each value that may change to `edit(layer, site, value)`, which returns it unchanged unless an edit is active.

    site       value                                     where
    token      token vectors (B, T, W)                   embeddings, the grid of an image
    position   token vectors with positions              embeddings
    rotary     rotated queries or keys (B, H, T, D)      multi-head attention
    scores     (B, H, Q, K)                              attention, like the next four
    position_bias  scores and the bias of relative positions
    visible    (B, H, Q, K)
    weights    (B, H, Q, K), before dropout
    context    (B, H, Q, D)
    norm       a normalised value (B, T, W)              residual connections, stacks
    residual   x + output of the sub-layer (B, T, W)     residual connections
    block      the output of a block (B, T, W)           stacks
    memory     the output of an encoder (B, S, W)        models

The active recording and the active edits are context variables: one thread may use them while another one serves
requests with the same model.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

# --- recording -------------------------------------------------------------------------------------------------------


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


# --- editing ---------------------------------------------------------------------------------------------------------

Site = Literal[
    "token",
    "position",
    "rotary",
    "scores",
    "position_bias",
    "visible",
    "weights",
    "context",
    "norm",
    "residual",
    "block",
    "memory",
]
SequencePositions = range | Tensor | None  # of the queries or tokens of one call; None: from 0


@dataclass(frozen=True)
class BatchRows:
    """Which sentence each row of the batch belongs to, and how many of its target positions are real."""

    sentences: Tensor
    lengths: Tensor | None = None


@dataclass(frozen=True)
class Place:
    """Where a value is in the batch and in the sequence, and what an edit may need besides the value."""

    positions: range  # of its queries or tokens; hypotheses that are folded into the queries repeat them
    rows: BatchRows | None  # None: row i belongs to sentence i
    without: Tensor | None  # the value without the part that the site is named after, such as its residual connection
    visible: Tensor | None  # at the site "weights"


Edit = Callable[[Tensor, Place], Tensor]
LayerEdits = Mapping[int, Mapping[Site, tuple[Edit, ...]]]  # by the id of a layer


@dataclass(frozen=True)
class ActiveEdits:
    """The edits of all enclosing blocks, in their order, and options that the decode loop applies."""

    layers: LayerEdits
    decoding: Mapping[str, Any]


_active_edits: ContextVar[ActiveEdits | None] = ContextVar("regard_edits", default=None)
_batch_rows: ContextVar[BatchRows | None] = ContextVar("regard_batch_rows", default=None)


@contextmanager
def apply_edits(edits: list[tuple[nn.Module, Site, Edit]], decoding: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Apply the edits after those of enclosing blocks, in this thread, while the block runs."""
    active = _active_edits.get() or ActiveEdits({}, {})
    layers: dict[int, dict[Site, tuple[Edit, ...]]] = {layer: dict(sites) for layer, sites in active.layers.items()}
    for layer, site, function in edits:
        sites = layers.setdefault(id(layer), {})
        sites[site] = (*sites.get(site, ()), function)
    token = _active_edits.set(ActiveEdits(layers, {**active.decoding, **(decoding or {})}))
    try:
        yield
    finally:
        _active_edits.reset(token)


@contextmanager
def restored_edits(edits: ActiveEdits | None) -> Iterator[None]:
    """Exactly these edits, which were active at another time, while the block runs."""
    token = _active_edits.set(edits)
    try:
        yield
    finally:
        _active_edits.reset(token)


@contextmanager
def batch_rows(sentences: Tensor, lengths: Tensor | None = None) -> Iterator[None]:
    """The sentence of each row of a batch whose rows are not one sentence each in order, while the block runs."""
    token = _batch_rows.set(BatchRows(sentences, lengths))
    try:
        yield
    finally:
        _batch_rows.reset(token)


def active_edits() -> ActiveEdits | None:
    """The active edits of any model."""
    return _active_edits.get()


def has_edits(layer: nn.Module) -> bool:
    """Whether an active edit concerns this layer."""
    active = _active_edits.get()
    return active is not None and id(layer) in active.layers


def edit(
    layer: nn.Module,
    site: Site,
    value: Tensor,
    positions: SequencePositions = None,
    *,
    without: Tensor | None = None,
    visible: Tensor | None = None,
) -> Tensor:
    """The value after the active edits of this layer and site; the same tensor if there are none."""
    active = _active_edits.get()
    if active is None or not (functions := active.layers.get(id(layer), {}).get(site)):
        return value
    if positions is None:
        positions = range(value.shape[-2])
    elif isinstance(positions, Tensor):
        positions = range(int(positions[0]), int(positions[-1]) + 1)
    place = Place(positions, _batch_rows.get(), without, visible)
    for function in functions:
        value = function(value, place)
    return value

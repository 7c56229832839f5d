"""What stands around an attention in a Transformer's block, with the model's own numbers.

before    x = E[token] * scale + position, or what the block below gave; with pre-norm, norm(x) enters the sub-layer
after     x + found, with post-norm norm(x + found); then W_2 f(W_1 x), and the same around it
norm      (x - mean) / sqrt(variance + epsilon) * gain + bias, over the numbers of one position
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from regard.translation.arrays import Array, Linear, Row

SubLayerKind = Literal["self-attention", "cross-attention", "recurrence", "feed-forward"]


class NormSteps(Struct, frozen=True, kw_only=True):
    """A layer normalisation of one position."""

    x: Row
    gain: Row
    bias: Row
    epsilon: float
    output: Row


class EmbeddingSteps(Struct, frozen=True, kw_only=True):
    """A token's vector and its position's: what enters the first block."""

    token: Row  # of the table, before it is scaled
    scale: float
    position: Row | None  # what is added; None where positions are told elsewhere, or not at all
    output: Row
    norm: NormSteps | None  # of a model that normalises before its first block


class SubLayerSteps(Struct, frozen=True, kw_only=True):
    """One sub-layer with its residual connection and its normalisation."""

    kind: SubLayerKind
    attention: int | None  # its place among the trace's layers
    x: Row  # what passes by, and is added again
    pre_norm: NormSteps | None
    found: Row
    added: Row
    post_norm: NormSteps | None


class FeedForwardSteps(Struct, frozen=True, kw_only=True):
    """W_2 f(W_1 x + b_1) + b_2, with the row of either matrix that was asked for; None where it was left out."""

    activation: str
    x: Row
    inner: Row  # W_1 x + b_1
    activated: Row
    output: Row
    inner_number: int
    inner_weight: Row | None
    inner_bias: float | None
    outer_number: int
    outer_weight: Row | None
    outer_bias: float | None


class HeadSteps(Struct, frozen=True, kw_only=True):
    """What a reader does before its output layer: norm(f(W x + b))."""

    activation: str
    inner: Row
    norm: NormSteps


class BlockSteps(Struct, frozen=True, kw_only=True):
    """One position's way through a block, from where it comes to where it goes."""

    number: int  # counted from 0 within its stack
    is_last: bool
    below: int | None  # among the trace's layers, an attention of the block below
    above: int | None
    embedding: EmbeddingSteps | None
    sub_layers: list[SubLayerSteps]
    own: int  # which of them this attention is
    feed_forward: FeedForwardSteps
    last_norm: NormSteps | None  # with pre-norm, above the last block
    head: HeadSteps | None


class Written(NamedTuple):
    """Which numbers of a feed-forward network are written out."""

    inner: int = 0
    outer: int = 0


# --- the numbers of all positions ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer normalisation: x and output (T, W), gain and bias (W)."""

    x: Array
    gain: Array
    bias: Array
    epsilon: float
    output: Array

    def at(self, place: int) -> NormSteps:
        x, gain, bias, output = (row.tolist() for row in (self.x[place], self.gain, self.bias, self.output[place]))
        return NormSteps(x=x, gain=gain, bias=bias, epsilon=self.epsilon, output=output)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Each position's token and what tells where it stands: (T, W)."""

    token: Array
    scale: float
    position: Array | None
    output: Array
    norm: Norm | None

    def at(self, place: int) -> EmbeddingSteps:
        return EmbeddingSteps(
            token=self.token[place].tolist(),
            scale=self.scale,
            position=None if self.position is None else self.position[place].tolist(),
            output=self.output[place].tolist(),
            norm=None if self.norm is None else self.norm.at(place),
        )


@dataclass(frozen=True, eq=False)
class SubLayer:
    """A sub-layer's own arrays: (T, W)."""

    kind: SubLayerKind
    attention: int | None
    x: Array
    pre_norm: Norm | None
    found: Array
    added: Array
    post_norm: Norm | None

    def at(self, place: int) -> SubLayerSteps:
        return SubLayerSteps(
            kind=self.kind,
            attention=self.attention,
            x=self.x[place].tolist(),
            pre_norm=None if self.pre_norm is None else self.pre_norm.at(place),
            found=self.found[place].tolist(),
            added=self.added[place].tolist(),
            post_norm=None if self.post_norm is None else self.post_norm.at(place),
        )


@dataclass(frozen=True, eq=False)
class FeedForwardNumbers:
    """x and output (T, W), inner and activated (T, inner), and both matrices, which are the model's own."""

    activation: str
    x: Array
    inner: Array
    activated: Array
    output: Array
    widen: Linear
    narrow: Linear

    def at(self, place: int, written: Written) -> FeedForwardSteps:
        return FeedForwardSteps(
            activation=self.activation,
            x=self.x[place].tolist(),
            inner=self.inner[place].tolist(),
            activated=self.activated[place].tolist(),
            output=self.output[place].tolist(),
            inner_number=written.inner,
            inner_weight=self.widen.weight[written.inner].tolist(),
            inner_bias=_bias(self.widen, written.inner),
            outer_number=written.outer,
            outer_weight=self.narrow.weight[written.outer].tolist(),
            outer_bias=_bias(self.narrow, written.outer),
        )


@dataclass(frozen=True, eq=False)
class HeadNumbers:
    """A reader's last transformation: inner (T, W)."""

    activation: str
    inner: Array
    norm: Norm

    def at(self, place: int) -> HeadSteps:
        return HeadSteps(activation=self.activation, inner=self.inner[place].tolist(), norm=self.norm.at(place))


@dataclass(frozen=True, eq=False)
class BlockNumbers:
    """All that one block computed over its positions."""

    name: str
    number: int
    is_last: bool
    below: int | None
    above: int | None
    embedding: Embedding | None
    sub_layers: list[SubLayer]
    feed_forward: FeedForwardNumbers
    last_norm: Norm | None
    head: HeadNumbers | None

    def at(self, place: int, attention: int, written: Written) -> BlockSteps:
        """One position's way, as the attention of that number sees it."""
        return BlockSteps(
            number=self.number,
            is_last=self.is_last,
            below=self.below,
            above=self.above,
            embedding=None if self.embedding is None else self.embedding.at(place),
            sub_layers=[one.at(place) for one in self.sub_layers],
            own=[one.attention for one in self.sub_layers].index(attention),
            feed_forward=self.feed_forward.at(place, written),
            last_norm=None if self.last_norm is None else self.last_norm.at(place),
            head=None if self.head is None else self.head.at(place),
        )

    @property
    def sizes(self) -> Written:
        """How many numbers either matrix of the feed-forward network gives."""
        return Written(len(self.feed_forward.widen.weight), len(self.feed_forward.narrow.weight))


def arrays_in(numbers: Any) -> Iterator[Array]:
    """The arrays that these numbers hold; a linear layer's are the model's own, and are not among them."""
    if isinstance(numbers, np.ndarray):
        yield numbers
    elif isinstance(numbers, list):
        for one in numbers:
            yield from arrays_in(one)
    elif is_dataclass(numbers):
        for field in fields(numbers):
            yield from arrays_in(getattr(numbers, field.name))


def _bias(linear: Linear, row: int) -> float | None:
    return None if linear.bias is None else float(linear.bias[row])

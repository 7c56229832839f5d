"""The arithmetic of one query in one head, with the model's own numbers: from x to q, k, v, scores, weights, output.

    multi-head   q = W_Q x + b (turned by its position where the model is rotary), k and v likewise of the key inputs,
                 score = q . k * scale, weights = softmax over the visible, context = sum of weights * v, then W_O
    an RNN's     q = x, the decoder's state; v = the key inputs, the encoder's states; the score is one of four

Where a layer has no such matrix, its field is None: an RNN's attention has neither W_Q nor W_O.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from regard.config import ScoreName
from regard.models.uses import KeySide, QuerySide, Use
from regard.translation.around import BlockSteps
from regard.translation.arrays import Array, Linear, Row, Rows
from regard.translation.likeliest import OutputSteps


class AttentionLayer(Struct, frozen=True, kw_only=True):
    """One attention of a model: what it is used for, and how far its recorded weights are from the fused kernel's."""

    name: str  # of the module, for people who read the code
    use: Use
    layer: int  # counted from 0 within its use
    heads: int
    score: ScoreName
    queries: QuerySide
    keys: KeySide
    deviation: float  # the largest |recorded weight - fused kernel's weight|; 0 where no fused kernel is used


class AdditiveSteps(Struct, frozen=True, kw_only=True):
    """score_k = vector . tanh(projected_query + projected_keys_k)."""

    projected_query: Row  # query_weight q
    projected_keys: Rows  # key_weight k + key_bias
    vector: Row
    query_weight: Rows
    key_weight: Rows
    key_bias: Row


class GeneralSteps(Struct, frozen=True, kw_only=True):
    """score_k = q . (weight k): `keys` are already multiplied by it."""

    weight: Rows
    unprepared_keys: Rows


class Inside(Struct, frozen=True, kw_only=True):
    """Everything that led one query of one head to its context; lists of the model's float32 numbers."""

    layer: AttentionLayer
    head: int
    query_index: int
    query_label: str
    key_labels: list[str]
    x: Row  # what enters the query projection
    query: Row
    keys: Rows  # as the score takes them, with the general score as prepared, with the additive score before that
    values: Rows
    scores: Row  # scaled, before visibility
    visible: list[bool]
    weights: Row
    context: Row
    key_inputs: Rows
    query_weight: Rows | None  # this head's rows of W_Q
    query_bias: Row | None
    key_weight: Rows | None
    key_bias: Row | None
    value_weight: Rows | None
    value_bias: Row | None
    output_weight: Rows | None  # this head's columns of W_O
    output_bias: Row | None
    output: Row  # of all heads together
    scale: float
    additive: AdditiveSteps | None
    general: GeneralSteps | None
    is_rotary: bool
    block: BlockSteps | None  # what stands around it; an RNN's attention stands in no block
    spoken: OutputSteps | None  # where the output layer follows, what may be said here


@dataclass(frozen=True, eq=False)
class LayerNumbers:
    """All that one attention computed over one pair: H heads, Q queries, K keys."""

    x: Array  # (Q, W)
    key_inputs: Array  # (K, M)
    query: Array  # (H, Q, D)
    key: Array  # (H, K, D)
    value: Array  # (H, K, E)
    scores: Array  # (H, Q, K)
    visible: NDArray[np.bool_]  # (H, Q, K)
    weights: Array  # (H, Q, K)
    context: Array  # (H, Q, E)
    output: Array  # (Q, W)
    projections: dict[str, Linear]  # query, key, value, output of a multi-head attention
    scale: float
    is_rotary: bool
    steps: dict[str, Any]  # arrays of the additive or the general score, by the names of their structs' fields


class Place(NamedTuple):
    """Which query of which head is looked into, and what stands around it."""

    layer: AttentionLayer
    head: int
    query: int
    block: BlockSteps | None = None
    spoken: OutputSteps | None = None


def inside_of(numbers: LayerNumbers, place: Place, query_label: str, key_labels: list[str]) -> Inside:
    """The numbers of one query in one head, as plain lists."""
    head, query = place.head, place.query
    return Inside(
        layer=place.layer,
        head=head,
        query_index=query,
        query_label=query_label,
        key_labels=key_labels,
        x=numbers.x[query].tolist(),
        query=numbers.query[head, query].tolist(),
        keys=numbers.key[head].tolist(),
        values=numbers.value[head].tolist(),
        scores=numbers.scores[head, query].tolist(),
        visible=numbers.visible[head, query].tolist(),
        weights=numbers.weights[head, query].tolist(),
        context=numbers.context[head, query].tolist(),
        key_inputs=numbers.key_inputs.tolist(),
        **_projections(numbers, head),
        output=numbers.output[query].tolist(),
        scale=numbers.scale,
        additive=_additive(numbers, query) if place.layer.score == "additive" else None,
        general=_general(numbers) if place.layer.score == "general" else None,
        is_rotary=numbers.is_rotary,
        block=place.block,
        spoken=place.spoken,
    )


def _projections(numbers: LayerNumbers, head: int) -> dict[str, Any]:
    """The head's rows of W_Q, W_K, W_V and its columns of W_O, with their biases."""
    parts: dict[str, Any] = {}
    for name, widths in (("query", numbers.query), ("key", numbers.key), ("value", numbers.value)):
        own = slice(head * widths.shape[-1], (head + 1) * widths.shape[-1])
        linear = numbers.projections.get(name)
        parts[f"{name}_weight"] = None if linear is None else linear.weight[own].tolist()
        parts[f"{name}_bias"] = None if linear is None or linear.bias is None else linear.bias[own].tolist()
    width, linear = numbers.context.shape[-1], numbers.projections.get("output")
    columns = slice(head * width, (head + 1) * width)
    parts["output_weight"] = None if linear is None else linear.weight[:, columns].tolist()
    parts["output_bias"] = None if linear is None or linear.bias is None else linear.bias.tolist()
    return parts


def _additive(numbers: LayerNumbers, query: int) -> AdditiveSteps:
    steps = {name: value.tolist() for name, value in numbers.steps.items() if name != "projected_query"}
    return AdditiveSteps(projected_query=numbers.steps["projected_query"][query].tolist(), **steps)


def _general(numbers: LayerNumbers) -> GeneralSteps:
    return GeneralSteps(**{name: value.tolist() for name, value in numbers.steps.items()})

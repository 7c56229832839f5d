"""The numbers of a trace at one position: an attention and the block around it, as plain lists.

    multi-head   q = W_Q x + b (rotated by its position in a rotary model), k and v likewise of the key inputs,
                 score = q . k * scale (and a bias, with relative positions), weights = softmax over the visible,
                 context = sum of weights * v, then W_O
    an RNN's     q = x, the decoder's state; v = the key inputs, the encoder's states; the score is one of several
    block        x = E[token] * scale + position, or the output of the previous block; with pre-norm, norm(x) enters
                 the sub-layer; x + output, with post-norm norm(x + output); then W_2 f(W_1 x), and the same around it
    norm         (x - mean) / sqrt(variance + epsilon) * gain + bias, over the numbers of one position

A field is None where a layer has no such matrix: an RNN's attention has neither W_Q nor W_O. While a model runs, the
numbers of all positions are kept as arrays; `at_position` selects those of one position.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from regard.models.interface import AttentionRole, KeySide, QuerySide
from regard.struct_decoding import convert
from regard.tracing.activations import Array, FloatRow, FloatRows, LinearArrays
from regard.tracing.output_layer import OutputArithmetic

SublayerKind = Literal["self-attention", "cross-attention", "recurrence", "feed-forward"]


# --- arrays of all positions, and the numbers of one -----------------------------------------------------------------


class PerPosition(NamedTuple):
    """An array with a row for each position; other arrays belong to all positions."""

    array: Array


def at_position(tree: Any, position: int) -> Any:
    """The numbers of one position as plain lists: the row of each `PerPosition`, other arrays whole."""
    if isinstance(tree, PerPosition):
        return tree.array[position].tolist()
    if isinstance(tree, np.ndarray):
        return tree.tolist()
    if isinstance(tree, dict):
        return {name: at_position(value, position) for name, value in tree.items()}
    return [at_position(value, position) for value in tree] if isinstance(tree, list) else tree


def iter_arrays(numbers: Any) -> Iterator[Array]:
    """All arrays in these numbers, except those of linear layers, which are the model's own."""
    if isinstance(numbers, LinearArrays):
        return
    if isinstance(numbers, np.ndarray):
        yield numbers
    elif isinstance(numbers, dict | list | PerPosition):
        for one in numbers.values() if isinstance(numbers, dict) else numbers:
            yield from iter_arrays(one)
    elif is_dataclass(numbers):
        for field in fields(numbers):
            yield from iter_arrays(getattr(numbers, field.name))


# --- a block ---------------------------------------------------------------------------------------------------------


class LayerNormArithmetic(Struct, frozen=True, kw_only=True):
    """A normalisation of one position: LayerNorm, or RMSNorm, whose mean and bias are 0 here."""

    x: FloatRow
    gain: FloatRow
    bias: FloatRow
    epsilon: float
    is_centered: bool  # False: RMSNorm, which subtracts no mean
    output: FloatRow


class EmbeddingArithmetic(Struct, frozen=True, kw_only=True):
    """A token's vector and its position's: the input of the first block."""

    token: FloatRow  # of the table, before it is scaled
    scale: float
    position: FloatRow | None  # what is added; None for rotary and relative positions, and for none
    output: FloatRow
    norm: LayerNormArithmetic | None  # of a model that normalises before its first block


class SublayerArithmetic(Struct, frozen=True, kw_only=True):
    """One sub-layer with its residual connection and its normalisation."""

    kind: SublayerKind
    attention: int | None  # its index among the trace's layers
    x: FloatRow  # the residual connection adds it to the output
    pre_norm: LayerNormArithmetic | None
    output: FloatRow
    residual_sum: FloatRow
    post_norm: LayerNormArithmetic | None


class FeedForwardArithmetic(Struct, frozen=True, kw_only=True):
    """W_2 f(W_1 x + b_1) + b_2, with the selected row of each matrix; None where a file leaves it out.

    A gated network multiplies f(W_1 x + b_1) by W_3 x + b_3 first.
    """

    activation: str
    x: FloatRow
    fc1_output: FloatRow  # W_1 x + b_1
    activated: FloatRow
    fc3_output: FloatRow | None  # W_3 x + b_3 of a gated network
    output: FloatRow
    fc1_row: int
    fc1_weight: FloatRow | None
    fc1_bias: float | None
    fc2_row: int
    fc2_weight: FloatRow | None
    fc2_bias: float | None


class LmHeadArithmetic(Struct, frozen=True, kw_only=True):
    """The head of a masked language model before its output layer: norm(f(W x + b))."""

    activation: str
    dense_output: FloatRow
    norm: LayerNormArithmetic


class BlockArithmetic(Struct, frozen=True, kw_only=True):
    """One position in a block, from its input to its output."""

    number: int  # counted from 0 within its stack
    is_last: bool
    previous_block: int | None  # among the trace's layers, an attention of the previous block
    next_block: int | None
    embedding: EmbeddingArithmetic | None
    sublayers: list[SublayerArithmetic]
    attention_sublayer: int  # the index of this attention among them
    feed_forward: FeedForwardArithmetic
    last_norm: LayerNormArithmetic | None  # with pre-norm, after the last block
    head: LmHeadArithmetic | None


class FeedForwardRows(NamedTuple):
    """Which rows of a feed-forward network's two matrices are included."""

    fc1_row: int = 0
    fc2_row: int = 0


@dataclass(frozen=True, eq=False)
class BlockArrays:
    """The numbers of one block over its positions: the fields of `BlockArithmetic`, and the feed-forward matrices."""

    name: str
    is_last: bool
    tree: dict[str, Any]
    fc1: LinearArrays
    fc2: LinearArrays

    @property
    def sizes(self) -> FeedForwardRows:
        """How many rows each of the feed-forward matrices has."""
        return FeedForwardRows(len(self.fc1.weight), len(self.fc2.weight))


def block_arithmetic(block: BlockArrays, position: int, attention: int, rows: FeedForwardRows) -> BlockArithmetic:
    """One position in a block, around the attention with this index among the trace's layers."""
    numbers = at_position(block.tree, position)
    numbers["attention_sublayer"] = [one["attention"] for one in numbers["sublayers"]].index(attention)
    for name, linear, row in (("fc1", block.fc1, rows.fc1_row), ("fc2", block.fc2, rows.fc2_row)):
        numbers["feed_forward"] |= {
            f"{name}_row": row,
            f"{name}_weight": linear.weight[row].tolist(),
            f"{name}_bias": None if linear.bias is None else float(linear.bias[row]),
        }
    return convert(numbers, BlockArithmetic)


# --- an attention ----------------------------------------------------------------------------------------------------


class AttentionLayerInfo(Struct, frozen=True, kw_only=True):
    """One attention of a model: its role, and how far its recorded weights are from those of the fused kernel."""

    name: str  # of the module
    role: AttentionRole
    layer: int  # counted from 0 within its role
    heads: int
    score: str  # its name in attention/scores.py
    queries: QuerySide
    keys: KeySide
    deviation: float  # the largest |recorded weight - fused kernel's weight|; 0 without a fused kernel


class AttentionArithmetic(Struct, frozen=True, kw_only=True):
    """Everything from one query of one head to its context, as lists of the model's float32 numbers."""

    layer: AttentionLayerInfo
    head: int
    query_index: int
    query_label: str
    key_labels: list[str]
    x: FloatRow  # the input of the query projection
    query: FloatRow
    keys: FloatRows  # before the score's own projection, if it has one
    values: FloatRows
    scores: FloatRow  # scaled, with the bias, before visibility
    visible: list[bool]
    weights: FloatRow
    context: FloatRow
    key_inputs: FloatRows
    query_weight: FloatRows | None  # this head's rows of W_Q
    query_bias: FloatRow | None
    key_weight: FloatRows | None
    key_bias: FloatRow | None
    value_weight: FloatRows | None
    value_bias: FloatRow | None
    output_weight: FloatRows | None  # this head's columns of W_O
    output_bias: FloatRow | None
    output: FloatRow  # of all heads together
    scale: float
    score_parameters: dict[str, FloatRows]  # by their names in attention/scores.py; a vector is one row
    is_rotary: bool
    rotary_base: float  # of the angles, where queries and keys are rotated
    position_bias: FloatRow | None  # what relative positions add to the score of each key
    block: BlockArithmetic | None  # None for an RNN's attention
    prediction: OutputArithmetic | None  # where the output layer follows


@dataclass(frozen=True, eq=False)
class AttentionArrays:
    """One attention over one pair: H heads, Q queries, K keys."""

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
    projections: dict[str, LinearArrays]  # query, key, value, output of a multi-head attention
    scale: float
    is_rotary: bool
    rotary_base: float  # of the angles, where queries and keys are rotated
    score_parameters: dict[str, Array]  # by their names in attention/scores.py; a vector is one row
    position_bias: Array | None = None  # (H, Q, K), with relative positions


class QueryLocation(NamedTuple):
    """One query of one head, with the block and the output layer around it."""

    layer: AttentionLayerInfo
    head: int
    query: int
    block: BlockArithmetic | None = None
    prediction: OutputArithmetic | None = None


def attention_arithmetic(
    arrays: AttentionArrays, location: QueryLocation, query_label: str, key_labels: list[str]
) -> AttentionArithmetic:
    """The numbers of one query in one head, as plain lists."""
    head, query = location.head, location.query
    return AttentionArithmetic(
        layer=location.layer,
        head=head,
        query_index=query,
        query_label=query_label,
        key_labels=key_labels,
        x=arrays.x[query].tolist(),
        query=arrays.query[head, query].tolist(),
        keys=arrays.key[head].tolist(),
        values=arrays.value[head].tolist(),
        scores=arrays.scores[head, query].tolist(),
        visible=arrays.visible[head, query].tolist(),
        weights=arrays.weights[head, query].tolist(),
        context=arrays.context[head, query].tolist(),
        key_inputs=arrays.key_inputs.tolist(),
        **_head_projections(arrays, head),
        output=arrays.output[query].tolist(),
        scale=arrays.scale,
        score_parameters={name: array.tolist() for name, array in arrays.score_parameters.items()},
        is_rotary=arrays.is_rotary,
        rotary_base=arrays.rotary_base,
        position_bias=None if arrays.position_bias is None else arrays.position_bias[head, query].tolist(),
        block=location.block,
        prediction=location.prediction,
    )


def _head_projections(arrays: AttentionArrays, head: int) -> dict[str, Any]:
    """The head's rows of W_Q, W_K, W_V and its columns of W_O, with their biases."""
    parts: dict[str, Any] = {}
    for name, widths in (("query", arrays.query), ("key", arrays.key), ("value", arrays.value)):
        linear, width = arrays.projections.get(name), widths.shape[-1]
        if linear is not None:  # several heads may use one head of keys and values
            projected = head // (len(widths) * width // len(linear.weight))
            own = slice(projected * width, (projected + 1) * width)
        parts[f"{name}_weight"] = None if linear is None else linear.weight[own].tolist()
        parts[f"{name}_bias"] = None if linear is None or linear.bias is None else linear.bias[own].tolist()
    width, linear = arrays.context.shape[-1], arrays.projections.get("output")
    columns = slice(head * width, (head + 1) * width)
    parts["output_weight"] = None if linear is None else linear.weight[:, columns].tolist()
    parts["output_bias"] = None if linear is None or linear.bias is None else linear.bias.tolist()
    return parts

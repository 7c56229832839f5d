r"""What each key contributes to a vector: weights say how much is read, but not how long the vector is that is read.

    part_k        sum_h weight_hk W_O^h v_hk;  the parts and the bias of W_O sum to the output of the attention
    norm weights  |part_k|, of one head or of all heads together                                 Kobayashi et al., 2020
    contribution  max(0, |y|_1 - |y - T_k|_1), where y = sum_k T_k is the output of the sub-layer  Ferrando et al., 2022
                  and T_k is part_k (for the query itself x + part_k), divided as the norm after it divides y

`source_and_prefix` multiplies the contributions of all layers, as rollout multiplies weights (ALTI+). The feed-forward
networks move nothing between positions. Voita et al. (2021) ask the same question by layer-wise relevance propagation:
that needs a rule for the relevance of every kind of layer and a backward pass for every output token, where this needs
the one forward pass that a trace has already recorded, and its parts sum to the vector, so that they can be tested.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.errors import RegardError
from regard.tracing.activations import Array
from regard.tracing.arithmetic import AttentionArrays

if TYPE_CHECKING:
    from regard.tracing.trace import Trace


class Contributions(NamedTuple):
    """For each target position, the share of the prediction that comes from each source token and prefix token."""

    by_source: Array  # (T, S)
    by_prefix: Array  # (T, T)


def read_values(arrays: AttentionArrays) -> Array:
    """W_O^h v_hk, what a query reads from a key with a weight of one: (H, K, W); without W_O, the values."""
    output = arrays.projections.get("output")
    if output is None:
        return arrays.value
    heads, _, width = arrays.value.shape
    by_head = output.weight.reshape(len(output.weight), heads, width)  # (W, H, D)
    read: Array = np.einsum("whd,hkd->hkw", by_head, arrays.value)
    return read


def attention_parts(arrays: AttentionArrays, query: int, read: Array | None = None) -> Array:
    """What each key adds to the output of a query, over all heads: (K, W)."""
    parts: Array = np.einsum("hk,hkw->kw", arrays.weights[:, query], read_values(arrays) if read is None else read)
    return parts


def norm_weights(arrays: AttentionArrays, head: int | None = None) -> Array:
    """The norms of what is read, by query and key, for one head or for all together; each row sums to one."""
    read = read_values(arrays)
    if head is not None:
        norms = arrays.weights[head] * np.linalg.norm(read[head], axis=-1)
    else:
        queries = range(arrays.weights.shape[1])
        norms = np.stack([np.linalg.norm(attention_parts(arrays, query, read), axis=-1) for query in queries])
    return _shares(norms)


def sublayer_contributions(arrays: AttentionArrays, sublayer: dict[str, Any]) -> tuple[Array, Array]:
    """The shares of the residual connection (Q) and of each key (Q, K) in the output of a sub-layer."""
    read, norm = read_values(arrays), sublayer["post_norm"]
    x, total = sublayer["x"].array, sublayer["residual_sum"].array
    outputs = total if norm is None else norm["output"].array
    shares = []
    for query, output in enumerate(outputs):
        parts = np.concatenate([x[query : query + 1], attention_parts(arrays, query, read)])
        if norm is not None:
            parts = divided_as_norm(parts, total[query], norm)
        length = np.abs(output).sum()
        shares.append(np.maximum(0.0, length - np.abs(output - parts).sum(axis=-1)))
    both = np.stack(shares)
    both[:, 0] += both.sum(axis=1) == 0  # if no part brings the output closer, it comes from the position itself
    both = _shares(both)
    return both[:, 0], both[:, 1:]


def divided_as_norm(parts: Array, x: Array, norm: dict[str, Any]) -> Array:
    """Each part as the normalisation of x changes it: they sum to its output without its bias."""
    centered = x - x.mean() if norm["is_centered"] else x
    deviation = np.sqrt(np.square(centered).mean() + norm["epsilon"])
    parts = parts - parts.mean(axis=-1, keepdims=True) if norm["is_centered"] else parts
    return np.asarray(parts / deviation * norm["gain"], dtype=np.float32)


def source_and_prefix(trace: "Trace") -> Contributions:
    """The shares of source and prefix in every prediction of a Transformer; each row of both together sums to one."""
    decoder = [block for block in trace.blocks if block.name.split(".")[0] in ("decoder", "image_decoder")]
    if not decoder or any(one["kind"] == "recurrence" for block in decoder for one in block.tree["sublayers"]):
        raise RegardError(
            "contributions need a decoder of self-attention; this model has none. Choose a Transformer without SSRU."
        )
    sources, targets = len(trace.source.pieces), len(trace.target.pieces)
    encoded = np.eye(sources, dtype=np.float32)
    for block in trace.blocks:
        if block not in decoder:
            encoded = _self_contributions(trace, block.tree["sublayers"][0]) @ encoded
    by_source, by_prefix = np.zeros((targets, sources), np.float32), np.eye(targets, dtype=np.float32)
    for block in decoder:
        own, *others = block.tree["sublayers"]
        mixed = _self_contributions(trace, own)
        by_source, by_prefix = mixed @ by_source, mixed @ by_prefix
        for cross in others[:-1]:  # the last one is the feed-forward network
            residual, keys = sublayer_contributions(trace.arrays[cross["attention"]], cross)
            by_source = residual[:, None] * by_source + keys @ encoded
            by_prefix = residual[:, None] * by_prefix
    return Contributions(by_source, by_prefix)


def _self_contributions(trace: "Trace", sublayer: dict[str, Any]) -> Array:
    residual, keys = sublayer_contributions(trace.arrays[sublayer["attention"]], sublayer)
    return keys + np.diag(residual)


def _shares(values: Any) -> Array:
    total = values.sum(axis=-1, keepdims=True)
    return np.asarray(values / np.where(total == 0, 1.0, total), dtype=np.float32)

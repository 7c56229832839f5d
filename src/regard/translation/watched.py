"""One teacher-forced pass in which every attention is recorded, and what enters and leaves its matrices is watched.

By the law that all at once is one at a time, what is seen is what the search saw that found the output.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from regard.attention.multi_head import MultiHeadAttention
from regard.attention.recording import record_attention
from regard.attention.scores import AdditiveScore, dot
from regard.config import ScoreName
from regard.decoding.rescoring import read_again, worth_of
from regard.models.interface import Decoded, Source
from regard.models.uses import sides_of, use_of
from regard.translation.around import BlockNumbers
from regard.translation.arrays import Linear, as_array, as_linear
from regard.translation.inside import AttentionLayer, LayerNumbers
from regard.translation.passing import Passed, keep_passing
from regard.translation.watched_blocks import block_numbers, block_parts

PARTS = ("query", "key", "output", "score.query")  # of an attention, as far as it has them


@dataclass(frozen=True)
class Watching:
    """All that each attention and each block computed while watched; filled in at the end."""

    layers: list[AttentionLayer] = field(default_factory=list)
    numbers: list[LayerNumbers] = field(default_factory=list)
    blocks: list[BlockNumbers] = field(default_factory=list)


@dataclass(frozen=True)
class WatchedPass:
    """What a pair is worth, what was decoded of it, and all that was computed on the way."""

    log_probabilities: list[float]
    decoded: Decoded
    seen: Watching


def watched_pass(model: nn.Module, source: Source, target_tokens: list[int]) -> WatchedPass:
    """Score the target of one source, watched."""
    with watching(model) as seen:
        decoded = read_again(model, source, [target_tokens], sentences=[0])  # type: ignore[arg-type]
    return WatchedPass(worth_of(decoded, [target_tokens])[0].tolist(), decoded, seen)


@contextmanager
def watching(model: nn.Module) -> Iterator[Watching]:
    """Watch a model's attention in one pass over one row."""
    seen = Watching()
    with record_attention(model, details=True) as recording, ExitStack() as stack:
        passed = keep_passing(stack, [*_parts(model), *block_parts(model)], recording)
        yield seen
    names = list(recording.layers)
    seen.layers.extend(_described(model, name, names, recording.layers[name]) for name in names)
    for name in names:
        own = {part: passed[f"{name}.{part}"] for part in PARTS if f"{name}.{part}" in passed}
        seen.numbers.append(_numbers(model.get_submodule(name), recording.layers[name], own))
    seen.blocks.extend(block_numbers(model, passed, names))


# --- what enters and leaves an attention's matrices ------------------------------------------------------------------


def _parts(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The parts of every attention, as far as it has them."""
    for name, attention in model.named_modules():
        parts = dict(attention.named_modules())
        for part in PARTS if "key" in parts else ():
            if part in parts:
                yield f"{name}.{part}", parts[part]


# --- one layer -------------------------------------------------------------------------------------------------------


def _described(model: nn.Module, name: str, names: list[str], kept: dict[str, Tensor]) -> AttentionLayer:
    use, attention = use_of(name), model.get_submodule(name)
    queries, keys = sides_of(use)
    return AttentionLayer(
        name=name,
        use=use,
        layer=[other for other in names if use_of(other) == use].index(name),
        heads=kept["weights"].shape[1],
        score=_score_name(attention),
        queries=queries,
        keys=keys,
        deviation=_deviation(kept) if isinstance(attention, MultiHeadAttention) else 0.0,
    )


def _score_name(attention: nn.Module) -> ScoreName:
    if isinstance(attention, MultiHeadAttention):
        return "scaled_dot"
    if isinstance(attention.score, AdditiveScore):
        return "additive"
    if isinstance(attention.get_submodule("score.prepare"), nn.Linear):
        return "general"
    return "dot" if attention.score.formula is dot else "scaled_dot"  # type: ignore[union-attr]


@torch.inference_mode()
def _deviation(kept: dict[str, Tensor]) -> float:
    """How far the recorded weights are from those of torch's fused kernel.

    Asked for the identity instead of values, the kernel gives its weights. It is asked for as many of its columns at a
    time as a head is wide, since other widths would send the question to a kernel that is not fused.
    """
    query, key, visible, weights = (kept[part] for part in ("query", "key", "visible", "weights"))
    (keys, width), largest = key.shape[-2:], 0.0
    seen = None if visible.all() else visible
    identity = pad(torch.eye(keys, dtype=key.dtype, device=key.device), (0, -keys % width))
    for start in range(0, keys, width):
        columns = identity[:, start : start + width].expand(*key.shape)
        fused = scaled_dot_product_attention(query, key, columns.contiguous(), seen)
        difference = fused[..., : keys - start] - weights[..., start : start + width]
        largest = max(largest, float(difference.abs().max()))
    return largest


def _numbers(attention: nn.Module, kept: dict[str, Tensor], passed: dict[str, Passed]) -> LayerNumbers:
    recorded = {part: as_array(tensor[0]) for part, tensor in kept.items() if part != "visible"}
    is_multi_head = isinstance(attention, MultiHeadAttention)
    width = recorded["query"].shape[-1]
    score = _score_name(attention)
    steps = _score_steps(attention, score, recorded, passed)
    if score == "additive":
        recorded["key"] = as_array(passed["key"].left)  # what the score's own layer has not yet taken apart
    return LayerNumbers(
        x=as_array(passed["query"].entered[0]) if is_multi_head else recorded["query"][0],
        key_inputs=as_array(passed["key"].entered[0]),
        output=as_array(passed["output"].left[0]) if is_multi_head else recorded["context"][0],
        visible=kept["visible"][0].cpu().numpy(),
        projections=_linears(attention),
        scale=width**-0.5 if score == "scaled_dot" else 1.0,
        is_rotary=is_multi_head and attention.rotate is not None,
        steps=steps,
        **recorded,
    )


def _score_steps(
    attention: nn.Module, score: ScoreName, recorded: dict[str, NDArray[np.float32]], passed: dict[str, Passed]
) -> dict[str, NDArray[np.float32]]:
    """The arrays that the general and the additive score have besides those of every attention."""
    if score == "general":
        weight = attention.get_parameter("score.prepare.weight")
        return {"weight": as_array(weight), "unprepared_keys": as_array(passed["key"].left[0])}
    if score != "additive":
        return {}
    parameters = {
        "vector": "score.vector",
        "query_weight": "score.query.weight",
        "key_weight": "score.prepare.weight",
        "key_bias": "score.prepare.bias",
    }
    return {
        "projected_query": as_array(passed["score.query"].left[0, 0]),
        "projected_keys": recorded["key"][0],
        **{name: as_array(attention.get_parameter(path)) for name, path in parameters.items()},
    }


def _linears(attention: nn.Module) -> dict[str, Linear]:
    children = {name: child for name, child in attention.named_children() if isinstance(child, nn.Linear)}
    return {name: as_linear(child) for name, child in children.items()}

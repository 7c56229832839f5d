"""One teacher-forced pass in which every attention and every block is recorded.

Decoding all at once equals decoding one step at a time, so this pass computes what the search computed.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attention import hooks
from regard.attention.key_value_cache import KeyValues
from regard.attention.multi_head import MultiHeadAttention, fused_attention
from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.decoding.loop import forced_decode, token_log_probabilities
from regard.errors import RegardError
from regard.models.interface import CROSS_ATTENTION, DecoderOutput, Source, query_and_key_side, role_of
from regard.tracing.activations import Activations, linear_arrays, record_activations, to_array
from regard.tracing.arithmetic import AttentionArrays, AttentionLayerInfo, BlockArrays
from regard.tracing.capture_blocks import block_arrays, block_modules

BATCH_PAIRS = 64  # at once
BATCH_CELLS = 2**18  # of one head's weights with padding, at once: one pair of 500 tokens
TokenIdPair = tuple[list[int], list[int]]  # source and target ids, without BEGIN and END
ATTENTION_PARTS = ("query", "key", "output")  # of an attention, as far as it has them

LayerWeights = dict[str, NDArray[np.float32]]  # by layer name: (heads, queries, keys)

NO_REGARD_LAYERS = (
    "nothing was recorded: this model has none of regard's attention layers. Build it with regard.MultiHeadAttention "
    "or regard.AttentionLayer; or give the weights that its own layers return (torch's nn.MultiheadAttention: "
    "need_weights=True, average_attn_weights=False) to regard.plotting.plot_attention(weights, rows, columns)."
)


@contextmanager
def record_attention(model: nn.Module, *, details: bool = False, name_contains: str = "") -> Iterator[hooks.Recording]:
    """Record the attention layers in `model` whose names contain `name_contains`, while the block runs.

    A model without any layer of regard gives a warning, because nothing in it can be recorded. For example:

        model = regard.load("world-en-ko").bundle.model
        source = regard.encode_source_rows([[10, 11, 12]])
        with regard.record_attention(model, name_contains="encoder") as recording:
            model.encode(source)
        for name, layer in recording.layers.items():
            print(name, layer["weights"].shape)  # (batch, heads, queries, keys)
    """
    if not isinstance(model, nn.Module):
        raise RegardError(
            f"record_attention takes a torch module, and got {type(model).__name__}. Of an opened model, give "
            "its module: translator.bundle.model."
        )
    with hooks.record_attention(model, details=details, name_contains=name_contains) as recording:
        yield recording
    if not any(type(module).__module__.partition(".")[0] == "regard" for module in model.modules()):
        warnings.warn(NO_REGARD_LAYERS, stacklevel=3)


@dataclass(frozen=True)
class Capture:
    """The numbers of every attention and every block of one pass; filled when the pass ends."""

    layers: list[AttentionLayerInfo] = field(default_factory=list)
    arrays: list[AttentionArrays] = field(default_factory=list)
    blocks: list[BlockArrays] = field(default_factory=list)


@dataclass(frozen=True)
class CapturedPass:
    """The log-probabilities of a pair, its decoder output, and everything that was computed."""

    log_probabilities: list[float]
    decoded: DecoderOutput
    capture: Capture


def capture_pass(model: nn.Module, source: Source, target_tokens: list[int]) -> CapturedPass:
    """Score the target of one source, and record the pass."""
    with capture(model) as captured:
        decoded = forced_decode(model, source, [target_tokens], sentences=[0])  # type: ignore[arg-type]
    return CapturedPass(token_log_probabilities(decoded, [target_tokens])[0].tolist(), decoded, captured)


@contextmanager
def capture(model: nn.Module) -> Iterator[Capture]:
    """Record one pass over one row."""
    captured = Capture()
    with hooks.record_attention(model, details=True) as recording, ExitStack() as stack:
        activations = record_activations(stack, [*_attention_parts(model), *block_modules(model)], recording)
        yield captured
    names = list(recording.layers)
    captured.layers.extend(_describe_layer(model, name, names, recording.layers[name]) for name in names)
    for name in names:
        own = {part: activations[f"{name}.{part}"] for part in ATTENTION_PARTS if f"{name}.{part}" in activations}
        captured.arrays.append(_attention_arrays(model.get_submodule(name), recording.layers[name], own))
    captured.blocks.extend(block_arrays(model, activations, names))


def _attention_parts(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The parts of every attention, as far as it has them."""
    for name, attention in model.named_modules():
        parts = dict(attention.named_modules())
        for part in ATTENTION_PARTS if "key" in parts else ():
            if part in parts:
                yield f"{name}.{part}", parts[part]


def _describe_layer(model: nn.Module, name: str, names: list[str], kept: dict[str, Tensor]) -> AttentionLayerInfo:
    role, attention = role_of(name), cast(Any, model.get_submodule(name))
    queries, keys = query_and_key_side(role)
    has_fused_kernel = isinstance(attention, MultiHeadAttention) and not hooks.has_edits(attention)
    return AttentionLayerInfo(
        name=name,
        role=role,
        layer=[other for other in names if role_of(other) == role].index(name),
        heads=kept["weights"].shape[1],
        score=attention.score.name,
        queries=queries,
        keys=keys,
        deviation=_fused_kernel_deviation(attention, kept) if has_fused_kernel else 0.0,
    )


@torch.inference_mode()
def _fused_kernel_deviation(attention: MultiHeadAttention, kept: dict[str, Tensor]) -> float:
    """How far the recorded weights are from those of torch's fused kernel.

    With the identity as values, the kernel returns its weights. It gets as many columns at a time as a head is wide,
    because torch would choose a kernel that is not fused for other widths.
    """
    query, key, visible, weights = (kept[part] for part in ("query", "key", "visible", "weights"))
    (keys, width), largest = key.shape[-2:], 0.0
    mask, scale = None if visible.all() else visible, attention.score.scale(width)
    identity = pad(torch.eye(keys, dtype=key.dtype, device=key.device), (0, -keys % width))
    for start in range(0, keys, width):
        columns = identity[:, start : start + width].expand(*key.shape)
        key_values, bias = KeyValues.from_tensors(key, columns.contiguous()), kept.get("position_bias")
        fused = fused_attention(query, key_values, mask, scale=scale, position_bias=bias)
        difference = fused[..., : keys - start] - weights[..., start : start + width]
        largest = max(largest, float(difference.abs().max()))
    return largest


def _rotary_base(attention: Any) -> float:
    rotate = getattr(attention, "rotate", None)
    return float(rotate.keywords["base"]) if isinstance(rotate, partial) else 10_000.0


def _attention_arrays(attention: Any, kept: dict[str, Tensor], activations: dict[str, Activations]) -> AttentionArrays:
    recorded = {part: to_array(tensor[0]) for part, tensor in kept.items() if part != "visible"}
    is_multi_head = isinstance(attention, MultiHeadAttention)
    width = recorded["query"].shape[-1]
    if not is_multi_head:
        recorded["key"] = to_array(activations["key"].outputs)  # before the score's own projection
    return AttentionArrays(
        x=to_array(activations["query"].inputs[0]) if is_multi_head else recorded["query"][0],
        key_inputs=to_array(activations["key"].inputs[0]),
        output=to_array(activations["output"].outputs[0]) if is_multi_head else recorded["context"][0],
        visible=kept["visible"][0].cpu().numpy(),
        projections={
            name: linear_arrays(child) for name, child in attention.named_children() if isinstance(child, nn.Linear)
        },
        scale=attention.score.scale(width),
        is_rotary=is_multi_head and attention.rotate is not None,
        rotary_base=_rotary_base(attention),
        score_parameters={
            name: np.atleast_2d(to_array(parameter)) for name, parameter in attention.score.named_parameters()
        },
        **recorded,
    )


def attention_weights(
    bundle: Bundle, pairs: Sequence[TokenIdPair], *, name_contains: str = ""
) -> Iterator[LayerWeights]:
    """For each pair the weights of the layers with `name_contains` in their names.

    The source ends with END; the target's queries begin with BEGIN.
    """
    device = next(bundle.model.parameters()).device
    for batch in _batches_by_cells(pairs):
        source = encode_source_rows([own for own, _ in batch], device=device)
        targets = [target for _, target in batch]
        with hooks.record_attention(bundle.model, name_contains=name_contains) as recording:
            forced_decode(bundle.model, source, targets, sentences=list(range(len(batch))))  # type: ignore[arg-type]
        layers = {name: kept["weights"].float().cpu().numpy() for name, kept in recording.layers.items()}
        for row, (own, target) in enumerate(batch):
            yield {
                name: _trim_padding(name, weights[row], len(own) + 1, len(target) + 1)
                for name, weights in layers.items()
            }


def _batches_by_cells(pairs: Sequence[TokenIdPair]) -> Iterator[list[TokenIdPair]]:
    """The pairs in their order, as many at once as fit into BATCH_CELLS: one, if they are long."""
    batch: list[TokenIdPair] = []
    longest = 0
    for pair in pairs:
        own = max(map(len, pair)) + 1
        longest = max(longest, own)
        if batch and (len(batch) == BATCH_PAIRS or (len(batch) + 1) * longest**2 > BATCH_CELLS):
            yield batch
            batch, longest = [], own
        batch.append(pair)
    if batch:
        yield batch


def cross_attention_weights(bundle: Bundle, pairs: Sequence[TokenIdPair]) -> Iterator[list[NDArray[np.float32]]]:
    """For each pair the weights of the layers in which the target attends to the source, the first layer first."""
    for layers in attention_weights(bundle, pairs, name_contains=CROSS_ATTENTION):
        yield [weights for name, weights in layers.items() if role_of(name) == "cross"]


def _trim_padding(name: str, weights: NDArray[np.float32], source: int, target: int) -> NDArray[np.float32]:
    """A layer's weights without the padding of the batch."""
    queries, keys = query_and_key_side(role_of(name))
    lengths = {"source": source, "target": target, "image": weights.shape[-1]}
    return weights[:, : lengths[queries], : lengths[keys]]

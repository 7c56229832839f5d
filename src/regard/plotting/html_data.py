"""A trace or captions as the JSON that the page reads, from a server or inside a single file."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.inference.traced_caption import TracedCaption, caption_summary
from regard.metrics.alignment import Links
from regard.tracing.activations import LinearArrays
from regard.tracing.arithmetic import AttentionArrays, BlockArrays, PerPosition, iter_arrays
from regard.tracing.output_layer import OutputArrays
from regard.tracing.trace import Trace

MAX_MATRIX_BYTES = 4_000_000  # of all W_Q, W_K, W_V, W_O: above it they are omitted, and Inside starts at q, k, v
MAX_FEED_FORWARD_BYTES = 4_000_000  # of all W_1 and W_2: above it they are omitted, with their sums
MAX_BLOCK_BYTES = 8_000_000  # of the blocks around the attention layers: above it (long texts) they are omitted
MAX_SCORE_BYTES = 8_000_000  # of all scores: above it (some 300 tokens) Inside is omitted


@dataclass(frozen=True)
class Experiment:
    """The interventions under which a trace was made, as strings, and the trace without them."""

    interventions: Sequence[str]
    before: Trace

    def record(self) -> dict[str, Any]:
        """The changes, and the output before them."""
        before = msgspec.to_builtins(self.before.summary())
        kept = {name: before[name] for name in ("text", "target", "log_probabilities")}
        return {"interventions": list(self.interventions), "before": kept}


def trace_page_data(
    trace: Trace,
    *,
    name: str = "model",
    languages: tuple[str, str] = ("", ""),
    gold: Links | None = None,
    experiment: Experiment | None = None,
    identity: str = "embedded",
    shared_by: int = 1,
) -> dict[str, Any]:
    """Everything that the page shows of a trace, as JSON values; `shared_by` so many traces in the same file."""
    if trace.is_class:
        task = "classification"
    elif trace.source.pieces and trace.target.pieces:
        task = "translation"
    else:  # one side of a language model's trace is empty
        task = "fill-mask" if trace.source.pieces else "text-generation"
    log_probability, positions = sum(trace.log_probabilities), trace.position_table
    return {
        "models": [model_record(trace, name, languages, task)],
        "source": " ".join(trace.source.words[:-1]) or trace.text,
        "trace": {
            "id": identity,
            "model": name,
            **msgspec.to_builtins(trace.summary()),
            "translation": {
                "text": trace.text,
                "score": log_probability,
                "log_probability": log_probability,
                "alignment": None,
            },
        },
        "weights": layer_weights(trace),
        "rollout": _encode_array(trace.rollout()) if trace.layers_with_role("encoder-self") else None,
        "details": attention_data(trace, shared_by),
        **block_data(trace, shared_by),
        "positions": positions and {"table": _encode_array(positions.table), "trained": positions.trained},
        "gold": None if gold is None else sorted(map(list, gold)),
        "experiment": None if experiment is None else experiment.record(),
    }


def traces_page_data(
    traces: Sequence[Trace], *, name: str = "model", languages: tuple[str, str] = ("", "")
) -> dict[str, Any]:
    """Several traces of one model in a page; the reader chooses a sentence. They share the limits of a file."""
    first, *others = (
        trace_page_data(trace, name=name, languages=languages, identity=f"embedded-{number}", shared_by=len(traces))
        for number, trace in enumerate(traces)
    )
    return first | {"others": others}


def layer_weights(trace: Trace) -> dict[str, Any]:
    """Every layer's weights, by its number."""
    return {str(index): _encode_array(layer.weights) for index, layer in enumerate(trace.arrays)}


def attention_data(trace: Trace, shared_by: int = 1) -> dict[str, Any]:
    """The parts of `AttentionArithmetic` by layer number; empty for a long trace."""
    has_matrices = _matrix_bytes(trace) * shared_by <= MAX_MATRIX_BYTES
    is_small = sum(layer.scores.nbytes for layer in trace.arrays) * shared_by <= MAX_SCORE_BYTES
    kept = trace.arrays if is_small else []
    return {str(index): _attention_record(layer, has_matrices) for index, layer in enumerate(kept)}


def block_data(trace: Trace, shared_by: int = 1) -> dict[str, Any]:
    """The blocks around the attention layers, the block of each layer, and predictions; empty for a long trace."""
    is_small = sum(array.nbytes for array in iter_arrays(trace.blocks)) * shared_by <= MAX_BLOCK_BYTES
    kept = trace.blocks if is_small else []
    has_matrices = sum(_feed_forward_bytes(block) for block in kept) * shared_by <= MAX_FEED_FORWARD_BYTES
    names = [block.name for block in kept]
    return {
        "blocks": [_block_record(block, has_matrices) for block in kept],
        "has_blocks": bool(trace.blocks),
        "block_of": [
            None if (block := trace.block_of(layer)) is None or not is_small else names.index(block.name)
            for layer in range(len(trace.layers))
        ],
        "prediction": None if trace.prediction is None or not is_small else _prediction_record(trace.prediction),
    }


def detail_bytes(trace: Trace) -> int:
    """The approximate number of bytes of `attention_data` and `block_data`."""
    arrays = [array for layer in trace.arrays for array in (layer.x, layer.query, layer.key, layer.value, layer.output)]
    parameters = [array for layer in trace.arrays for array in layer.score_parameters.values()]
    around = sum(array.nbytes for array in iter_arrays([*trace.blocks, trace.prediction]))
    numbers = sum(int(array.nbytes) for array in [*arrays, *parameters]) + min(around, MAX_BLOCK_BYTES)
    inner = min(sum(map(_feed_forward_bytes, trace.blocks)), MAX_FEED_FORWARD_BYTES)
    return numbers + inner + min(_matrix_bytes(trace), MAX_MATRIX_BYTES)


def model_record(trace: Trace, name: str, languages: tuple[str, str], task: str = "translation") -> dict[str, Any]:
    """The server's record of a model, as far as a trace contains it."""
    return {
        "name": name,
        "source": languages[0],
        "target": languages[1],
        "kind": "",
        "score": None,
        "query_state": None,
        "parameters": None,
        "layers": len(trace.layers_with_role(trace.layers[-1].role)) if trace.layers else 0,
        "heads": max((layer.heads for layer in trace.layers), default=0),
        "has_attention": bool(trace.layers),
        "max_positions": None,
        "run": None,
        "is_ready": True,
        "task": task,
        "reads_images": trace.is_image,
        "fills_masks": task == "fill-mask" and trace.prediction is not None,
    }


def _attention_record(layer: AttentionArrays, has_matrices: bool) -> dict[str, Any]:
    """The parts of `AttentionArithmetic`; matrices once for all heads and queries."""
    arrays = {part: _encode_array(getattr(layer, part)) for part in ("x", "query", "key", "value", "key_inputs")}
    arrays |= {part: _encode_array(getattr(layer, part)) for part in ("scores", "context", "output")}
    return {
        **arrays,
        "visible": _encode_array(layer.visible[0]),  # the same for every head
        "scale": layer.scale,
        "is_rotary": layer.is_rotary,
        "rotary_base": layer.rotary_base,
        **({} if layer.position_bias is None else {"position_bias": _encode_array(layer.position_bias)}),
        **(_matrices(layer) if has_matrices else {}),
        "score_parameters": {name: _encode_array(array) for name, array in layer.score_parameters.items()},
    }


def _matrices(layer: AttentionArrays) -> dict[str, Any]:
    """Each head's rows of W_Q, W_K and W_V, its columns of W_O, and the biases."""
    heads = len(layer.weights)
    found: dict[str, Any] = {}
    for name, linear in layer.projections.items():
        if name == "output":
            found["output_weight"] = _encode_array(np.stack(np.split(linear.weight, heads, axis=1)))
            found |= {} if linear.bias is None else {"output_bias": _encode_array(linear.bias)}
            continue
        for part, rows in (("weight", linear.weight), ("bias", linear.bias)):
            if rows is not None:  # several heads may use one head of keys and values
                own_heads = len(rows) // layer.key.shape[-1]
                by_head = rows.reshape(own_heads, -1, *rows.shape[1:])
                found[f"{name}_{part}"] = _encode_array(np.repeat(by_head, heads // own_heads, axis=0))
    return found


def _block_record(block: BlockArrays, has_matrices: bool) -> dict[str, Any]:
    """The numbers of a block without duplicates: the input of a part is the output of the part before it."""
    found: dict[str, Any] = {"name": block.name, **_to_plain(block.tree)}
    network = found["feed_forward"]
    norms = [one[name] for one in found["sublayers"] for name in ("pre_norm", "post_norm") if one[name]]
    for part in [*norms, *found["sublayers"][1:], network, *filter(None, [found["last_norm"]])]:
        del part["x"]
    del network["output"]
    for part, linear in (("fc1", block.fc1), ("fc2", block.fc2)):
        network[f"{part}_weight"] = _encode_array(linear.weight) if has_matrices else None
        network[f"{part}_bias"] = None if linear.bias is None or not has_matrices else _encode_array(linear.bias)
    return found


def _to_plain(value: Any) -> Any:
    """Numbers as JSON values, with encoded arrays."""
    if isinstance(value, PerPosition):
        return _encode_array(value.array)
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, dict):
        return {name: _to_plain(one) for name, one in value.items()}
    if is_dataclass(value):
        return {field.name: _to_plain(getattr(value, field.name)) for field in fields(value)}
    return [_to_plain(one) for one in value] if isinstance(value, list) else value


def _prediction_record(prediction: OutputArrays) -> dict[str, Any]:
    """The candidates at each position, with the output layer's rows of those tokens, each once."""
    rows = sorted({one.token for position in prediction.candidates for one in position})
    bias = prediction.output.bias
    return {
        "side": prediction.side,
        "vocabulary": len(prediction.output.weight),
        "hidden": _encode_array(prediction.hidden),
        "log_partitions": _encode_array(prediction.log_partitions),
        "candidates": _to_plain(prediction.candidates),
        "rows": rows,
        "weight": _encode_array(prediction.output.weight[rows]),
        "bias": None if bias is None else _encode_array(bias[rows]),
    }


def _feed_forward_bytes(block: BlockArrays) -> int:
    return block.fc1.weight.nbytes + block.fc2.weight.nbytes


def _matrix_bytes(trace: Trace) -> int:
    linears: list[LinearArrays] = [linear for layer in trace.arrays for linear in layer.projections.values()]
    return sum(linear.weight.nbytes for linear in linears)


def _encode_array(array: NDArray[Any]) -> dict[str, Any]:
    """Float32, little-endian, row by row."""
    return {"shape": list(array.shape), "data": b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()}


MAX_DETAIL_BYTES = 16_000_000  # of all images: above it (a large sheet) only the maps are kept


def caption_page_data(images: Sequence[TracedCaption], *, name: str, language: str = "") -> dict[str, Any]:
    """Everything that the page shows of the images, as JSON values."""
    is_small = sum(detail_bytes(one.trace) for one in images) <= MAX_DETAIL_BYTES
    return {
        "models": [model_record(images[0].trace, name, ("", language), task="image-to-text")],
        "captions": [
            {
                "trace": msgspec.to_builtins(caption_summary(one, identity=str(number), model=name)),
                "weights": layer_weights(one.trace),
                "details": attention_data(one.trace) if is_small else None,
                **(block_data(one.trace) if is_small else {}),
            }
            for number, one in enumerate(images)
        ],
    }

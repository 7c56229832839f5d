"""A trace as the data that stands in a file or a notebook, in the shape that the page's api.js tells."""

from base64 import b64encode
from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.metrics import Links
from regard.translation.around import BlockNumbers, arrays_in
from regard.translation.arrays import Linear
from regard.translation.inside import LayerNumbers
from regard.translation.likeliest import OutputNumbers
from regard.translation.trace import Trace

MOST_MATRIX_BYTES = 4_000_000  # of all W_Q, W_K, W_V, W_O: with more, they are left out, and Inside begins at q, k, v
MOST_INNER_BYTES = 4_000_000  # of all W_1 and W_2: with more, they are left out, and their sums are not written out
MOST_BLOCK_BYTES = 8_000_000  # of what stands around the attentions: with more, as of a long text, it is left out
MOST_SCORE_BYTES = 8_000_000  # of all scores: with more, as of some 300 tokens, Inside is left out


def page_data(
    trace: Trace, *, name: str = "model", languages: tuple[str, str] = ("", ""), gold: Links | None = None
) -> dict[str, Any]:
    """Everything that the page shows of a trace, as plain values that become JSON."""
    return {
        "models": [model_record(trace, name, languages, _takes(trace))],
        "source": " ".join(trace.source.spelled[:-1]) or trace.text,
        "trace": {
            "id": "embedded",
            "model": name,
            **msgspec.to_builtins(trace.summary()),
            "translation": _translation(trace),
        },
        "weights": weights_of(trace),
        "rollout": _array(trace.rollout()) if trace.of_use("encoder-self") else None,
        "details": details_of(trace),
        **around_of(trace),
        "positions": _positions(trace),
        "gold": None if gold is None else sorted(map(list, gold)),
    }


def weights_of(trace: Trace) -> dict[str, Any]:
    """Every layer's weights, by its number."""
    return {str(index): _array(layer.weights) for index, layer in enumerate(trace.numbers)}


def details_of(trace: Trace) -> dict[str, Any]:
    """What `Inside` is assembled from, by the layer's number; none of a long trace."""
    has_matrices = _matrix_bytes(trace) <= MOST_MATRIX_BYTES
    is_small = sum(layer.scores.nbytes for layer in trace.numbers) <= MOST_SCORE_BYTES
    kept = trace.numbers if is_small else []
    return {str(index): _details(layer, has_matrices) for index, layer in enumerate(kept)}


def around_of(trace: Trace) -> dict[str, Any]:
    """The blocks around the attentions, whose block each one stands in, and what may be said; none of a long trace."""
    is_small = sum(array.nbytes for array in arrays_in(trace.blocks)) <= MOST_BLOCK_BYTES
    kept = trace.blocks if is_small else []
    has_matrices = sum(_inner_bytes(block) for block in kept) <= MOST_INNER_BYTES
    names = [block.name for block in kept]
    return {
        "blocks": [_block(block, has_matrices) for block in kept],
        "has_blocks": bool(trace.blocks),
        "block_of": [
            None if (block := trace.block_of(layer)) is None or not is_small else names.index(block.name)
            for layer in range(len(trace.layers))
        ],
        "spoken": None if trace.spoken is None or not is_small else _spoken(trace.spoken),
    }


def detail_bytes(trace: Trace) -> int:
    """About how many bytes of numbers `details_of` has."""
    arrays = [
        array for layer in trace.numbers for array in (layer.x, layer.query, layer.key, layer.value, layer.output)
    ]
    steps = [array for layer in trace.numbers for array in layer.steps.values()]
    around = sum(array.nbytes for array in arrays_in([*trace.blocks, trace.spoken]))
    numbers = sum(int(array.nbytes) for array in [*arrays, *steps]) + min(around, MOST_BLOCK_BYTES)
    inner = min(sum(map(_inner_bytes, trace.blocks)), MOST_INNER_BYTES)
    return numbers + inner + min(_matrix_bytes(trace), MOST_MATRIX_BYTES)


def model_record(trace: Trace, name: str, languages: tuple[str, str], takes: str = "text") -> dict[str, Any]:
    """The record that a server gives of a model, as far as a trace knows it."""
    return {
        "name": name,
        "source": languages[0],
        "target": languages[1],
        "kind": "",
        "score": None,
        "wiring": None,
        "parameters": None,
        "layers": len(trace.of_use(trace.layers[-1].use)) if trace.layers else 0,
        "heads": max((layer.heads for layer in trace.layers), default=0),
        "has_attention": bool(trace.layers),
        "longest": None,
        "run": None,
        "is_ready": True,
        "takes": takes,
    }


def _positions(trace: Trace) -> dict[str, Any] | None:
    known = trace.learned_positions
    return None if known is None else {"table": _array(known.table), "trained": known.trained}


def _takes(trace: Trace) -> str:
    """What the model was given: of a language model one side is empty."""
    if trace.source.pieces and trace.target.pieces:
        return "text"
    return "blanks" if trace.source.pieces else "beginning"


def _translation(trace: Trace) -> dict[str, Any]:
    worth = sum(trace.log_probabilities)
    return {"text": trace.text, "score": worth, "log_probability": worth, "alignment": None}


def _details(layer: LayerNumbers, has_matrices: bool) -> dict[str, Any]:
    """What `Inside` is assembled from; matrices once for all heads and queries."""
    arrays = {part: _array(getattr(layer, part)) for part in ("x", "query", "key", "value", "key_inputs")}
    arrays |= {part: _array(getattr(layer, part)) for part in ("scores", "context", "output")}
    return {
        **arrays,
        "visible": _array(layer.visible[0]),  # the same for every head
        "scale": layer.scale,
        "is_rotary": layer.is_rotary,
        **(_matrices(layer) if has_matrices else {}),
        "additive": _steps(layer, "vector"),
        "general": _steps(layer, "unprepared_keys"),
    }


def _matrices(layer: LayerNumbers) -> dict[str, Any]:
    """Each head's rows of W_Q, W_K and W_V, its columns of W_O, and the biases."""
    heads = len(layer.weights)
    found: dict[str, Any] = {}
    for name, linear in layer.projections.items():
        weight = linear.weight if name != "output" else np.stack(np.split(linear.weight, heads, axis=1))
        found[f"{name}_weight"] = _array(weight if name == "output" else _by_head(weight, heads))
        if linear.bias is not None:
            found[f"{name}_bias"] = _array(linear.bias if name == "output" else _by_head(linear.bias, heads))
    return found


def _block(block: BlockNumbers, has_matrices: bool) -> dict[str, Any]:
    """A block's numbers without those that stand there twice: what enters a part is what left the one before."""
    found: dict[str, Any] = _plain(block)
    network = found["feed_forward"]
    norms = [one[name] for one in found["sub_layers"] for name in ("pre_norm", "post_norm") if one[name]]
    for part in [*norms, *found["sub_layers"][1:], network, *filter(None, [found["last_norm"]])]:
        del part["x"]
    del network["output"]
    for part, name in (("widen", "inner"), ("narrow", "outer")):
        linear: Linear = getattr(block.feed_forward, part)
        del network[part]
        network[f"{name}_weight"] = _array(linear.weight) if has_matrices else None
        network[f"{name}_bias"] = None if linear.bias is None or not has_matrices else _array(linear.bias)
    return found


def _plain(value: Any) -> Any:
    """Numbers as values that become JSON, arrays among them as ARRAYs."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _spoken(spoken: OutputNumbers) -> dict[str, Any]:
    """What may be said at each position, with the output layer's rows of those tokens, each once."""
    rows = sorted({one.token for place in spoken.candidates for one in place})
    bias = spoken.output.bias
    return {
        "side": spoken.side,
        "vocabulary": len(spoken.output.weight),
        "hidden": _array(spoken.hidden),
        "log_totals": _array(spoken.log_totals),
        "candidates": _plain(spoken.candidates),
        "rows": rows,
        "weight": _array(spoken.output.weight[rows]),
        "bias": None if bias is None else _array(bias[rows]),
    }


def _inner_bytes(block: BlockNumbers) -> int:
    return block.feed_forward.widen.weight.nbytes + block.feed_forward.narrow.weight.nbytes


def _by_head(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    return rows.reshape(heads, -1, *rows.shape[1:])


def _steps(layer: LayerNumbers, mark: str) -> dict[str, Any] | None:
    """The arrays of a score that has such a part, and None for other scores."""
    return {name: _array(value) for name, value in layer.steps.items()} if mark in layer.steps else None


def _matrix_bytes(trace: Trace) -> int:
    linears: list[Linear] = [linear for layer in trace.numbers for linear in layer.projections.values()]
    return sum(linear.weight.nbytes for linear in linears)


def _array(array: NDArray[Any]) -> dict[str, Any]:
    """Float32, little-endian, row by row."""
    return {"shape": list(array.shape), "data": b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode()}

"""Write the float64 references of the Node tests: python -m tests.web.references.write

The numbers that go in are float32, as a model's are; numpy computes in float64.
"""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.attention.scores import SCORES
from regard.metrics.pointing_game import peak_in_box
from regard.tokenization.text import display_piece
from tests.support import attention_loops

Row = NDArray[np.float64]
FOLDER = Path(__file__).parent
WIDTH, HEAD, KEYS, QUERY = 6, 4, 5, 2


def references() -> dict[str, Any]:
    """Every file's content by its name."""
    return {
        "attention.json": attention_cases(),
        "block.json": block_cases(),
        "pointing.json": pointing_cases(),
        "positions.json": position_cases(),
        "byte_tokens.json": {token: display_piece(token) for token in (f"<0x{byte:02X}>" for byte in range(256))},
    }


class Numbers:
    """Random float32 numbers as float64 arrays."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Row:
        return self.generator.normal(size=shape).astype(np.float32).astype(np.float64)


def pointing_cases() -> list[dict[str, Any]]:
    """Peaks of attention and boxes on grids of many sizes; whether the metric counts a hit."""
    chance = random.Random(0)
    cases = []
    for _ in range(300):
        rows, columns = chance.randint(1, 9), chance.randint(1, 9)
        xs, ys = (sorted(round(chance.random(), 6) for _ in range(2)) for _ in range(2))
        row, column, box = chance.randrange(rows), chance.randrange(columns), [xs[0], ys[0], xs[1], ys[1]]
        grid = np.zeros((rows, columns))
        grid[row, column] = 1
        place = {"row": row, "column": column, "rows": rows, "columns": columns, "box": box}
        cases.append(place | {"is_hit": bool(peak_in_box(grid, [box]))})
    return cases


def attention_cases() -> list[dict[str, Any]]:
    """One query with every score, with and without a mask and rotary positions: its input and every step."""
    cases = [
        projected_case("scaled_dot", seed=1, is_rotary=False, is_masked=False),
        projected_case("scaled_dot", seed=2, is_rotary=True, is_masked=True),
        projected_case("dot", seed=3, is_rotary=False, is_masked=True),
        projected_case("scaled_dot", seed=7, is_rotary=True, is_masked=True, base=500.0),
        *(state_case(name, seed=seed) for seed, name in enumerate(SCORES, start=10)),
        projected_case("scaled_dot", seed=8, is_rotary=False, is_masked=True, is_biased=True),
        projected_case("dot", seed=9, is_rotary=False, is_masked=False, is_biased=True),
    ]
    return [{"input": plain(given), "expected": plain(expected)} for given, expected in cases]


def empty_input(score: str) -> dict[str, Any]:
    names = ("query_weight", "query_bias", "key_weight", "key_bias", "value_weight", "value_bias", "output_weight")
    return {
        "layer": {"score": score},
        "query_index": QUERY,
        "is_rotary": False,
        "rotary_base": 10_000.0,
        "visible": [True] * KEYS,
        "score_parameters": {},
    } | dict.fromkeys((*names, "position_bias"))


def projected_case(
    score: str, *, seed: int, is_rotary: bool, is_masked: bool, base: float = 10_000.0, is_biased: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers = Numbers(seed)
    given = empty_input(score) | {"x": numbers(WIDTH), "key_inputs": numbers(KEYS, WIDTH), "is_rotary": is_rotary}
    given["rotary_base"] = base
    for name in ("query", "key", "value"):
        given |= {f"{name}_weight": numbers(HEAD, WIDTH), f"{name}_bias": numbers(HEAD)}
    given |= {"output_weight": numbers(WIDTH, HEAD)}
    given["visible"] = [not is_masked or key <= QUERY for key in range(KEYS)]
    given["position_bias"] = numbers(KEYS) if is_biased else None
    query = given["query_weight"] @ given["x"] + given["query_bias"]
    keys = given["key_inputs"] @ given["key_weight"].T + given["key_bias"]
    if is_rotary:
        query, keys = rotary(query[None], [QUERY], base)[0], rotary(keys, range(KEYS), base)
    values = given["key_inputs"] @ given["value_weight"].T + given["value_bias"]
    return given, steps(given, (keys * query).sum(axis=1), values) | {
        "query": query,
        "keys": keys,
        "terms": keys * query,
    }


def state_case(name: str, *, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """An RNN's attention: the states are keys and values; the score may have parameters of its own."""
    numbers = Numbers(seed)
    width = HEAD if SCORES[name].needs_equal_widths else WIDTH
    query, states = numbers(HEAD), numbers(KEYS, width)
    shapes = {own: parameter.shape for own, parameter in SCORES[name](HEAD, width).named_parameters()}
    parameters = {own: numbers(*shape) for own, shape in shapes.items()}
    score = attention_loops.SCORES[name]({f"score.{own}": array.tolist() for own, array in parameters.items()})
    scores = np.array([score(query.tolist(), state) for state in states.tolist()])
    given = empty_input(name) | {"x": query, "query": query, "key_inputs": states, "keys": states, "values": states}
    given |= {"score_parameters": {own: np.atleast_2d(array) for own, array in parameters.items()}}
    raw = scores / SCORES[name].scale(HEAD)
    return given, steps(given, raw, states) | {"query": query, "keys": states, "terms": None}


def rotary(vectors: Row, positions: Any, base: float) -> Row:
    """Numbers i and i + D/2 as one complex number, turned by the position."""
    half = vectors.shape[1] // 2
    angles = np.asarray(positions)[:, None] / base ** (np.arange(half) / half)
    pairs = (vectors[:, :half] + 1j * vectors[:, half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def steps(given: dict[str, Any], raw: Row, values: Row) -> dict[str, Any]:
    """From each key's score to the head's part of the output; also without scaling and without masking."""
    divisor = 1 / SCORES[given["layer"]["score"]].scale(HEAD)
    visible = np.array(given["visible"])
    bias = 0.0 if given["position_bias"] is None else given["position_bias"]
    weights = softmax(raw / divisor + bias, visible)
    context = weights @ values
    part = None if given["output_weight"] is None else given["output_weight"] @ context
    found = {"raw": raw, "divisor": divisor, "weights": weights, "context": context, "part": part}
    unmasked = softmax(raw / divisor + bias, np.ones_like(visible))
    return found | {"unscaled_weights": softmax(raw + bias, visible), "unmasked_weights": unmasked}


def softmax(scores: Row, visible: NDArray[np.bool_]) -> Row:
    exponentials = np.where(visible, np.exp(scores - scores[visible].max()), 0)
    return np.asarray(exponentials / exponentials.sum())


def block_cases() -> dict[str, Any]:
    """A layer norm, the activations, and the output layer."""
    numbers = Numbers(6)
    x, gain, bias, epsilon = numbers(9) * 3 + 1, numbers(9), numbers(9), 1e-5
    mean, deviation = x.mean(), np.sqrt(x.var() + epsilon)
    norm = {"x": x, "gain": gain, "bias": bias, "epsilon": epsilon, "is_centered": True}
    root = np.sqrt((x**2).mean() + epsilon)
    at = np.concatenate([np.linspace(-8, 8, 33), [1e-9, -1e-9, 3e-4]])
    erf = np.vectorize(math.erf)
    activations = {
        "relu": np.maximum(at, 0),
        "gelu": at * (1 + erf(at / math.sqrt(2))) / 2,
        "gelu_tanh": at * (1 + np.tanh(math.sqrt(2 / math.pi) * (at + 0.044715 * at**3))) / 2,
        "silu": at / (1 + np.exp(-at)),
    }
    hidden, rows, row_bias = numbers(6), numbers(12, 6), numbers(12)
    logits = rows @ hidden + row_bias
    log_partition = float(np.log(np.exp(logits).sum()))
    tokens = [{"weight": rows[k], "bias": row_bias[k], "logit": logits[k]} for k in range(12)]
    return plain(
        {
            "norm": norm,
            "norm_expected": {"mean": mean, "deviation": deviation, "output": (x - mean) / deviation * gain + bias},
            "rms_norm_expected": {"deviation": root, "output": x / root * gain + bias},
            "activation_inputs": at,
            "erf": erf(at),
            "activations": activations,
            "output": {"hidden": hidden, "log_partition": log_partition, "tokens": tokens},
            "output_expected": {"logits": logits, "probabilities": np.exp(logits - log_partition)},
        }
    )


def position_cases() -> dict[str, Any]:
    """The sinusoidal encoding and the distances between its positions."""
    length, width = 12, 6
    i = np.arange(width)
    angles = np.arange(length)[:, None] / 10000.0 ** ((i - i % 2) / width)
    values = np.where(i % 2, np.cos(angles), np.sin(angles))
    distances = np.linalg.norm(values[:, None] - values[None], axis=-1)
    return plain({"length": length, "width": width, "values": values, "distances": distances})


def plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


if __name__ == "__main__":
    for name, content in references().items():
        (FOLDER / name).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")

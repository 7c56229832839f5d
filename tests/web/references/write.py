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
        general_case(seed=4),
        additive_case(seed=5),
    ]
    known = {given["layer"]["score"] for given, _ in cases}
    cases += [projected_case(name, seed=6, is_rotary=False, is_masked=True) for name in SCORES if name not in known]
    return [{"input": plain(given), "expected": plain(expected)} for given, expected in cases]


def empty_input(score: str) -> dict[str, Any]:
    names = ("query_weight", "query_bias", "key_weight", "key_bias", "value_weight", "value_bias", "output_weight")
    return {
        "layer": {"score": score},
        "query_index": QUERY,
        "is_rotary": False,
        "rotary_base": 10_000.0,
        "visible": [True] * KEYS,
    } | dict.fromkeys((*names, "additive", "general"))


def projected_case(
    score: str, *, seed: int, is_rotary: bool, is_masked: bool, base: float = 10_000.0
) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers = Numbers(seed)
    given = empty_input(score) | {"x": numbers(WIDTH), "key_inputs": numbers(KEYS, WIDTH), "is_rotary": is_rotary}
    given["rotary_base"] = base
    for name in ("query", "key", "value"):
        given |= {f"{name}_weight": numbers(HEAD, WIDTH), f"{name}_bias": numbers(HEAD)}
    given |= {"output_weight": numbers(WIDTH, HEAD)}
    given["visible"] = [not is_masked or key <= QUERY for key in range(KEYS)]
    query = given["query_weight"] @ given["x"] + given["query_bias"]
    keys = given["key_inputs"] @ given["key_weight"].T + given["key_bias"]
    if is_rotary:
        query, keys = rotary(query[None], [QUERY], base)[0], rotary(keys, range(KEYS), base)
    values = given["key_inputs"] @ given["value_weight"].T + given["value_bias"]
    if score in ("dot", "scaled_dot"):
        return given, steps(given, keys * query, values) | {"query": query, "keys": keys}
    scores = [attention_loops.SCORES[score]({})(query.tolist(), key) for key in keys.tolist()]
    return given, steps(given, np.array(scores)[:, None], values) | {"query": query, "keys": keys, "terms": None}


def general_case(*, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers = Numbers(seed)
    weight, states = numbers(HEAD, WIDTH), numbers(KEYS, WIDTH)
    given = empty_input("general") | {"x": numbers(HEAD), "key_inputs": states, "values": states}
    given |= {"query": given["x"], "general": {"weight": weight, "unprepared_keys": states}}
    keys = states @ weight.T
    return given, steps(given, keys * given["query"], states) | {"query": given["query"], "keys": keys}


def additive_case(*, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    numbers = Numbers(seed)
    query, states = numbers(HEAD), numbers(KEYS, WIDTH)
    additive = {"vector": numbers(3), "query_weight": numbers(3, HEAD), "key_weight": numbers(3, WIDTH)}
    additive |= {"key_bias": numbers(3), "projected_query": [], "projected_keys": []}
    given = empty_input("additive") | {"x": query, "query": query, "keys": states, "values": states}
    given |= {"key_inputs": states, "additive": additive}
    inner = np.tanh(additive["query_weight"] @ query + states @ additive["key_weight"].T + additive["key_bias"])
    return given, steps(given, inner * additive["vector"], states) | {"query": query, "keys": states}


def rotary(vectors: Row, positions: Any, base: float) -> Row:
    """Numbers i and i + D/2 as one complex number, turned by the position."""
    half = vectors.shape[1] // 2
    angles = np.asarray(positions)[:, None] / base ** (np.arange(half) / half)
    pairs = (vectors[:, :half] + 1j * vectors[:, half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def steps(given: dict[str, Any], terms: Row, values: Row) -> dict[str, Any]:
    """From the terms of each key's score to the head's part of the output; also without scaling and without masking."""
    raw = terms.sum(axis=1)
    divisor = math.sqrt(terms.shape[1]) if given["layer"]["score"] == "scaled_dot" else 1.0
    visible = np.array(given["visible"])
    weights = softmax(raw / divisor, visible)
    context = weights @ values
    part = None if given["output_weight"] is None else given["output_weight"] @ context
    found = {"terms": terms, "raw": raw, "divisor": divisor, "weights": weights, "context": context, "part": part}
    unmasked = softmax(raw / divisor, np.ones_like(visible))
    return found | {"unscaled_weights": softmax(raw, visible), "unmasked_weights": unmasked}


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

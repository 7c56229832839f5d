"""Every attention once more, one number at a time in Python floats (float64), so that nothing is shared with ours.

Tensors come as nested lists; `weights` are a module's parameters by name, as nested lists too.
"""

import math
from collections.abc import Callable
from typing import Any

Vector = list[float]
Matrix = list[Vector]
Sees = list[list[bool]]  # (Q, K)
Weights = dict[str, Any]
Score = Callable[[Vector, Vector], float]


def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def linear(x: Vector, weights: Weights, name: str) -> Vector:
    """W x + b with the weights of that name; a layer that is not there changes nothing."""
    if f"{name}.weight" not in weights:
        return x
    rows = weights[f"{name}.weight"]
    biases = weights.get(f"{name}.bias", [0.0] * len(rows))
    return [dot(row, x) + bias for row, bias in zip(rows, biases, strict=True)]


# --- scores ----------------------------------------------------------------------------------------------------------


def scaled_dot(query: Vector, key: Vector) -> float:
    return dot(query, key) / math.sqrt(len(query))


def general(weights: Weights) -> Score:
    return lambda query, key: dot(query, linear(key, weights, "score.project_keys"))


def additive(weights: Weights) -> Score:
    def score(query: Vector, key: Vector) -> float:
        asked, offered = linear(query, weights, "score.query"), linear(key, weights, "score.project_keys")
        hidden = [math.tanh(a + b) for a, b in zip(asked, offered, strict=True)]
        return dot(weights["score.vector"], hidden)

    return score


SCORES: dict[str, Callable[[Weights], Score]] = {
    "dot": lambda _: dot,
    "scaled_dot": lambda _: scaled_dot,
    "general": general,
    "additive": additive,
}


# --- attention -------------------------------------------------------------------------------------------------------


def softmax(scores: Vector, sees: list[bool]) -> Vector:
    """Zero where nothing is seen."""
    seen = [score for score, is_seen in zip(scores, sees, strict=True) if is_seen]
    if not seen:
        return [0.0] * len(scores)
    highest = max(seen)
    total = sum(math.exp(score - highest) for score in seen)
    return [math.exp(score - highest) / total if is_seen else 0.0 for score, is_seen in zip(scores, sees, strict=True)]


def look(score: Score, query: Vector, keys: Matrix, values: Matrix, sees: list[bool]) -> tuple[Vector, Vector]:
    """The context of one query, and its weights."""
    weights = softmax([score(query, key) for key in keys], sees)
    context = [dot(weights, [value[column] for value in values]) for column in range(len(values[0]))]
    return context, weights


def attention(name: str, query: Matrix, inputs: Matrix, sees: Sees, weights: Weights) -> tuple[Matrix, Matrix]:
    """The general attention layer for one row of a batch: contexts (Q, D_v) and weights (Q, K)."""
    score = SCORES[name](weights)
    keys, values = [linear(x, weights, "key") for x in inputs], [linear(x, weights, "value") for x in inputs]
    looks = [look(score, asking, keys, values, seen) for asking, seen in zip(query, sees, strict=True)]
    return [context for context, _ in looks], [weight for _, weight in looks]


def multi_head(x: Matrix, inputs: Matrix, sees: list[Sees], weights: Weights) -> Matrix:
    """Multi-head attention for one row of a batch; `sees` has one entry (Q, K) for each head."""
    queries = [linear(position, weights, "query") for position in x]
    keys = [linear(position, weights, "key") for position in inputs]
    values = [linear(position, weights, "value") for position in inputs]
    heads = len(sees)
    size = len(queries[0]) // heads
    outputs = []
    for index, query in enumerate(queries):
        joined: Vector = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            context, _ = look(
                scaled_dot, query[part], [k[part] for k in keys], [v[part] for v in values], sees[head][index]
            )
            joined += context
        outputs.append(linear(joined, weights, "output"))
    return outputs


def layer_norm(x: Vector, weights: Weights, name: str) -> Vector:
    mean = sum(x) / len(x)
    variance = sum((entry - mean) ** 2 for entry in x) / len(x)
    return [
        scale * (entry - mean) / math.sqrt(variance + 1e-5) + shift
        for entry, scale, shift in zip(x, weights[f"{name}.weight"], weights[f"{name}.bias"], strict=True)
    ]


def grid_self_attention(grid: list[Matrix], heads: int, weights: Weights) -> list[Matrix]:
    """Self-attention over a picture (C, Y, X): x + gate * attention(norm(x)), every place seeing every other."""
    channels, rows, columns = len(grid), len(grid[0]), len(grid[0][0])
    places = [[grid[c][y][x] for c in range(channels)] for y in range(rows) for x in range(columns)]
    normal = [layer_norm(place, weights, "norm") for place in places]
    inside = {name.removeprefix("self_attention."): value for name, value in weights.items()}
    sees = [[[True] * len(places) for _ in places] for _ in range(heads)]
    found = multi_head(normal, normal, sees, inside)
    return [
        [[grid[c][y][x] + weights["gate"] * found[y * columns + x][c] for x in range(columns)] for y in range(rows)]
        for c in range(channels)
    ]


# --- recurrence ------------------------------------------------------------------------------------------------------


def ssru(x: Matrix, cell: Vector, weights: Weights) -> tuple[Matrix, Vector]:
    """The simpler simple recurrent unit for one row of a batch: its outputs, and its last cell."""
    outputs = []
    for step in x:
        forget = [1 / (1 + math.exp(-entry)) for entry in linear(step, weights, "forget")]
        candidate = linear(step, weights, "candidate")
        cell = [f * c + (1 - f) * new for f, c, new in zip(forget, cell, candidate, strict=True)]
        outputs.append([max(0.0, entry) for entry in cell])
    return outputs, cell

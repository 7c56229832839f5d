"""From a trace to the map that was asked for: which use, layer and head, over words or over pieces."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics import Links, merge_words
from regard.models.uses import Use
from regard.tokens import readable_piece
from regard.translation.trace import Side, Trace

NAMES: dict[Use, str] = {
    "cross": "cross-attention",
    "encoder-self": "encoder self-attention",
    "decoder-self": "decoder self-attention",
    "picture": "attention over the picture",
    "picture-self": "self-attention of the picture",
}


@dataclass(frozen=True)
class Choice:
    """Which map of a trace: layer and head are counted from 0, None is the mean of them."""

    use: Use = "cross"
    layer: int | None = None
    head: int | None = None
    when: Literal["said", "read"] = "said"  # a row of cross-attention as its word is said, or as it is read after that
    unit: Literal["words", "pieces"] = "words"


@dataclass(frozen=True)
class Map:
    """Weights with a label for each row and column; gold links are pairs (column, row)."""

    title: str
    subtitle: str
    rows: list[str]
    columns: list[str]
    weights: NDArray[np.floating]
    gold: Links = frozenset()
    darkest: float | None = None  # the weight that is drawn darkest, where several maps are drawn alike

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.rows), len(self.columns)):
            raise RegardError(
                f"the map is {' by '.join(map(str, self.weights.shape))}, and there are labels for "
                f"{len(self.rows)} by {len(self.columns)}."
            )

    @cached_property
    def most(self) -> float:
        """The weight that is drawn darkest."""
        return darkest_of(self.weights) if self.darkest is None else self.darkest


def darkest_of(weights: NDArray[np.floating]) -> float:
    """1, or the largest weight where all are small or some are above it."""
    largest = float(np.max(weights, initial=0.0))
    return 1.0 if largest == 0.0 or 0.5 <= largest <= 1.0 else largest


def map_of(trace: Trace, choice: Choice, gold: Links = frozenset()) -> Map:
    """The chosen map of a trace, ready to be drawn."""
    weights = _weights(trace, choice)
    rows, columns = _sides(trace, choice)
    if choice.unit == "words":
        weights = merge_words(weights, columns.words, rows.words)
    return Map(
        title=trace.title,
        subtitle=f"{NAMES[choice.use]}: {_which(trace, choice)}",
        rows=_labels(rows, choice),
        columns=_labels(columns, choice),
        weights=weights,
        gold=gold,
    )


def check_choice(trace: Trace, choice: Choice, *, first: int = 1) -> None:
    """Refuse layers and heads that are not there, in the caller's counts: people's begin with 1, Python's with 0."""
    layers = trace.of_use(choice.use)
    if not layers:
        trace.mean(choice.use)  # which says what there is
    counted = f"{NAMES[choice.use]} has {{}} here, counted from {first}."
    if choice.layer is not None and not 0 <= choice.layer < len(layers):
        raise RegardError(f"there is no layer {choice.layer + first}; {counted.format(len(layers))}")
    heads = trace.layers[layers[0]].heads
    if choice.head is not None and not 0 <= choice.head < heads:
        raise RegardError(f"there is no head {choice.head + first}; each layer of {counted.format(heads)}")


def _weights(trace: Trace, choice: Choice) -> NDArray[np.floating]:
    check_choice(trace, choice)
    if choice.layer is None:
        return trace.mean(choice.use, choice.head)
    return trace.weights(trace.of_use(choice.use)[choice.layer], choice.head)


def _sides(trace: Trace, choice: Choice) -> tuple[Side, Side]:
    match choice.use:
        case "encoder-self" | "picture-self":
            return trace.source, trace.source
        case "decoder-self":
            return trace.target, trace.target
        case "cross" | "picture":
            said = Side.of([*trace.target.pieces[1:], "</s>"])  # the last row says END
            return (said if choice.when == "said" else trace.target), trace.source


def _labels(side: Side, choice: Choice) -> list[str]:
    return side.spelled if choice.unit == "words" else [readable_piece(piece) for piece in side.pieces]


def _which(trace: Trace, choice: Choice) -> str:
    layers = trace.of_use(choice.use)
    heads = trace.layers[layers[0]].heads
    head = f"head {(choice.head or 0) + 1}" if choice.head is not None or heads == 1 else f"mean of {heads} heads"
    if choice.layer is None and len(layers) > 1:
        return f"{head}, mean of {len(layers)} layers"
    return f"layer {(choice.layer or 0) + 1}, {head}"

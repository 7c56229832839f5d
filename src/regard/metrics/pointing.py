"""Whether attention looks at what a word speaks of: the share of words whose peak, and of whose weight, is in the box.

A grid is coarse: a cell stands for a rectangle of the picture, and a box seldom ends where a cell does. So two rules:

- The peak is the cell of the largest weight (the first of equals). It hits a box when the cell's centre lies in the
  box. A box smaller than a cell may hold no centre at all; so the cell that holds the box's own centre hits it too.
- The mass of a cell lies evenly over it: of its weight, the box gets the share of the cell's area that it covers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError

Rectangle = Sequence[float]  # left, top, right, bottom, as shares of the picture's width and height


@dataclass(frozen=True)
class Pointing:
    """Over all words that speak of something: how often the peak hits, how much weight does, and what chance would."""

    peak: float
    mass: float
    by_chance: float  # the mass of attention that is the same everywhere
    words: int


def pointing(maps: Sequence[ArrayLike], boxes: Sequence[Sequence[Rectangle]]) -> Pointing:
    """The score of one map (Y, X) for each word against the word's boxes; a word without boxes is left out.

    A word that speaks of several things may look at any of them.
    """
    if len(maps) != len(boxes):
        raise RegardError(
            f"there are {len(maps)} maps and boxes of {len(boxes)} words; give one of each for every word."
        )
    told = [(_grid(weights), those) for weights, those in zip(maps, boxes, strict=True) if those]
    if not told:
        raise RegardError("no word has a box, so there is nothing to point at. Give words with gold boxes.")
    hits = [hits_a_box(weights, those) for weights, those in told]
    covered = [covered_shares(weights.shape, those) for weights, those in told]
    masses = [
        float((weights * shares).sum() / weights.sum()) for (weights, _), shares in zip(told, covered, strict=True)
    ]
    return Pointing(
        peak=float(np.mean(hits)),
        mass=float(np.mean(masses)),
        by_chance=float(np.mean([shares.mean() for shares in covered])),
        words=len(told),
    )


def hits_a_box(weights: NDArray[np.float64], boxes: Sequence[Rectangle]) -> bool:
    """Whether the peak of a map lies in one of the boxes."""
    rows, columns = weights.shape
    row, column = divmod(int(weights.argmax()), columns)
    x, y = (column + 0.5) / columns, (row + 0.5) / rows
    for left, top, right, bottom in boxes:
        middle_cell = (_cell((top + bottom) / 2, rows), _cell((left + right) / 2, columns))
        if (left <= x <= right and top <= y <= bottom) or (row, column) == middle_cell:
            return True
    return False


def covered_shares(shape: tuple[int, ...], boxes: Sequence[Rectangle]) -> NDArray[np.float64]:
    """The share of each cell's area that the boxes cover; where boxes overlap, a cell is covered once at most."""
    rows, columns = shape
    total = np.zeros((rows, columns))
    for left, top, right, bottom in boxes:
        total += np.outer(_lengths_covered(rows, top, bottom), _lengths_covered(columns, left, right))
    return np.minimum(total, 1.0)


def _lengths_covered(cells: int, low: float, high: float) -> NDArray[np.float64]:
    """The share of each of the cells along one side that lies from `low` to `high`."""
    starts = np.arange(cells)
    covered: NDArray[np.float64] = np.clip(
        np.minimum(high * cells, starts + 1) - np.maximum(low * cells, starts), 0.0, 1.0
    )
    return covered


def _cell(place: float, cells: int) -> int:
    return min(max(int(place * cells), 0), cells - 1)


def _grid(weights: ArrayLike) -> NDArray[np.float64]:
    grid = np.asarray(weights, np.float64)
    if grid.ndim != 2 or not grid.size or not np.isfinite(grid).all() or grid.min() < 0 or not grid.sum() > 0:
        raise RegardError(
            f"a map has the shape {grid.shape}, or weights that are negative or all zero; "
            "give the weights of one word over the grid: (rows, columns)."
        )
    return grid

"""The pointing game: how often the peak of a word's attention, and how much of its weight, is in the word's gold box.

A grid is coarse: a cell covers a rectangle of the image, and boxes rarely end at the border of a cell. So two rules:

- The peak is the cell of the largest weight (the first of equals). It hits a box when the cell's centre lies in the
  box. A box smaller than a cell may hold no centre at all; so the cell that holds the box's own centre hits it too.
- The mass of a cell lies evenly over it: the box gets the fraction of its weight that it covers of its area.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError

Rectangle = Sequence[float]  # left, top, right, bottom, as fractions of the image's width and height


@dataclass(frozen=True)
class PointingScore:
    """Over all words with a box: how often the peak is in it, how much of the weight is, and the value of chance."""

    peak: float
    mass: float
    chance: float  # the mass of uniform attention
    words: int


def pointing_game(maps: Sequence[ArrayLike], boxes: Sequence[Sequence[Rectangle]]) -> PointingScore:
    """The score of one map (Y, X) for each word against the word's boxes; a word without boxes is skipped.

    If a word has several boxes, any of them counts.
    """
    if len(maps) != len(boxes):
        raise RegardError(
            f"there are {len(maps)} maps and boxes of {len(boxes)} words; give one of each for every word."
        )
    boxed = [(_check_map(weights), those) for weights, those in zip(maps, boxes, strict=True) if those]
    if not boxed:
        raise RegardError("no word has a box, so there is nothing to point at. Give words with gold boxes.")
    hits = [peak_in_box(weights, those) for weights, those in boxed]
    covered = [box_coverage(weights.shape, those) for weights, those in boxed]
    masses = [
        float((weights * fractions).sum() / weights.sum())
        for (weights, _), fractions in zip(boxed, covered, strict=True)
    ]
    return PointingScore(
        peak=float(np.mean(hits)),
        mass=float(np.mean(masses)),
        chance=float(np.mean([fractions.mean() for fractions in covered])),
        words=len(boxed),
    )


def peak_in_box(weights: NDArray[np.float64], boxes: Sequence[Rectangle]) -> bool:
    """Whether the peak of a map lies in one of the boxes."""
    rows, columns = weights.shape
    row, column = divmod(int(weights.argmax()), columns)
    x, y = (column + 0.5) / columns, (row + 0.5) / rows
    for left, top, right, bottom in boxes:
        middle_cell = (_cell_index((top + bottom) / 2, rows), _cell_index((left + right) / 2, columns))
        if (left <= x <= right and top <= y <= bottom) or (row, column) == middle_cell:
            return True
    return False


def box_coverage(shape: tuple[int, ...], boxes: Sequence[Rectangle]) -> NDArray[np.float64]:
    """The fraction of each cell's area that the boxes cover; overlapping boxes cover a cell once."""
    rows, columns = shape
    total = np.zeros((rows, columns))
    for left, top, right, bottom in boxes:
        total += np.outer(_covered_fractions(rows, top, bottom), _covered_fractions(columns, left, right))
    return np.minimum(total, 1.0)


def _covered_fractions(cells: int, low: float, high: float) -> NDArray[np.float64]:
    """The fraction of each cell along one side that lies from `low` to `high`."""
    starts = np.arange(cells)
    covered: NDArray[np.float64] = np.clip(
        np.minimum(high * cells, starts + 1) - np.maximum(low * cells, starts), 0.0, 1.0
    )
    return covered


def _cell_index(position: float, cells: int) -> int:
    return min(max(int(position * cells), 0), cells - 1)


def _check_map(weights: ArrayLike) -> NDArray[np.float64]:
    grid = np.asarray(weights, np.float64)
    if grid.ndim != 2 or not grid.size or not np.isfinite(grid).all() or grid.min() < 0 or not grid.sum() > 0:
        raise RegardError(
            f"a map has the shape {grid.shape}, or weights that are negative or all zero; "
            "give the weights of one word over the grid: (rows, columns)."
        )
    return grid

"""What is drawn of a model's look at a picture, and where each part of the drawing stands; without drawing anything.

A panel shows the weights as they are, cell by cell of the grid, and below it the same weights smoothed from centre to
centre, which is easier to see and less exact. What was not looked at is dark; the brightest place is that word's
largest weight, which stands below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.view.maps import EDGE, text_width

DARKEST = 0.8  # how much of the light is taken where nothing was looked at
GAP, LABEL, FOOT = 10, 22, 20  # between panels; the height of a word above its panel, and of a number below it
Rectangle = Sequence[float]  # left, top, right, bottom, as shares of the picture


@dataclass(frozen=True)
class Look:
    """How large panels are, how many stand side by side, and whether the grid is shown above the smooth map."""

    panel: int
    columns: int
    has_grid: bool


FULL, COMPACT = Look(panel=132, columns=8, has_grid=True), Look(panel=84, columns=14, has_grid=False)


@dataclass(frozen=True, eq=False)
class Regions:
    """A picture (3, Y, X), the words said of it, a map (rows, columns) for each, and boxes where they are known."""

    picture: NDArray[np.uint8]
    words: Sequence[str]
    maps: NDArray[np.float64]
    title: str = ""
    boxes: Sequence[Sequence[Rectangle]] = ()

    @classmethod
    def of(
        cls,
        picture: ArrayLike,
        words: Sequence[str],
        maps: Sequence[ArrayLike],
        *,
        title: str = "",
        boxes: Sequence[Sequence[Rectangle]] = (),
    ) -> "Regions":
        """The same from anything like arrays, checked."""
        pixels = np.asarray(picture)
        if pixels.ndim != 3 or len(pixels) != 3 or pixels.dtype != np.uint8 or not pixels.size:
            raise RegardError(
                f"the picture is {pixels.dtype} of shape {pixels.shape}; give uint8 of (3, rows, columns)."
            )
        if len(words) != len(maps) or not words or (boxes and len(boxes) != len(words)):
            raise RegardError(
                f"there are {len(words)} words, {len(maps)} maps and boxes of {len(boxes)} words; give a map for each "
                "word, at least one, and boxes for all words or for none."
            )
        weights = np.stack([np.asarray(grid, np.float64) for grid in maps])
        if weights.ndim != 3 or not np.isfinite(weights).all() or weights.min() < 0:
            raise RegardError(
                f"the maps have the shape {weights.shape}; give weights of 0 or more, (rows, columns) each."
            )
        return cls(pixels, list(words), weights, title, boxes)

    def peak(self, word: int) -> float:
        """The word's largest weight."""
        return float(self.maps[word].max())

    def light(self, word: int) -> NDArray[np.float64]:
        """Each cell's weight as a share of the word's largest."""
        shares: NDArray[np.float64] = self.maps[word] / (self.peak(word) or 1.0)
        return shares


@dataclass(frozen=True, eq=False)
class Plan:
    """Where the parts of one picture's drawing stand, in pixels from its upper left."""

    regions: Regions
    look: Look
    panel_height: int
    head: int  # height of the title

    @classmethod
    def of(cls, regions: Regions, look: Look) -> "Plan":
        rows, columns = regions.picture.shape[1:]
        return cls(regions, look, max(1, round(look.panel * rows / columns)), 30 if regions.title else 0)

    @property
    def columns(self) -> int:
        return min(self.look.columns, 1 + len(self.regions.words))

    @property
    def step(self) -> int:
        """From one row of panels to the next."""
        shown = 2 * self.panel_height + GAP // 2 if self.look.has_grid else self.panel_height
        return LABEL + shown + FOOT + GAP

    @property
    def width(self) -> int:
        panels = 2 * EDGE + self.columns * (self.look.panel + GAP) - GAP
        return max(panels, round(2 * EDGE + 1.3 * text_width(self.regions.title)))

    @property
    def height(self) -> int:
        rows = -(-(1 + len(self.regions.words)) // self.columns)
        return 2 * EDGE + self.head + rows * self.step - GAP

    def corner(self, panel: int) -> tuple[int, int]:
        """The upper left of a panel's first picture; panel 0 is the bare one, panel n belongs to word n - 1."""
        row, column = divmod(panel, self.columns)
        return EDGE + column * (self.look.panel + GAP), EDGE + self.head + LABEL + row * self.step

    def lower(self, top: int) -> int:
        """Where the smooth map stands, below the grid or in its place."""
        return top + (self.panel_height + GAP // 2 if self.look.has_grid else 0)

    def boxes(self, word: int, left: int, top: int) -> Iterator[tuple[float, float, float, float]]:
        """The word's boxes in a picture that stands there: left, top, right, bottom."""
        for box in self.regions.boxes[word] if self.regions.boxes else ():
            x0, y0, x1, y1 = (
                share * side for share, side in zip(box, [self.look.panel, self.panel_height] * 2, strict=True)
            )
            yield left + x0, top + y0, left + x1, top + y1


def fitted(word: str, width: float) -> str:
    """A word cut to what fits above its panel."""
    while len(word) > 1 and text_width(word) > width:
        word = f"{word.rstrip('…')[:-1]}…"
    return word


def smooth(weights: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """The weights between the centres of cells, mixed from the nearest four; at the rim as in the outermost cells."""
    tall = _along(weights.T, rows)  # (columns of the grid, rows)
    return _along(tall.T, columns)


def _along(lines: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    cells = lines.shape[1]
    places = (np.arange(count) + 0.5) * cells / count - 0.5
    return np.stack([np.interp(places, np.arange(cells), line) for line in lines])

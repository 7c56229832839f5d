"""Where a model looked in a picture, word by word: a panel for each word, lit where the weight is.

A panel shows the weights as they are, cell by cell of the grid, and below it the same weights smoothed from centre to
centre, which is easier to see and less exact. What was not looked at is dark; the brightest place is that word's
largest weight, which stands below. Here are the layout and the SVG; `regions_painting.py` paints the same as PNG.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.staged import staged_file
from regard.view.maps import EDGE, FAINT, FAMILY, FONT, GOLD, GROUND, INK, TITLE, text_width
from regard.view.plots import xml_text

DARKEST = 0.8  # how much of the light is taken where nothing was looked at
GAP, LABEL, FOOT = 10, 22, 20  # between panels; the height of a word above its panel, and of a number below it
SMOOTHING = 4  # pixels of a mask to one cell of the grid, at least
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


def draw_regions(
    picture: ArrayLike,
    words: Sequence[str],
    maps: Sequence[ArrayLike],
    out: Path | str,
    *,
    title: str = "",
    boxes: Sequence[Sequence[Rectangle]] = (),
) -> None:
    """Write a picture (3, Y, X), and a panel for each word with its map (rows, columns), to an .svg or .png file.

    `boxes` are outlined where they are known: for each word, the rectangles around what it speaks of.
    """
    _write([Regions.of(picture, words, maps, title=title, boxes=boxes)], FULL, Path(out))


def draw_contact_sheet(sheet: Sequence[Regions], out: Path | str) -> None:
    """Write several pictures with their captions, one below the other in small panels, to an .svg or .png file."""
    if not sheet:
        raise RegardError("there is no picture to draw. Give at least one.")
    _write(sheet, COMPACT, Path(out))


def regions_svg(sheet: Sequence[Regions], look: Look = FULL) -> str:
    """The pictures one below the other as the text of an SVG file, light or dark as the viewer prefers."""
    plans = [Plan.of(regions, look) for regions in sheet]
    width, height = max(plan.width for plan in plans), sum(plan.height for plan in plans)
    tops = np.cumsum([0, *(plan.height for plan in plans)])
    title = "; ".join(regions.title for regions in sheet if regions.title)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'width="{width}" height="{height}" font-family="{FAMILY}" font-size="{FONT}">',
            f"<title>{xml_text(title)}</title>",
            f"<style>@media (prefers-color-scheme: dark){{.ground{{fill:{GROUND[1]}}}text{{fill:{INK[1]}}}"
            f".faint{{fill:{FAINT[1]}}}}}</style>",
            f'<rect class="ground" width="{width}" height="{height}" fill="{GROUND[0]}"/>',
            *(part for number, plan in enumerate(plans) for part in _drawn(plan, number, int(tops[number]))),
            "</svg>\n",
        ]
    )


# --- where things stand ----------------------------------------------------------------------------------------------


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


# --- SVG -------------------------------------------------------------------------------------------------------------


def _drawn(plan: Plan, number: int, top: int) -> Iterator[str]:
    regions = plan.regions
    yield f'<g transform="translate(0 {top})">'
    if regions.title:
        yield _text(EDGE, EDGE + 14, regions.title, f'font-size="{TITLE}" font-weight="600"')
    yield f'<defs><image id="picture{number}" {_size(plan)} href="{_picture_uri(regions.picture)}"/></defs>'
    left, upper = plan.corner(0)
    yield f'<use href="#picture{number}" x="{left}" y="{upper}"/>'
    for word in range(len(regions.words)):
        yield from _panel(plan, word, number)
    yield "</g>"


def _panel(plan: Plan, word: int, number: int) -> Iterator[str]:
    left, top = plan.corner(word + 1)
    lower = plan.lower(top)
    panel = plan.look.panel
    yield _text(left + panel / 2, top - 7, fitted(plan.regions.words[word], panel), 'text-anchor="middle"')
    if plan.look.has_grid:
        yield f'<use href="#picture{number}" x="{left}" y="{top}"/>'
        yield from _cells(plan, word, left, top)
    yield f'<use href="#picture{number}" x="{left}" y="{lower}"/>'
    yield f'<image x="{left}" y="{lower}" {_size(plan)} href="{_mask_uri(plan.regions.light(word))}"/>'
    for place in {top, lower}:
        for x0, y0, x1, y1 in plan.boxes(word, left, place):
            yield (
                f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="none" '
                f'stroke="{GOLD[1]}" stroke-width="1.5"/>'
            )
    foot = lower + plan.panel_height + 15
    yield _text(
        left + panel / 2, foot, f"{plan.regions.peak(word):.2f}", 'text-anchor="middle" class="faint"', FAINT[0]
    )


def _cells(plan: Plan, word: int, left: int, top: int) -> Iterator[str]:
    rows, columns = plan.regions.maps.shape[1:]
    wide, high = plan.look.panel / columns, plan.panel_height / rows
    for (row, column), share in np.ndenumerate(plan.regions.light(word)):
        weight = plan.regions.maps[word, row, column]
        yield (
            f'<rect x="{left + column * wide:.1f}" y="{top + row * high:.1f}" width="{wide:.2f}" height="{high:.2f}" '
            f'fill-opacity="{DARKEST * (1 - share):.2f}" stroke="#fff" stroke-opacity=".25" stroke-width=".5">'
            f"<title>{weight:.4f}</title></rect>"
        )


def _size(plan: Plan) -> str:
    return f'width="{plan.look.panel}" height="{plan.panel_height}" preserveAspectRatio="none"'


def _text(x: float, y: float, text: str, attributes: str = "", colour: str = INK[0]) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {attributes}>{xml_text(text)}</text>'


def _picture_uri(picture: NDArray[np.uint8]) -> str:
    from regard.view.regions_painting import png_of

    return _uri(png_of(picture.transpose(1, 2, 0)))


def _mask_uri(light: NDArray[np.float64]) -> str:
    """Black that hides more where there is less light."""
    from regard.view.regions_painting import png_of

    rows, columns = (SMOOTHING * cells for cells in light.shape)
    hides = np.rint(255 * DARKEST * (1 - smooth(light, rows, columns))).astype(np.uint8)
    return _uri(png_of(np.stack([np.zeros_like(hides), hides], axis=2)))


def _uri(png: bytes) -> str:
    return f"data:image/png;base64,{b64encode(png).decode()}"


def _write(sheet: Sequence[Regions], look: Look, out: Path) -> None:
    match out.suffix.lower():
        case ".svg":
            content = regions_svg(sheet, look).encode()
        case ".png":
            from regard.view.regions_painting import paint_regions

            content = paint_regions(sheet, look)
        case _:
            raise RegardError(f"{out} is neither .svg nor .png. Name a file that ends in one of them.")
    with staged_file(out) as file:
        file.write(content)

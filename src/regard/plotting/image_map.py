"""Attention over an image, word by word: a panel for each word, bright where the weight is, as SVG or PNG.

A panel shows the weights as they are, cell by cell of the grid, and below it the same weights interpolated between the
centres of cells, which is easier to see and less exact. Cells without weight are dark; the brightest cell has the
word's largest weight, which is printed below the panel.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.data.images import encode_png
from regard.errors import RegardError
from regard.files import atomic_file
from regard.plotting.attention_map import EDGE, FAINT, FAMILY, FONT, GOLD, GROUND, INK, TITLE, text_width
from regard.plotting.figure_files import svg_file, xml_text

MAX_DIMMING = 0.8  # opacity of the black over cells without weight

PANEL_GAP = 10
LABEL_HEIGHT, FOOT_HEIGHT = 22, 20  # of the word above its panel, and of the number below it
SMOOTHING = 4  # pixels of a mask for each cell of the grid
Rectangle = Sequence[float]  # left, top, right, bottom, as fractions of the image


@dataclass(frozen=True)
class PanelStyle:
    """The width of panels, how many are side by side, and whether the grid is shown above the smooth map."""

    panel: int
    columns: int
    has_grid: bool


FULL_STYLE = PanelStyle(panel=132, columns=8, has_grid=True)
COMPACT_STYLE = PanelStyle(panel=84, columns=14, has_grid=False)


@dataclass(frozen=True, eq=False)
class ImageMaps:
    """An image (3, Y, X), the words of its caption, a map (rows, columns) for each word, and boxes if known."""

    image: NDArray[np.uint8]
    words: Sequence[str]
    maps: NDArray[np.float64]
    title: str = ""
    boxes: Sequence[Sequence[Rectangle]] = ()

    @classmethod
    def from_arrays(
        cls,
        image: ArrayLike,
        words: Sequence[str],
        maps: Sequence[ArrayLike],
        *,
        title: str = "",
        boxes: Sequence[Sequence[Rectangle]] = (),
    ) -> "ImageMaps":
        """The maps from array-like values, checked."""
        pixels = np.asarray(image)
        if pixels.ndim != 3 or len(pixels) != 3 or pixels.dtype != np.uint8 or not pixels.size:
            raise RegardError(f"the image is {pixels.dtype} of shape {pixels.shape}; give uint8 of (3, rows, columns).")
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

    def max_weight(self, word: int) -> float:
        """The word's largest weight."""
        return float(self.maps[word].max())

    def brightness(self, word: int) -> NDArray[np.float64]:
        """The weight of each cell as a fraction of the word's largest weight."""
        fractions: NDArray[np.float64] = self.maps[word] / (self.max_weight(word) or 1.0)
        return fractions


@dataclass(frozen=True, eq=False)
class PanelLayout:
    """The positions of the parts of one image's drawing, in pixels from its upper left corner."""

    image_maps: ImageMaps
    style: PanelStyle
    panel_height: int
    head: int  # height of the title

    @classmethod
    def for_image(cls, image_maps: ImageMaps, style: PanelStyle) -> "PanelLayout":
        rows, columns = image_maps.image.shape[1:]
        return cls(image_maps, style, max(1, round(style.panel * rows / columns)), 30 if image_maps.title else 0)

    @property
    def columns(self) -> int:
        return min(self.style.columns, 1 + len(self.image_maps.words))

    @property
    def step(self) -> int:
        """From one row of panels to the next."""
        shown = 2 * self.panel_height + PANEL_GAP // 2 if self.style.has_grid else self.panel_height
        return LABEL_HEIGHT + shown + FOOT_HEIGHT + PANEL_GAP

    @property
    def width(self) -> int:
        panels = 2 * EDGE + self.columns * (self.style.panel + PANEL_GAP) - PANEL_GAP
        return max(panels, round(2 * EDGE + 1.3 * text_width(self.image_maps.title)))

    @property
    def height(self) -> int:
        rows = -(-(1 + len(self.image_maps.words)) // self.columns)
        return 2 * EDGE + self.head + rows * self.step - PANEL_GAP

    def corner(self, panel: int) -> tuple[int, int]:
        """The upper left corner of a panel; panel 0 is the image alone, panel n belongs to word n - 1."""
        row, column = divmod(panel, self.columns)
        return EDGE + column * (self.style.panel + PANEL_GAP), EDGE + self.head + LABEL_HEIGHT + row * self.step

    def lower(self, top: int) -> int:
        """The top of the smooth map, below the grid or instead of it."""
        return top + (self.panel_height + PANEL_GAP // 2 if self.style.has_grid else 0)

    def boxes(self, word: int, left: int, top: int) -> Iterator[tuple[float, float, float, float]]:
        """The word's boxes in an image at this position: left, top, right, bottom."""
        for box in self.image_maps.boxes[word] if self.image_maps.boxes else ():
            x0, y0, x1, y1 = (
                share * side for share, side in zip(box, [self.style.panel, self.panel_height] * 2, strict=True)
            )
            yield left + x0, top + y0, left + x1, top + y1


def fit_text(word: str, width: float) -> str:
    """A word, truncated to the width of its panel."""
    while len(word) > 1 and text_width(word) > width:
        word = f"{word.rstrip('…')[:-1]}…"
    return word


def interpolate_grid(weights: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Bilinear interpolation between the centres of cells; the border has the values of the outermost cells."""
    tall = _interpolate_rows(weights.T, rows)  # (columns of the grid, rows)
    return _interpolate_rows(tall.T, columns)


def _interpolate_rows(lines: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    cells = lines.shape[1]
    positions = (np.arange(count) + 0.5) * cells / count - 0.5
    return np.stack([np.interp(positions, np.arange(cells), line) for line in lines])


def plot_image_attention(
    image: ArrayLike,
    words: Sequence[str],
    maps: Sequence[ArrayLike],
    out: Path | str,
    *,
    title: str = "",
    boxes: Sequence[Sequence[Rectangle]] = (),
) -> None:
    """Write an image (3, Y, X), with a panel for each word and its map (rows, columns), to an .svg or .png file.

    `boxes` are outlined: for each word, the rectangles around what it refers to.
    """
    path = Path(out)
    if path.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise RegardError(f"{path} is no .svg, .png or .pdf file. Give a file name that ends in one of them.")
    sheet = [ImageMaps.from_arrays(image, words, maps, title=title, boxes=boxes)]
    with atomic_file(path) as file:
        file.write(render_sheet(sheet, path.suffix.lower()))


def render_sheet(sheet: Sequence[ImageMaps], kind: str) -> bytes:
    """The content of an .svg, .png or .pdf file: one image in large panels, several in small ones."""
    style = FULL_STYLE if len(sheet) == 1 else COMPACT_STYLE
    return svg_file(image_maps_svg(sheet, style), kind)


def image_maps_svg(sheet: Sequence[ImageMaps], style: PanelStyle = FULL_STYLE) -> str:
    """The images one below the other as the text of an SVG file, light or dark as the viewer prefers."""
    layouts = [PanelLayout.for_image(image_maps, style) for image_maps in sheet]
    width, height = max(layout.width for layout in layouts), sum(layout.height for layout in layouts)
    tops = np.cumsum([0, *(layout.height for layout in layouts)])
    title = "; ".join(image_maps.title for image_maps in sheet if image_maps.title)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'width="{width}" height="{height}" font-family="{FAMILY}" font-size="{FONT}">',
            f"<title>{xml_text(title)}</title>",
            f"<style>@media (prefers-color-scheme: dark){{.ground{{fill:{GROUND[1]}}}text{{fill:{INK[1]}}}"
            f".faint{{fill:{FAINT[1]}}}}}</style>",
            f'<rect class="ground" width="{width}" height="{height}" fill="{GROUND[0]}"/>',
            *(part for number, layout in enumerate(layouts) for part in _svg_panels(layout, number, int(tops[number]))),
            "</svg>\n",
        ]
    )


# --- SVG -------------------------------------------------------------------------------------------------------------


def _svg_panels(layout: PanelLayout, number: int, top: int) -> Iterator[str]:
    image_maps = layout.image_maps
    yield f'<g transform="translate(0 {top})">'
    if image_maps.title:
        yield _panel_text(EDGE, EDGE + 14, image_maps.title, f'font-size="{TITLE}" font-weight="600"')
    photo = _uri(encode_png(image_maps.image.transpose(1, 2, 0)))
    yield f'<defs><image id="image{number}" {_panel_size(layout)} href="{photo}"/></defs>'
    left, upper = layout.corner(0)
    yield f'<use href="#image{number}" x="{left}" y="{upper}"/>'
    for word in range(len(image_maps.words)):
        yield from _svg_panel(layout, word, number)
    yield "</g>"


def _svg_panel(layout: PanelLayout, word: int, number: int) -> Iterator[str]:
    left, top = layout.corner(word + 1)
    lower = layout.lower(top)
    panel = layout.style.panel
    yield _panel_text(left + panel / 2, top - 7, fit_text(layout.image_maps.words[word], panel), 'text-anchor="middle"')
    if layout.style.has_grid:
        yield f'<use href="#image{number}" x="{left}" y="{top}"/>'
        yield from _svg_grid(layout, word, left, top)
    yield f'<use href="#image{number}" x="{left}" y="{lower}"/>'
    mask = _mask_uri(layout.image_maps.brightness(word))
    yield f'<image x="{left}" y="{lower}" {_panel_size(layout)} href="{mask}"/>'
    for upper in {top, lower}:
        for x0, y0, x1, y1 in layout.boxes(word, left, upper):
            yield (
                f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" fill="none" '
                f'stroke="{GOLD[1]}" stroke-width="1.5"/>'
            )
    foot = lower + layout.panel_height + 15
    yield _panel_text(
        left + panel / 2,
        foot,
        f"{layout.image_maps.max_weight(word):.2f}",
        'text-anchor="middle" class="faint"',
        FAINT[0],
    )


def _svg_grid(layout: PanelLayout, word: int, left: int, top: int) -> Iterator[str]:
    rows, columns = layout.image_maps.maps.shape[1:]
    wide, high = layout.style.panel / columns, layout.panel_height / rows
    for (row, column), share in np.ndenumerate(layout.image_maps.brightness(word)):
        weight = layout.image_maps.maps[word, row, column]
        yield (
            f'<rect x="{left + column * wide:.1f}" y="{top + row * high:.1f}" width="{wide:.2f}" height="{high:.2f}" '
            f'fill-opacity="{MAX_DIMMING * (1 - share):.2f}" stroke="#fff" stroke-opacity=".25" stroke-width=".5">'
            f"<title>{weight:.4f}</title></rect>"
        )


def _panel_size(layout: PanelLayout) -> str:
    return f'width="{layout.style.panel}" height="{layout.panel_height}" preserveAspectRatio="none"'


def _panel_text(x: float, y: float, text: str, attributes: str = "", colour: str = INK[0]) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {attributes}>{xml_text(text)}</text>'


def _mask_uri(light: NDArray[np.float64]) -> str:
    """Black with more opacity where there is less weight."""
    rows, columns = (SMOOTHING * cells for cells in light.shape)
    hides = np.rint(255 * MAX_DIMMING * (1 - interpolate_grid(light, rows, columns))).astype(np.uint8)
    return _uri(encode_png(np.stack([np.zeros_like(hides), hides], axis=2)))


def _uri(png: bytes) -> str:
    return f"data:image/png;base64,{b64encode(png).decode()}"

"""Where a model looked in a picture, word by word: a panel for each word, lit where the weight is, as SVG or PNG."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.staged import staged_file
from regard.view.maps import EDGE, FAINT, FAMILY, FONT, GOLD, GROUND, INK, TITLE
from regard.view.plots import xml_text
from regard.view.regions_plan import COMPACT, DARKEST, FULL, Look, Plan, Rectangle, Regions, fitted, smooth

SMOOTHING = 4  # pixels of a mask to one cell of the grid

__all__ = ["Regions", "draw_contact_sheet", "draw_regions", "regions_svg", "sheet_of"]


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


def sheet_of(sheet: Sequence[Regions], kind: str) -> bytes:
    """The content of an .svg or .png file: one picture in large panels, several in small ones."""
    return _content(sheet, FULL if len(sheet) == 1 else COMPACT, kind)


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
    kind = out.suffix.lower()
    if kind not in (".svg", ".png"):
        raise RegardError(f"{out} is neither .svg nor .png. Name a file that ends in one of them.")
    with staged_file(out) as file:
        file.write(_content(sheet, look, kind))


def _content(sheet: Sequence[Regions], look: Look, kind: str) -> bytes:
    if kind == ".svg":
        return regions_svg(sheet, look).encode()
    from regard.view.regions_painting import paint_regions

    return paint_regions(sheet, look)

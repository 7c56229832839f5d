"""Where a model looked in a picture, painted as PNG, from the same plan as the SVG."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from regard.view.maps import EDGE, FAINT, FONT, GOLD, GROUND, INK, TITLE
from regard.view.painting import SCALE, font, printable
from regard.view.regions_plan import DARKEST, Look, Plan, Regions, fitted, smooth

LINE = 0.15  # light added along the grid's lines


def paint_regions(sheet: Sequence[Regions], look: Look) -> bytes:
    """The pictures one below the other as the content of a PNG file, on white."""
    painted = [_painted(Plan.of(regions, look)) for regions in sheet]
    whole = Image.new("RGB", (max(one.width for one in painted), sum(one.height for one in painted)), GROUND[0])
    top = 0
    for one in painted:
        whole.paste(one, (0, top))
        top += one.height
    return _png(whole)


def png_of(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (rows, columns, channels) as the content of a PNG file; two channels are grey and opacity."""
    return _png(Image.fromarray(np.ascontiguousarray(pixels)))


def _painted(plan: Plan) -> Image.Image:
    image = Image.new("RGB", (plan.width * SCALE, plan.height * SCALE), GROUND[0])
    pen = ImageDraw.Draw(image)
    size = plan.look.panel * SCALE, plan.panel_height * SCALE
    picture = Image.fromarray(plan.regions.picture.transpose(1, 2, 0)).resize(size, Image.Resampling.BICUBIC)
    if plan.regions.title:
        place = EDGE * SCALE, (EDGE + 14) * SCALE
        pen.text(place, printable(plan.regions.title), INK[0], font=font(TITLE), anchor="ls", stroke_width=0.4)
    left, top = plan.corner(0)
    image.paste(picture, (left * SCALE, top * SCALE))
    for word in range(len(plan.regions.words)):
        _paint_panel(plan, word, image, np.asarray(picture))
    return image


def _paint_panel(plan: Plan, word: int, image: Image.Image, picture: NDArray[np.uint8]) -> None:
    pen = ImageDraw.Draw(image)
    left, top = plan.corner(word + 1)
    lower, middle = plan.lower(top), (left + plan.look.panel / 2) * SCALE
    label = printable(fitted(plan.regions.words[word], plan.look.panel))
    pen.text((middle, (top - 7) * SCALE), label, INK[0], font=font(FONT), anchor="ms")
    light = plan.regions.light(word)
    if plan.look.has_grid:
        image.paste(_lit(picture, _stepped(light, *picture.shape[:2])), (left * SCALE, top * SCALE))
    image.paste(_lit(picture, smooth(light, *picture.shape[:2])), (left * SCALE, lower * SCALE))
    for place in {top, lower}:
        for box in plan.boxes(word, left, place):
            pen.rectangle([round(edge * SCALE) for edge in box], outline=GOLD[1], width=round(1.5 * SCALE))
    foot = (lower + plan.panel_height + 15) * SCALE
    pen.text((middle, foot), f"{plan.regions.peak(word):.2f}", FAINT[0], font=font(FONT), anchor="ms")


def _lit(picture: NDArray[np.uint8], light: NDArray[np.float64]) -> Image.Image:
    shares = 1 - DARKEST * (1 - light)
    return Image.fromarray(np.rint(picture * shares[:, :, None]).astype(np.uint8))


def _stepped(light: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Every pixel as light as its cell, and a little lighter where a new cell begins."""
    row, column = (np.arange(count) * cells // count for count, cells in zip((rows, columns), light.shape, strict=True))
    stepped: NDArray[np.float64] = light[row[:, None], column]
    stepped[1:][np.diff(row) > 0] += LINE
    stepped[:, 1:][:, np.diff(column) > 0] += LINE
    return np.minimum(stepped, 1.0)


def _png(image: Image.Image) -> bytes:
    content = BytesIO()
    image.save(content, format="PNG")
    return content.getvalue()

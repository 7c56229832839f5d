"""An attention map painted as PNG, from the same layout as the SVG."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from regard.view.colours import ramp, shade
from regard.view.maps import (
    EDGE,
    FAINT,
    FONT,
    GOLD,
    GROUND,
    INK,
    TITLE,
    TITLE_STEP,
    Layout,
    heading,
    scale_left,
    shortened,
)
from regard.view.trace_maps import Map

SCALE = 2  # pixels to one of the layout's, so that a printed picture is sharp
FOLDERS = [
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:/Windows/Fonts",
]
# Fonts with Hangul first, the best looking one first of all; then fonts without it.
FILES = [
    ("NotoSansCJK-Regular.ttc", 1),  # of its faces, the Korean one
    ("NotoSansKR-Regular.otf", 0),
    ("NotoSansKR-Regular.ttf", 0),
    ("NanumGothic.ttf", 0),
    ("AppleSDGothicNeo.ttc", 0),
    ("malgun.ttf", 0),
    ("UnDotum.ttf", 0),
    ("DejaVuSans.ttf", 0),
]
NO_LETTER, UNREADABLE = "\U0010fffe", "�"  # what no font has, so that it is painted as its box; and what has no shape
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class Brush:
    """What is painted on."""

    image: Image.Image
    pen: ImageDraw.ImageDraw

    def box(self, x: float, y: float, width: float, height: float) -> tuple[int, int, int, int]:
        """A rectangle of the layout in pixels, its last ones included."""
        return round(x * SCALE), round(y * SCALE), round((x + width) * SCALE) - 1, round((y + height) * SCALE) - 1

    def text(self, place: tuple[float, float], text: str, colour: str = INK[0], *, anchor: str = "ls") -> None:
        """Text at its baseline."""
        self.pen.text((place[0] * SCALE, place[1] * SCALE), printable(text), colour, font=font(FONT), anchor=anchor)

    def slanted(self, x: float, y: float, text: str) -> None:
        """Text that rises to the right from its baseline's beginning."""
        face, room = font(FONT), FONT * SCALE * 2
        length = int(face.getlength(printable(text))) + 4
        sheet = Image.new("L", (2 * length, 2 * room))  # the baseline begins at its middle, so turning keeps it there
        ImageDraw.Draw(sheet).text((length, room), printable(text), 255, font=face, anchor="ls")
        turned = sheet.rotate(45, resample=Image.Resampling.BICUBIC, expand=True)
        corner = round(x * SCALE - turned.width / 2), round(y * SCALE - turned.height / 2)
        self.image.paste(Image.new("RGB", turned.size, INK[0]), corner, turned)


def paint_map(drawn: Map) -> bytes:
    """The map as the content of a PNG file, on white."""
    layout = Layout.of(drawn)
    image = Image.new("RGB", (int(layout.width * SCALE), int(layout.height * SCALE)), GROUND[0])
    brush = Brush(image, ImageDraw.Draw(image))
    _paint_squares(drawn, layout, brush)
    if layout.is_labelled:
        _paint_labels(drawn, layout, brush)
    _paint_outlines(drawn, layout, brush)
    _paint_scale(drawn, layout, brush)
    _paint_heading(drawn, brush)
    return _png(_trimmed(image))


def paint_cells(drawn: Map) -> bytes:
    """A PNG of a pixel for each cell."""
    return _png(_cells(drawn))


def printable(text: str) -> str:
    """Text without what has no shape: control characters, and halves of letters."""
    return "".join(letter if letter.isprintable() else UNREADABLE for letter in text)


def unpaintable(texts: Iterable[str]) -> str:
    """The letters that the font does not have, each once: boxes stand in their place."""
    face = font(FONT)
    letters = dict.fromkeys(letter for text in texts for letter in printable(text) if letter not in f" {UNREADABLE}")
    return "".join(letter for letter in letters if _shape(face, letter) == _shape(face, NO_LETTER))


@cache
def font(size: int) -> Font:
    """A font that has Hangul, if one is found on this machine."""
    found = {name: path for folder in FOLDERS for name, path in _fonts_below(Path(folder).expanduser())}
    for name, face in FILES:
        if name in found:
            return ImageFont.truetype(found[name], size * SCALE, index=face)
    return ImageFont.load_default(size * SCALE)


def _shape(face: Font, letter: str) -> tuple[tuple[int, int], bytes]:
    mask = face.getmask(letter)
    return mask.size, bytes(mask)


def _fonts_below(folder: Path) -> list[tuple[str, str]]:
    wanted = {name for name, _ in FILES}
    return [
        (name, os.path.join(parent, name)) for parent, _, names in os.walk(folder) for name in names if name in wanted
    ]


def _cells(drawn: Map) -> Image.Image:
    shares = np.clip(np.nan_to_num(drawn.weights) / drawn.most, 0.0, 1.0)
    table = np.array(ramp("light"), dtype=np.uint8)
    return Image.fromarray(table[np.rint(shares * (len(table) - 1)).astype(np.intp)])


def _paint_heading(drawn: Map, brush: Brush) -> None:
    lines = heading(drawn)
    for number, line in enumerate(lines):
        place = EDGE * SCALE, (EDGE + 14 + TITLE_STEP * number) * SCALE
        # A little heavier than it is, since not every machine has a bold face.
        brush.pen.text(place, printable(line), INK[0], font=font(TITLE), anchor="ls", stroke_width=0.4)
    brush.text((EDGE, EDGE + 14 + TITLE_STEP * len(lines)), drawn.subtitle, FAINT[0])


def _paint_squares(drawn: Map, layout: Layout, brush: Brush) -> None:
    if 0 in drawn.weights.shape:
        return
    if layout.is_painted:
        box = brush.box(layout.left, layout.top, layout.cell * len(drawn.columns), layout.cell * len(drawn.rows))
        size = (box[2] - box[0] + 1, box[3] - box[1] + 1)
        brush.image.paste(_cells(drawn).resize(size, Image.Resampling.NEAREST), box[:2])
        return
    side = layout.cell - (1 if layout.cell > 14 else 0)
    for (row, column), weight in np.ndenumerate(drawn.weights):
        x, y = layout.left + column * layout.cell, layout.top + row * layout.cell
        brush.pen.rectangle(brush.box(x, y, side, side), shade(float(weight) / drawn.most))


def _paint_labels(drawn: Map, layout: Layout, brush: Brush) -> None:
    for row, label in enumerate(drawn.rows):
        middle = layout.top + (row + 0.5) * layout.cell + FONT * 0.35
        brush.text((layout.left - 8, middle), shortened(label), anchor="rs")
    for column, label in enumerate(drawn.columns):
        brush.slanted(layout.left + (column + 0.5) * layout.cell + 3, layout.top - 7, shortened(label))


def _paint_outlines(drawn: Map, layout: Layout, brush: Brush) -> None:
    for column, row in drawn.gold:
        if row < len(drawn.rows) and column < len(drawn.columns):
            x, y = layout.left + column * layout.cell, layout.top + row * layout.cell
            box = brush.box(x, y, layout.cell - 1, layout.cell - 1)
            brush.pen.rounded_rectangle(box, radius=3 * SCALE, outline=GOLD[0], width=round(2.5 * SCALE))


def _paint_scale(drawn: Map, layout: Layout, brush: Brush) -> None:
    x = scale_left(drawn, layout)
    for step in range(11):
        brush.pen.rectangle(brush.box(x, layout.top + (10 - step) * 8, 12, 8), shade(step / 10))
    for value, y in ((drawn.most, layout.top + 10), (0.0, layout.top + 88)):
        brush.text((x + 18, y), f"{value:.3g}", FAINT[0])


def _trimmed(image: Image.Image) -> Image.Image:
    """Without what is blank at the right: a layout guesses how wide its title will be, and guesses high."""
    found = ImageChops.difference(image, Image.new("RGB", image.size, GROUND[0])).getbbox()
    right = image.width if found is None else min(image.width, found[2] + EDGE * SCALE)
    return image.crop((0, 0, right, image.height))


def _png(image: Image.Image) -> bytes:
    content = BytesIO()
    image.save(content, format="PNG", optimize=True)
    return content.getvalue()

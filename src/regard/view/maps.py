"""An attention map as a drawing: where everything stands, and the drawing as SVG.

Cells are squares up to 64 by 64; a larger map is one picture of a pixel for each cell, so that 512 tokens stay a small
file. `painting.py` paints the same drawing as PNG.
"""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from unicodedata import east_asian_width

from regard.view.colours import Ground, hexadecimal, shade
from regard.view.plots import xml_text
from regard.view.trace_maps import Map

MOST_SQUARES = 64
CELL, SMALLEST_LABELLED, ROOM = 34, 11, 660  # the largest square, the smallest with a label, and what squares may fill
FONT, TITLE, LONGEST_LABEL, LONGEST_TITLE = 13, 16, 18, 84
TITLE_STEP, EDGE, SCALE_WIDTH = 22, 20, 74
FAMILY = "system-ui, 'Noto Sans KR', 'Noto Sans CJK KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"
INK, FAINT, LINE, GOLD = ("#222222", "#e8e8e8"), ("#5c5c5c", "#a8adb5"), ("#d8d8d8", "#3a3f47"), ("#c25100", "#f0a04b")
GROUND = ("#ffffff", "#16181c")  # on light paper, on dark


@dataclass(frozen=True)
class Layout:
    """Where a map's parts stand on its drawing, in pixels."""

    left: float  # of the squares
    top: float
    cell: float
    width: float
    height: float
    is_labelled: bool
    is_painted: bool  # as one picture

    @classmethod
    def of(cls, drawn: Map) -> "Layout":
        """Squares as large as fit, with room for the longest labels."""
        rows, columns = len(drawn.rows), len(drawn.columns)
        cell = min(float(CELL), ROOM / max(rows, columns, 1))
        is_painted = max(rows, columns) > MOST_SQUARES
        is_labelled = cell >= SMALLEST_LABELLED and not is_painted
        left = EDGE + (label_width(drawn.rows) + 8 if is_labelled else 0)
        slanted = label_width(drawn.columns) * 0.71 + 14 if is_labelled else 8
        titles = heading(drawn)
        top = EDGE + 24 + TITLE_STEP * len(titles) + slanted
        overhang = max(0.0, label_width(drawn.columns[-1:]) * 0.71 - cell / 2) if is_labelled else 0.0
        scale = EDGE + SCALE_WIDTH
        words = EDGE * 2 + max(*(text_width(line) * 1.4 for line in titles), text_width(drawn.subtitle))
        width = max(left + cell * columns + max(overhang + 8, scale), words)
        return cls(left, top, cell, round(width), round(top + cell * max(rows, 3) + EDGE), is_labelled, is_painted)


def draw_map(drawn: Map) -> str:
    """The map as the text of an SVG file, light or dark as the viewer prefers."""
    layout = Layout.of(drawn)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" role="img" '
        f'width="{layout.width}" height="{layout.height}" font-family="{FAMILY}" font-size="{FONT}">',
        f"<title>{xml_text(drawn.title)}</title>",
        f"<desc>{xml_text(drawn.subtitle)}</desc>",
        f"<style>{_dark_rules(drawn)}</style>",
        f'<rect class="ground" width="{layout.width}" height="{layout.height}" fill="{GROUND[0]}"/>',
        *_heading(drawn),
        *(_painted(drawn, layout) if layout.is_painted else _squares(drawn, layout)),
        *(_labels(drawn, layout) if layout.is_labelled else ()),
        *_outlines(drawn, layout),
        *_scale(drawn, layout),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# --- labels ----------------------------------------------------------------------------------------------------------


def text_width(text: str) -> float:
    """About how wide a text is in the labels' size; East Asian letters are about twice as wide as others."""
    return sum(FONT * (1.0 if east_asian_width(letter) in "WF" else 0.58) for letter in text)


def label_width(labels: list[str]) -> float:
    """The width of the widest label."""
    return max((text_width(shortened(label)) for label in labels), default=0.0)


def shortened(label: str, longest: int = LONGEST_LABEL) -> str:
    """A label cut where it is too long to be drawn."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def heading(drawn: Map) -> list[str]:
    """The title in one line or, where that would be long, in two."""
    lines = [drawn.title]
    if len(drawn.title) > LONGEST_TITLE * 0.7 and " → " in drawn.title:
        before, after = drawn.title.split(" → ", 1)
        lines = [before, f"→ {after}"]
    return [shortened(line, LONGEST_TITLE) for line in lines]


# --- the parts of a drawing ------------------------------------------------------------------------------------------


def _heading(drawn: Map) -> Iterator[str]:
    for number, line in enumerate(heading(drawn)):
        yield _text(EDGE, EDGE + 14 + TITLE_STEP * number, line, f'font-size="{TITLE}" font-weight="600"')
    yield _text(EDGE, EDGE + 14 + TITLE_STEP * len(heading(drawn)), drawn.subtitle, 'class="faint"', FAINT[0])


def _level(drawn: Map, weight: float) -> int:
    """How dark, in hundredths: dark viewers need a rule for each shade that occurs."""
    return round(100 * min(1.0, max(0.0, weight / drawn.most)))


def _squares(drawn: Map, layout: Layout) -> Iterator[str]:
    side = round(layout.cell - (1 if layout.cell > 14 else 0), 1)
    for row, row_label in enumerate(drawn.rows):
        for column, column_label in enumerate(drawn.columns):
            weight = float(drawn.weights[row, column])
            level = _level(drawn, weight)
            x, y = layout.left + column * layout.cell, layout.top + row * layout.cell
            hint = xml_text(f"{row_label} → {column_label}: {weight:.4f}")
            yield (
                f'<rect class="w{level}" x="{x:.1f}" y="{y:.1f}" width="{side}" height="{side}" '
                f'fill="{hexadecimal(shade(level / 100))}"><title>{hint}</title></rect>'
            )


def _painted(drawn: Map, layout: Layout) -> Iterator[str]:
    from regard.view.painting import paint_cells

    width, height = layout.cell * len(drawn.columns), layout.cell * len(drawn.rows)
    yield (
        f'<image x="{layout.left:.1f}" y="{layout.top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{b64encode(paint_cells(drawn)).decode()}"/>'
    )


def _labels(drawn: Map, layout: Layout) -> Iterator[str]:
    for row, label in enumerate(drawn.rows):
        y = layout.top + (row + 0.5) * layout.cell + FONT * 0.35
        yield _text(layout.left - 8, y, shortened(label), 'text-anchor="end"')
    for column, label in enumerate(drawn.columns):
        x, y = layout.left + (column + 0.5) * layout.cell + 3, layout.top - 7
        yield _text(x, y, shortened(label), f'transform="rotate(-45 {x:.1f} {y:.1f})"')


def _outlines(drawn: Map, layout: Layout) -> Iterator[str]:
    for column, row in sorted(drawn.gold):
        if row < len(drawn.rows) and column < len(drawn.columns):
            x, y = layout.left + column * layout.cell + 1, layout.top + row * layout.cell + 1
            side = layout.cell - 3
            yield (
                f'<rect class="gold" x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" rx="3" '
                f'fill="none" stroke="{GOLD[0]}" stroke-width="2.5"/>'
            )


def _scale(drawn: Map, layout: Layout) -> Iterator[str]:
    """What the shades mean, at the right of the squares."""
    x = scale_left(drawn, layout)
    for step in range(11):
        y, level = layout.top + (10 - step) * 8, 10 * step
        yield (
            f'<rect class="w{level}" x="{x:.1f}" y="{y:.1f}" width="12" height="8" '
            f'fill="{hexadecimal(shade(level / 100))}"/>'
        )
    for value, y in ((drawn.most, layout.top + 10), (0.0, layout.top + 88)):
        yield _text(x + 18, y, f"{value:.3g}", 'class="faint"', FAINT[0])


def scale_left(drawn: Map, layout: Layout) -> float:
    """Where the scale of shades stands."""
    return layout.left + layout.cell * len(drawn.columns) + 24


def _text(x: float, y: float, text: str, attributes: str = "", colour: str = INK[0]) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {attributes}>{xml_text(text)}</text>'


def _dark_rules(drawn: Map) -> str:
    """Rules for a dark viewer; what they override stands as attributes, for programs that know no style sheets."""
    rules = [f".ground{{fill:{GROUND[1]}}}", f"text{{fill:{INK[1]}}}", f".faint{{fill:{FAINT[1]}}}"]
    rules.append(f".gold{{stroke:{GOLD[1]}}}")
    dark: Ground = "dark"
    levels = set(range(0, 101, 10))  # of the scale
    if not Layout.of(drawn).is_painted:
        levels |= {_level(drawn, float(weight)) for weight in drawn.weights.flat}
    rules += [f".w{level}{{fill:{hexadecimal(shade(level / 100, dark))}}}" for level in sorted(levels)]
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"

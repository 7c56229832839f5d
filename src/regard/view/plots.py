"""Line plots as SVG: plain data in, one self-contained text out, without a plotting library.

Lines differ in colour, dash and marker, so that they are told apart in print and by colour-blind readers; the colours
are those of Okabe and Ito. The drawing has a ground of its own, light or dark as the viewer prefers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 800, 420
LEFT, RIGHT, TOP, BOTTOM = 68, 560, 52, 340  # of the frame; the legend stands at its right
LEGEND, LEGEND_STEP, LONGEST_NAME = 584, 24, 22
COLOURS = [  # on a light ground, on a dark one
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#f0934a"),
    ("#009e73", "#2fd0a5"),
    ("#a3507d", "#e3a1c4"),
    ("#8a6100", "#e6b422"),
    ("#444444", "#dddddd"),
]
DASHES = ["none", "7 4", "2 3", "9 3 2 3", "5 2", "1 5"]
MARKERS = [  # paths around the origin: circle, square, triangle, diamond, cross, triangle upside down
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.8L4.6,3.4H-4.6z",
    "M0,-5L5,0L0,5L-5,0z",
    "M-4,-1.4h2.6v-2.6h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6z",
    "M0,4.8L4.6,-3.4H-4.6z",
]


@dataclass(frozen=True)
class Line:
    """A named line; a point whose value is not a finite number leaves a gap."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    """What is drawn: lines over two labelled axes; `x_ticks` are places with words, else numbers are chosen."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_ticks: Sequence[tuple[float, str]] = ()


@dataclass(frozen=True)
class Scale:
    """From values to places on the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)


def draw(plot: Plot) -> str:
    """The plot as the text of an SVG file."""
    x_scale, y_scale = _scales(plot)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{xml_text(plot.title)}</title>",
        f"<desc>{xml_text(_description(plot))}</desc>",
        f"<style>{_style()}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _label(LEFT, 30, plot.title, 'font-size="16" font-weight="600"'),
        *_y_axis(plot, y_scale),
        *_x_axis(plot, x_scale),
        *(part for index, line in enumerate(plot.lines) for part in _line(line, index, x_scale, y_scale)),
        *(part for index, line in enumerate(plot.lines) for part in _legend(line, index)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers, at most so many, of which the first is at or below `low` and the last at or above `high`."""
    if not low < high:
        high = low + 1.0
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    # 1, 2, 5, 10, 20, ... times a power of ten: the first that gives few enough.
    for factor in (1, 2, 5, 10, 20, 50, 100):
        first, last = math.floor(low / (step * factor)), math.ceil(high / (step * factor))
        if last - first + 1 <= most:
            break
    return [float(f"{index * step * factor:.12g}") for index in range(first, last + 1)]


# --- the parts of a plot ---------------------------------------------------------------------------------------------


def _scales(plot: Plot) -> tuple[Scale, Scale]:
    points = [point for line in plot.lines for point in line.points if _is_finite(point)]
    xs = [x for x, _ in points] + [x for x, _ in plot.x_ticks] or [0.0]
    ys = [y for _, y in points] or [0.0]
    low, high = min(xs), max(xs)
    room = (high - low) * 0.06 or 0.5  # so that a marker does not sit on the frame
    y_ticks = ticks(min(0.0, *ys), max(ys))  # from zero, so that a small difference does not look large
    return Scale(low - room, high + room, LEFT, RIGHT), Scale(y_ticks[0], y_ticks[-1], BOTTOM, TOP)


def _y_axis(plot: Plot, scale: Scale) -> Iterator[str]:
    for value in ticks(scale.low, scale.high):
        place = scale(value)
        yield f'<path class="grid" d="M{LEFT},{place}H{RIGHT}" stroke="#d8d8d8"/>'
        yield _label(LEFT - 8, place + 4.5, _number(value), 'text-anchor="end"')
    middle = (TOP + BOTTOM) / 2
    yield _label(18, middle, plot.y_label, f'text-anchor="middle" transform="rotate(-90 18 {middle})"')


def _x_axis(plot: Plot, scale: Scale) -> Iterator[str]:
    named = plot.x_ticks or [(value, _number(value)) for value in ticks(scale.low, scale.high)]
    yield f'<path class="axis" d="M{LEFT},{BOTTOM}H{RIGHT}" stroke="#333333"/>'
    for value, name in named:
        if not scale.low <= value <= scale.high:
            continue
        place = scale(value)
        yield f'<path class="axis" d="M{place},{BOTTOM}v5" stroke="#333333"/>'
        for row, text in enumerate(name.split("\n")):
            yield _label(
                place, BOTTOM + 20 + 15 * row, text, 'text-anchor="middle"' + (' font-size="11"' if row else "")
            )
    yield _label((LEFT + RIGHT) / 2, BOTTOM + 62, plot.x_label, 'text-anchor="middle"')


def _line(line: Line, index: int, x_scale: Scale, y_scale: Scale) -> Iterator[str]:
    path, pen = [], "M"
    for point in line.points:
        if _is_finite(point):
            path.append(f"{pen}{x_scale(point[0])},{y_scale(point[1])}")
        pen = "L" if _is_finite(point) else "M"
    yield f'<path {_stroke(index)} d="{"".join(path) or "M0,0"}"/>'
    for x, y in filter(_is_finite, line.points):
        yield _marker(index, x_scale(x), y_scale(y), f"{line.name}: {_number(round(y, 2))}")


def _legend(line: Line, index: int) -> Iterator[str]:
    place = TOP + 8 + index * LEGEND_STEP
    name = line.name if len(line.name) <= LONGEST_NAME else f"{line.name[: LONGEST_NAME - 1]}…"
    yield f'<path {_stroke(index)} d="M{LEGEND},{place}h30"/>'
    yield _marker(index, LEGEND + 15, place, line.name)
    yield _label(LEGEND + 38, place + 4.5, name)


def _stroke(index: int) -> str:
    colour, dash = COLOURS[index % len(COLOURS)][0], DASHES[index % len(DASHES)]
    return (
        f'class="line{index % len(COLOURS)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    )


def _marker(index: int, x: float, y: float, hint: str) -> str:
    colour, shape = COLOURS[index % len(COLOURS)][0], MARKERS[index % len(MARKERS)]
    return (
        f'<path class="mark{index % len(COLOURS)}" fill="{colour}" transform="translate({x} {y})" d="{shape}">'
        f"<title>{xml_text(hint)}</title></path>"
    )


def _label(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="#222222" {attributes}>{xml_text(text)}</text>'


def _style() -> str:
    """Rules for a dark viewer; what they override stands as attributes, for programs that know no style sheets."""
    rules = [".ground{fill:#16181c}", "text{fill:#e8e8e8}", ".grid{stroke:#3a3f47}", ".axis{stroke:#c8c8c8}"]
    for index, (_, colour) in enumerate(COLOURS):
        rules += [f".line{index}{{stroke:{colour}}}", f".mark{index}{{fill:{colour}}}"]
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"


def _description(plot: Plot) -> str:
    names = ", ".join(line.name for line in plot.lines)
    return f"{plot.y_label} against {plot.x_label}: {names}"


def _is_finite(point: tuple[float, float]) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def _number(value: float) -> str:
    return f"{value:,.6g}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"


def xml_text(text: str) -> str:
    """Text as XML may hold it: escaped, and without the characters that XML forbids."""
    return escape("".join(character if _is_allowed(character) else "�" for character in text))


def _is_allowed(character: str) -> bool:
    code = ord(character)
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000

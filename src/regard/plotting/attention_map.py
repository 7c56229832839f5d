"""Attention maps: which map of a trace, the map as SVG, several heads on a sheet, and `plot_attention` for any weights.

Cells are squares up to 64 by 64; a larger map is one embedded image with a pixel for each cell, so that a map of 512
tokens is a small file.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Literal
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from regard.data.images import encode_png
from regard.errors import RegardError
from regard.metrics.alignment import Links, pieces_to_words
from regard.models.interface import AttentionRole
from regard.plotting.figure_files import file_suffix, svg_file, write_file, xml_text
from regard.plotting.weight_colors import Theme, color_of, color_ramp, to_hex
from regard.tokenization.text import display_piece
from regard.tracing.trace import TokenSequence, Trace

ROLE_NAMES: dict[AttentionRole, str] = {
    "cross": "cross-attention",
    "encoder-self": "encoder self-attention",
    "decoder-self": "decoder self-attention",
    "image-cross": "attention over the image",
    "image-self": "self-attention of the image",
}


@dataclass(frozen=True)
class MapSelection:
    """Which map of a trace: layer and head are counted from 0, None is the mean over all."""

    role: AttentionRole = "cross"
    layer: int | None = None
    head: int | None = None
    at: Literal["output", "input"] = "output"  # a row of cross-attention: the step that predicts its word, or reads it
    unit: Literal["words", "pieces"] = "words"


@dataclass(frozen=True)
class AttentionMap:
    """Weights with a label for each row and column; gold links are pairs (column, row)."""

    title: str
    subtitle: str
    rows: list[str]
    columns: list[str]
    weights: NDArray[np.floating]
    gold: Links = frozenset()
    color_scale: float | None = None  # the weight with the darkest colour, if several maps share a scale

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.rows), len(self.columns)):
            raise RegardError(
                f"the map is {' by '.join(map(str, self.weights.shape))}, but there are labels for "
                f"{len(self.rows)} by {len(self.columns)}."
            )

    @cached_property
    def max_weight(self) -> float:
        """The weight with the darkest colour."""
        return color_scale_of(self.weights) if self.color_scale is None else self.color_scale


def color_scale_of(weights: NDArray[np.floating]) -> float:
    """1, or the largest weight if all are below 0.5 or some are above 1."""
    largest = float(np.max(weights, initial=0.0))
    return 1.0 if largest == 0.0 or 0.5 <= largest <= 1.0 else largest


def select_map(trace: Trace, selection: MapSelection, gold: Links = frozenset()) -> AttentionMap:
    """The selected map of a trace, ready to be drawn."""
    check_selection(trace, selection)
    weights: NDArray[np.floating]
    if selection.layer is None:
        weights = trace.mean(selection.role, selection.head)
    else:
        weights = trace.weights(trace.layers_with_role(selection.role)[selection.layer], selection.head)
    rows, columns = _map_sides(trace, selection)
    if selection.unit == "words":
        weights = pieces_to_words(weights, columns.word_pieces, rows.word_pieces)
    return AttentionMap(
        title=trace.title,
        subtitle=f"{ROLE_NAMES[selection.role]}: {_describe_selection(trace, selection)}",
        rows=_axis_labels(rows, selection),
        columns=_axis_labels(columns, selection),
        weights=weights,
        gold=gold,
    )


def check_selection(trace: Trace, selection: MapSelection, *, first: int = 1) -> None:
    """Refuse layers and heads that do not exist; messages count from `first`: 1 for the CLI, 0 for Python."""
    layers = trace.layers_with_role(selection.role)
    if not layers:
        trace.mean(selection.role)  # raises an error that lists the roles
    counted = f"{ROLE_NAMES[selection.role]} has {{}} here, counted from {first}."
    if selection.layer is not None and not 0 <= selection.layer < len(layers):
        raise RegardError(f"there is no layer {selection.layer + first}; {counted.format(len(layers))}")
    heads = trace.layers[layers[0]].heads
    if selection.head is not None and not 0 <= selection.head < heads:
        raise RegardError(f"there is no head {selection.head + first}; each layer of {counted.format(heads)}")


def _map_sides(trace: Trace, selection: MapSelection) -> tuple[TokenSequence, TokenSequence]:
    match selection.role:
        case "encoder-self" | "image-self":
            return trace.source, trace.source
        case "decoder-self":
            return trace.target, trace.target
        case "cross" | "image-cross":
            return (trace.predicted if selection.at == "output" else trace.target), trace.source


def _axis_labels(side: TokenSequence, selection: MapSelection) -> list[str]:
    return side.words if selection.unit == "words" else [display_piece(piece) for piece in side.pieces]


def _describe_selection(trace: Trace, selection: MapSelection) -> str:
    layers = trace.layers_with_role(selection.role)
    heads = trace.layers[layers[0]].heads
    head = f"head {(selection.head or 0) + 1}" if selection.head is not None or heads == 1 else f"mean of {heads} heads"
    if selection.layer is None and len(layers) > 1:
        return f"{head}, mean of {len(layers)} layers"
    return f"layer {(selection.layer or 0) + 1}, {head}"


MAX_CELL_RECTS = 64

CELL, SMALLEST_LABELLED = 34, 11  # sides of the largest square, and of the smallest with a label
MAP_SIZE = 660  # of all squares
FONT, TITLE, MAX_LABEL_CHARACTERS, MAX_TITLE_CHARACTERS = 13, 16, 18, 84
TITLE_STEP, EDGE, SCALE_WIDTH = 22, 20, 74
FAMILY = "system-ui, 'Noto Sans KR', 'Noto Sans CJK KR', 'Apple SD Gothic Neo', 'Malgun Gothic', sans-serif"
INK, FAINT, LINE, GOLD = ("#222222", "#e8e8e8"), ("#5c5c5c", "#a8adb5"), ("#d8d8d8", "#3a3f47"), ("#c25100", "#f0a04b")
GROUND = ("#ffffff", "#16181c")  # light theme, dark theme


@dataclass(frozen=True)
class MapLayout:
    """The positions of the parts of a map, in pixels."""

    left: float  # of the squares
    top: float
    cell: float
    width: float
    height: float
    is_labelled: bool
    is_painted: bool  # as one embedded image

    @classmethod
    def for_map(cls, attention_map: AttentionMap) -> "MapLayout":
        """Squares as large as fit, with room for the longest labels."""
        rows, columns = len(attention_map.rows), len(attention_map.columns)
        cell = min(float(CELL), MAP_SIZE / max(rows, columns, 1))
        is_painted = max(rows, columns) > MAX_CELL_RECTS
        is_labelled = cell >= SMALLEST_LABELLED and not is_painted
        left = EDGE + (label_width(attention_map.rows) + 8 if is_labelled else 0)
        slanted = label_width(attention_map.columns) * 0.71 + 14 if is_labelled else 8
        titles = title_lines(attention_map)
        top = EDGE + 24 + TITLE_STEP * len(titles) + slanted
        overhang = max(0.0, label_width(attention_map.columns[-1:]) * 0.71 - cell / 2) if is_labelled else 0.0
        scale = EDGE + SCALE_WIDTH
        words = EDGE * 2 + max(*(text_width(line) * 1.4 for line in titles), text_width(attention_map.subtitle))
        width = max(left + cell * columns + max(overhang + 8, scale), words)
        return cls(left, top, cell, round(width), round(top + cell * max(rows, 3) + EDGE), is_labelled, is_painted)


def draw_map(attention_map: AttentionMap) -> str:
    """The map as the text of an SVG file, light or dark as the viewer prefers."""
    layout, titles = MapLayout.for_map(attention_map), title_lines(attention_map)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" role="img" '
        f'width="{layout.width}" height="{layout.height}" font-family="{FAMILY}" font-size="{FONT}">',
        f"<title>{xml_text(attention_map.title)}</title>",
        f"<desc>{xml_text(attention_map.subtitle)}</desc>",
        f"<style>{_dark_rules(attention_map)}</style>",
        f'<rect class="ground" width="{layout.width}" height="{layout.height}" fill="{GROUND[0]}"/>',
        *(
            _svg_text(EDGE, EDGE + 14 + TITLE_STEP * number, line, f'font-size="{TITLE}" font-weight="600"')
            for number, line in enumerate(titles)
        ),
        _svg_text(EDGE, EDGE + 14 + TITLE_STEP * len(titles), attention_map.subtitle, 'class="faint"', FAINT[0]),
        *(_svg_image(attention_map, layout) if layout.is_painted else _svg_cells(attention_map, layout)),
        *(_svg_labels(attention_map, layout) if layout.is_labelled else ()),
        *_svg_gold(attention_map, layout),
        *_svg_scale(attention_map, layout),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# --- labels ----------------------------------------------------------------------------------------------------------


def text_width(text: str) -> float:
    """The approximate width of a text in the font size of labels; East Asian letters are about twice as wide."""
    return sum(FONT * (1.0 if east_asian_width(letter) in "WF" else 0.58) for letter in text)


def label_width(labels: list[str]) -> float:
    """The width of the widest label."""
    return max((text_width(shorten_label(label)) for label in labels), default=0.0)


def shorten_label(label: str, longest: int = MAX_LABEL_CHARACTERS) -> str:
    """The label, truncated if it is too long to be drawn."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def title_lines(attention_map: AttentionMap) -> list[str]:
    """The title in one line or, if it is long, in two."""
    lines = [attention_map.title]
    if len(attention_map.title) > MAX_TITLE_CHARACTERS * 0.7 and " → " in attention_map.title:
        before, after = attention_map.title.split(" → ", 1)
        lines = [before, f"→ {after}"]
    return [shorten_label(line, MAX_TITLE_CHARACTERS) for line in lines]


# --- the parts of a drawing ------------------------------------------------------------------------------------------


def _shade_level(attention_map: AttentionMap, weight: float) -> int:
    """The shade in hundredths: the dark theme needs a rule for each shade that occurs."""
    return round(100 * min(1.0, max(0.0, weight / attention_map.max_weight)))


def _svg_cells(attention_map: AttentionMap, layout: MapLayout) -> Iterator[str]:
    side = round(layout.cell - (1 if layout.cell > 14 else 0), 1)
    for row, row_label in enumerate(attention_map.rows):
        for column, column_label in enumerate(attention_map.columns):
            weight = float(attention_map.weights[row, column])
            level = _shade_level(attention_map, weight)
            x, y = layout.left + column * layout.cell, layout.top + row * layout.cell
            hint = xml_text(f"{row_label} → {column_label}: {weight:.4f}")
            yield (
                f'<rect class="w{level}" x="{x:.1f}" y="{y:.1f}" width="{side}" height="{side}" '
                f'fill="{to_hex(color_of(level / 100))}"><title>{hint}</title></rect>'
            )


def _svg_image(attention_map: AttentionMap, layout: MapLayout) -> Iterator[str]:
    shares = np.clip(np.nan_to_num(attention_map.weights) / attention_map.max_weight, 0.0, 1.0)
    ramp = np.array(color_ramp("light"), dtype=np.uint8)
    cells = encode_png(ramp[np.rint(shares * (len(ramp) - 1)).astype(np.intp)])
    width, height = layout.cell * len(attention_map.columns), layout.cell * len(attention_map.rows)
    yield (
        f'<image x="{layout.left:.1f}" y="{layout.top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{b64encode(cells).decode()}"/>'
    )


def _svg_labels(attention_map: AttentionMap, layout: MapLayout) -> Iterator[str]:
    for row, label in enumerate(attention_map.rows):
        y = layout.top + (row + 0.5) * layout.cell + FONT * 0.35
        yield _svg_text(layout.left - 8, y, shorten_label(label), 'text-anchor="end"')
    for column, label in enumerate(attention_map.columns):
        x, y = layout.left + (column + 0.5) * layout.cell + 3, layout.top - 7
        yield _svg_text(x, y, shorten_label(label), f'transform="rotate(-45 {x:.1f} {y:.1f})"')


def _svg_gold(attention_map: AttentionMap, layout: MapLayout) -> Iterator[str]:
    for column, row in sorted(attention_map.gold):
        if row < len(attention_map.rows) and column < len(attention_map.columns):
            x, y = layout.left + column * layout.cell + 1, layout.top + row * layout.cell + 1
            side = layout.cell - 3
            yield (
                f'<rect class="gold" x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" rx="3" '
                f'fill="none" stroke="{GOLD[0]}" stroke-width="2.5"/>'
            )


def _svg_scale(attention_map: AttentionMap, layout: MapLayout) -> Iterator[str]:
    """The colour scale, to the right of the squares."""
    x = scale_left(attention_map, layout)
    for step in range(11):
        y, level = layout.top + (10 - step) * 8, 10 * step
        yield (
            f'<rect class="w{level}" x="{x:.1f}" y="{y:.1f}" width="12" height="8" '
            f'fill="{to_hex(color_of(level / 100))}"/>'
        )
    for value, y in ((attention_map.max_weight, layout.top + 10), (0.0, layout.top + 88)):
        yield _svg_text(x + 18, y, f"{value:.3g}", 'class="faint"', FAINT[0])


def scale_left(attention_map: AttentionMap, layout: MapLayout) -> float:
    """The left edge of the colour scale."""
    return layout.left + layout.cell * len(attention_map.columns) + 24


def _svg_text(x: float, y: float, text: str, attributes: str = "", colour: str = INK[0]) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {attributes}>{xml_text(text)}</text>'


def _dark_rules(attention_map: AttentionMap) -> str:
    """Rules for a dark viewer; they override attributes, which serve programs without style sheets."""
    rules = [f".ground{{fill:{GROUND[1]}}}", f"text{{fill:{INK[1]}}}", f".faint{{fill:{FAINT[1]}}}"]
    rules.append(f".gold{{stroke:{GOLD[1]}}}")
    dark: Theme = "dark"
    levels = set(range(0, 101, 10))  # of the scale
    if not MapLayout.for_map(attention_map).is_painted:
        levels |= {_shade_level(attention_map, float(weight)) for weight in attention_map.weights.flat}
    rules += [f".w{level}{{fill:{to_hex(color_of(level / 100, dark))}}}" for level in sorted(levels)]
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"


SHEET_COLUMNS = 4


def draw_sheet(maps: Sequence[AttentionMap]) -> str:
    """The maps as the text of one SVG file, side by side; one map is drawn as by `draw_map`."""
    if len(maps) == 1:
        return draw_map(maps[0])
    layouts = [MapLayout.for_map(one) for one in maps]
    wide, high = max(layout.width for layout in layouts), max(layout.height for layout in layouts)
    columns = min(SHEET_COLUMNS, len(maps))
    width, height = wide * columns, high * -(-len(maps) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}" font-family="{FAMILY}" font-size="{FONT}">',
        f"<style>@media (prefers-color-scheme: dark){{.ground{{fill:{GROUND[1]}}}}}</style>",
        f'<rect class="ground" width="{width}" height="{height}" fill="{GROUND[0]}"/>',
    ]
    for number, one in enumerate(maps):
        row, column = divmod(number, columns)
        parts.append(f'<g transform="translate({column * wide} {row * high})">\n{draw_map(one)}</g>')
    return "\n".join([*parts, "</svg>\n"])


@dataclass(frozen=True, eq=False, repr=False)
class AttentionFigure:
    """One map, or one for each head; a notebook displays it as the last value of a cell."""

    maps: list[AttentionMap]

    def __repr__(self) -> str:
        first = self.maps[0]
        return f"AttentionFigure({first.title!r}, {len(self.maps)} map(s) of {len(first.rows)} by {len(first.columns)})"

    def _repr_svg_(self) -> str:
        return draw_sheet(self.maps)

    def save(self, out: Path | str) -> Path:
        """Write it to an .svg, .png, .pdf or .html file; the page works offline."""
        path = Path(out)
        kind = file_suffix(path)
        if kind == ".html":
            write_file(path, self._page())
        else:
            write_file(path, svg_file(draw_sheet(self.maps), kind))
        return path

    def _page(self) -> bytes:
        """A page with the drawing alone, without scripts and without requests."""
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(self.maps[0].title or "attention")} · regard</title>
<style>svg {{ max-width: 100%; height: auto }}</style>
</head>
<body>
{draw_sheet(self.maps)}</body>
</html>
""".encode()


def plot_attention(
    weights: Any,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    out: Path | str | None = None,
) -> AttentionFigure:
    """Attention weights of any model, (queries, keys) or (heads, queries, keys), with a label for each row and column.

    `weights` may be an array, a tensor, or nested lists. Without `columns` (self-attention) they are the rows.
    """
    heads = _check_weights(weights)
    labels = _check_labels("rows", rows), _check_labels("columns", rows if columns is None else columns)
    if heads.shape[1:] != (len(labels[0]), len(labels[1])):
        _, queries, keys = heads.shape
        raise RegardError(
            f"each map is {queries} by {keys} (queries by keys), but there are {len(labels[0])} row labels and "
            f"{len(labels[1])} column labels. Give {queries} rows and {keys} columns."
        )
    names = [f"head {number}" for number in range(1, len(heads) + 1)] if len(heads) > 1 else [""]
    color_scale = color_scale_of(heads)  # one scale for all heads, so that they can be compared
    drawing = AttentionFigure(
        [
            AttentionMap(title, name, *labels, one, color_scale=color_scale)
            for name, one in zip(names, heads, strict=True)
        ]
    )
    if out is not None:
        drawing.save(out)
    return drawing


def _check_weights(weights: Any) -> NDArray[np.float64]:
    """The weights as (heads, queries, keys), checked."""
    if hasattr(weights, "detach"):  # a tensor, on any device and of any type
        weights = weights.detach().cpu().double().numpy()
    try:
        array = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise RegardError(
            f"the weights are {type(weights).__name__}, not a table of numbers. Give an array, a tensor, or lists "
            "of numbers that are all of one length."
        ) from None
    if array.ndim not in (2, 3) or not array.size:
        hint = " From a batch, give one example: weights[0]." if array.ndim == 4 else ""
        raise RegardError(
            f"the weights have the shape {array.shape}; give (queries, keys), or (heads, queries, keys), "
            f"none of them 0.{hint}"
        )
    if not np.isfinite(array).all() or array.min() < 0:
        raise RegardError(
            "the weights contain negative values or values that are not finite; give weights of 0 or more, as they are "
            "after the softmax."
        )
    return array if array.ndim == 3 else array[None]


def _check_labels(name: str, labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str):
        raise RegardError(f"{name} is one text, {labels!r}; give a list of labels.")
    return [str(label) for label in labels]

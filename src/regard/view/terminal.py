"""An attention map for the terminal: coloured blocks, or plain characters where there is no colour.

Labels of columns come down in steps, so that words of any length and any script stand above their column.
"""

from collections.abc import Iterator

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.view.colours import shade
from regard.view.trace_maps import Map

PLAIN = "·░▒▓█"  # from no weight to all of it
CELL, LONGEST_LABEL, LEAST_CELLS = 2, 24, 4


def print_map(console: Console, drawn: Map) -> None:
    """Print the map; one too wide for the terminal is printed in parts, one below the other."""
    console.print(Text(drawable(drawn.title), style="bold"), soft_wrap=True)
    console.print(Text(drawable(drawn.subtitle), style="dim"), soft_wrap=True)
    is_coloured = has_colours(console)
    for start, end in _parts(console.width, drawn):
        console.print()
        for line in _lines(drawn, start, end, is_coloured=is_coloured):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)


def has_colours(console: Console) -> bool:
    """Whether shades can be shown; else characters stand for them."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def drawable(text: str) -> str:
    """Text that cannot move the cursor or change the colours: what is not printable is shown as �."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _parts(width: int, drawn: Map) -> Iterator[tuple[int, int]]:
    """Which columns stand side by side: as many as fit beside the labels, and at least a few."""
    taken = _width(drawn.rows) + 1 + len(" 0.00 ") + _width(drawn.columns)
    count = max(LEAST_CELLS, (width - taken) // CELL)
    for start in range(0, max(1, len(drawn.columns)), count):
        yield start, min(start + count, len(drawn.columns))


def _lines(drawn: Map, start: int, end: int, *, is_coloured: bool) -> Iterator[Text]:
    margin = " " * (_width(drawn.rows) + 1)
    for column in range(start, end):
        stairs = "│ " * (column - start)
        yield Text(f"{margin}{stairs}{_label(drawn.columns[column])}")
    for row, label in enumerate(drawn.rows):
        line = Text(_right_aligned(_label(label), _width(drawn.rows)) + " ")
        for column in range(start, end):
            line.append_text(block(float(drawn.weights[row, column]) / drawn.most, is_coloured=is_coloured))
        yield line.append_text(Text(f" {_strongest(drawn, row)}", style="dim"))


def block(share: float, *, is_coloured: bool) -> Text:
    """A cell, as light as its share of the largest weight."""
    if is_coloured:
        red, green, blue = shade(share, "dark")
        return Text(" " * CELL, style=Style(bgcolor=f"rgb({red},{green},{blue})"))
    level = round(min(1.0, max(0.0, share)) * (len(PLAIN) - 1))
    return Text(PLAIN[level] * CELL)


def _strongest(drawn: Map, row: int) -> str:
    """What the row looks at most, in words: a map that can be heard."""
    if not drawn.columns:
        return ""
    column = int(np.argmax(drawn.weights[row]))
    return f"{float(drawn.weights[row, column]):.2f} {_label(drawn.columns[column])}"


def _label(label: str) -> str:
    plain = drawable(label)
    return plain if cell_len(plain) <= LONGEST_LABEL else f"{set_cell_size(plain, LONGEST_LABEL - 1).rstrip()}…"


def _width(labels: list[str]) -> int:
    return max((cell_len(_label(label)) for label in labels), default=0)


def _right_aligned(label: str, width: int) -> str:
    return " " * (width - cell_len(label)) + label

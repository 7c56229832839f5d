"""Attention maps and image maps in the terminal: coloured blocks, or plain characters without colour.

Column labels are arranged as stairs, so that words of any length and script are above their column.
"""

from collections.abc import Iterator

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.plotting.attention_map import AttentionMap
from regard.plotting.image_map import ImageMaps
from regard.plotting.weight_colors import color_of

SHADE_CHARACTERS = "·░▒▓█"  # from no weight to the largest
CELL_WIDTH, MAX_LABEL_WIDTH, MIN_COLUMNS = 2, 24, 4
GRID_GAP = 3  # columns between image maps


def print_map(console: Console, attention_map: AttentionMap) -> None:
    """Print the map; a map that is too wide for the terminal is printed in parts, one below the other."""
    console.print(Text(printable_text(attention_map.title), style="bold"), soft_wrap=True)
    console.print(Text(printable_text(attention_map.subtitle), style="dim"), soft_wrap=True)
    labels, is_colored = _label_cells(attention_map.rows), has_colors(console)
    taken = labels + 1 + len(" 0.00 ") + _label_cells(attention_map.columns)
    count = max(MIN_COLUMNS, (console.width - taken) // CELL_WIDTH)
    for start in range(0, max(1, len(attention_map.columns)), count):
        console.print()
        for line in _map_lines(attention_map, range(len(attention_map.columns))[start : start + count], is_colored):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)


def has_colors(console: Console) -> bool:
    """Whether the terminal has colours; without them characters show the weights."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def printable_text(text: str) -> str:
    """Text that cannot move the cursor or change the colours: unprintable characters are shown as �."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _map_lines(attention_map: AttentionMap, columns: range, is_colored: bool) -> Iterator[Text]:
    """Some columns of a map; each row ends with its largest weight and the column of it, for screen readers."""
    margin = _label_cells(attention_map.rows)
    labels = [_shorten_to_cells(label) for label in attention_map.columns]
    for column in columns:
        stairs = "│ " * (column - columns.start)
        yield Text(f"{' ' * margin} {stairs}{labels[column]}")
    for label, weights in zip(map(_shorten_to_cells, attention_map.rows), attention_map.weights, strict=True):
        line = Text(f"{' ' * (margin - cell_len(label))}{label} ")
        for column in columns:
            line.append_text(shaded_cell(float(weights[column]) / attention_map.max_weight, is_colored=is_colored))
        top = int(np.argmax(weights)) if labels else 0
        yield line.append_text(Text(f" {float(weights[top]):.2f} {labels[top]}" if labels else " ", style="dim"))


def shaded_cell(brightness: float, *, is_colored: bool) -> Text:
    """A cell with a brightness from 0 to 1."""
    if is_colored:
        red, green, blue = color_of(brightness, "dark")
        return Text(" " * CELL_WIDTH, style=Style(bgcolor=f"rgb({red},{green},{blue})"))
    level = round(min(1.0, max(0.0, brightness)) * (len(SHADE_CHARACTERS) - 1))
    return Text(SHADE_CHARACTERS[level] * CELL_WIDTH)


def _shorten_to_cells(label: str) -> str:
    plain = printable_text(label)
    return plain if cell_len(plain) <= MAX_LABEL_WIDTH else f"{set_cell_size(plain, MAX_LABEL_WIDTH - 1).rstrip()}…"


def _label_cells(labels: list[str]) -> int:
    return max((cell_len(_shorten_to_cells(label)) for label in labels), default=0)


def print_image_maps(console: Console, image_maps: ImageMaps) -> None:
    """Print the caption, then each word with its grid; the brightest cell has the word's largest weight."""
    console.print(Text(printable_text(image_maps.title), style="bold"), soft_wrap=True)
    width = CELL_WIDTH * image_maps.maps.shape[2]
    side_by_side = max(1, (console.width + GRID_GAP) // (width + GRID_GAP))
    for start in range(0, len(image_maps.words), side_by_side):
        console.print()
        shown = range(len(image_maps.words))[start : start + side_by_side]
        for line in _image_map_lines(image_maps, shown, has_colors(console)):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _image_map_lines(image_maps: ImageMaps, words: range, is_colored: bool) -> Iterator[Text]:
    rows, columns = image_maps.maps.shape[1:]
    gap, width = Text(" " * GRID_GAP), CELL_WIDTH * columns
    lights = [image_maps.brightness(word) for word in words]
    yield gap.join(Text(_fit_cell(image_maps.words[word], width)) for word in words)
    for row in range(rows):
        blocks = [
            [shaded_cell(float(light[row, column]), is_colored=is_colored) for column in range(columns)]
            for light in lights
        ]
        yield gap.join(Text.assemble(*own) for own in blocks)
    yield gap.join(Text(_fit_cell(f"{image_maps.max_weight(word):.2f}", width), style="dim") for word in words)


def _fit_cell(text: str, width: int) -> str:
    plain = printable_text(text)
    return set_cell_size(plain if cell_len(plain) <= width else f"{set_cell_size(plain, width - 1).rstrip()}…", width)

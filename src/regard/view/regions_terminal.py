"""Where a model looked in a picture, for the terminal: each word with its grid, as many side by side as fit."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.view.regions_plan import Regions
from regard.view.terminal import CELL, block, drawable, has_colours

GAP = 3  # columns between grids


def print_regions(console: Console, regions: Regions) -> None:
    """Print the caption, then the words with their grids; the brightest cell of each is its largest weight."""
    console.print(Text(drawable(regions.title), style="bold"), soft_wrap=True)
    width = CELL * regions.maps.shape[2]
    side_by_side = max(1, (console.width + GAP) // (width + GAP))
    for start in range(0, len(regions.words), side_by_side):
        console.print()
        for line in _lines(regions, range(start, min(start + side_by_side, len(regions.words))), has_colours(console)):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _lines(regions: Regions, words: Sequence[int], is_coloured: bool) -> Iterator[Text]:
    rows, columns = regions.maps.shape[1:]
    gap, width = Text(" " * GAP), CELL * columns
    lights = [regions.light(word) for word in words]
    yield gap.join(Text(_fitted(regions.words[word], width)) for word in words)
    for row in range(rows):
        blocks = [
            [block(float(light[row, column]), is_coloured=is_coloured) for column in range(columns)] for light in lights
        ]
        yield gap.join(Text.assemble(*own) for own in blocks)
    yield gap.join(Text(_fitted(f"{regions.peak(word):.2f}", width), style="dim") for word in words)


def _fitted(text: str, width: int) -> str:
    plain = drawable(text)
    return set_cell_size(plain if cell_len(plain) <= width else f"{set_cell_size(plain, width - 1).rstrip()}…", width)

"""`regard.view.draw`: weights of any model at all, with labels, drawn for a notebook or into a file."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.view.files import boxes_told, kind_of, write_file
from regard.view.map_sheet import draw_sheet, paint_sheet
from regard.view.trace_maps import Map, darkest_of


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """One map, or one for each head; standing last in a cell of a notebook, it is shown."""

    maps: list[Map]

    def __repr__(self) -> str:
        first = self.maps[0]
        return f"Drawing({first.title!r}, {len(self.maps)} map(s) of {len(first.rows)} by {len(first.columns)})"

    def _repr_svg_(self) -> str:
        return draw_sheet(self.maps)

    def save(self, out: Path | str) -> Path:
        """Write it to an .svg, .png or .html file; the page works offline."""
        path = Path(out)
        kind = kind_of(path)
        contents = {".svg": self._svg, ".png": self._png, ".html": self._page}
        write_file(path, contents[kind]())
        return path

    def _svg(self) -> bytes:
        return draw_sheet(self.maps).encode()

    def _png(self) -> bytes:
        first = self.maps[0]
        if told := boxes_told([first.title, *first.rows, *first.columns]):
            warnings.warn(told, stacklevel=3)
        return paint_sheet(self.maps)

    def _page(self) -> bytes:
        """A page of the drawing alone: nothing in it runs, or can be fetched."""
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


def draw(
    weights: Any,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    out: Path | str | None = None,
) -> Drawing:
    """Attention weights of any model, (queries, keys) or (heads, queries, keys), with a label for each row and column.

    `weights` may be an array, a tensor, or nested lists. Without `columns`, a text looks at itself: they are the rows.
    """
    heads = _heads_of(weights)
    labels = _labels("rows", rows), _labels("columns", rows if columns is None else columns)
    _check_lengths(heads, *labels)
    names = [f"head {number}" for number in range(1, len(heads) + 1)] if len(heads) > 1 else [""]
    alike = darkest_of(heads)  # so that heads can be compared
    drawing = Drawing([Map(title, name, *labels, one, darkest=alike) for name, one in zip(names, heads, strict=True)])
    if out is not None:
        drawing.save(out)
    return drawing


def _heads_of(weights: Any) -> NDArray[np.float64]:
    """The weights as (heads, queries, keys), checked."""
    array = _array(weights)
    if array.ndim not in (2, 3) or not array.size:
        hint = " Of a batch, give one text's: weights[0]." if array.ndim == 4 else ""
        raise RegardError(
            f"the weights have the shape {array.shape}; give (queries, keys), or (heads, queries, keys), none of "
            f"them 0.{hint}"
        )
    if not np.isfinite(array).all() or array.min() < 0:
        raise RegardError(
            "the weights hold numbers below 0, or ones that are not finite; give weights of 0 or more, as they are "
            "after the softmax."
        )
    return array if array.ndim == 3 else array[None]


def _array(weights: Any) -> NDArray[np.float64]:
    if hasattr(weights, "detach"):  # a tensor, on any device and of any type
        weights = weights.detach().cpu().double().numpy()
    try:
        return np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise RegardError(
            f"the weights are {type(weights).__name__}, and no table of numbers: give an array, a tensor, or lists "
            "of numbers that are all of one length."
        ) from None


def _labels(name: str, given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        raise RegardError(f"{name} is one text, {given!r}; give a list with a label for each of them.")
    return [str(label) for label in given]


def _check_lengths(heads: NDArray[np.float64], rows: list[str], columns: list[str]) -> None:
    _, queries, keys = heads.shape
    if (queries, keys) != (len(rows), len(columns)):
        raise RegardError(
            f"each map is {queries} by {keys} (queries by keys), and there are {len(rows)} row labels and "
            f"{len(columns)} column labels. Give {queries} rows and {keys} columns."
        )

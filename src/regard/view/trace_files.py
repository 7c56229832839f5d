"""A trace as the content of a file: a map as SVG or PNG, a picture's panels, or a page with everything in it."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.captioning.tracing import word_maps
from regard.errors import RegardError
from regard.translation.trace import Trace
from regard.view.caption_record import Described
from regard.view.files import boxes_told
from regard.view.maps import draw_map
from regard.view.page_data import page_data
from regard.view.page_file import html_file
from regard.view.picture_page import picture_page_data
from regard.view.regions import sheet_of
from regard.view.regions_plan import Rectangle, Regions
from regard.view.trace_maps import Choice, Map, check_choice

Warn = Callable[[str], object]


def refuse_blind(trace: Trace) -> None:
    """Refuse a trace in which nothing looks at anything."""
    if trace.layers:
        return
    if trace.is_of_picture:
        raise RegardError(
            "this model has no attention to show: without it, a captioner sees its picture as one vector. "
            "Give a model of kind captioner-attention or captioner-transformer."
        )
    raise RegardError(
        "this model has no attention to show: a fixed-context RNN sees its source as one vector. "
        "Give a model of kind rnn-attention or transformer."
    )


def trace_page(trace: Trace, *, name: str, languages: tuple[str, str] = ("", "")) -> bytes:
    """One HTML file with every layer, head and number of a trace."""
    data = (
        picture_page_data([Described.of(trace)], name=name, language=languages[1])
        if trace.is_of_picture
        else page_data(trace, name=name, languages=languages)
    )
    title = trace.text if trace.is_of_picture or not trace.source.pieces else " ".join(trace.source.spelled[:-1])
    return html_file(data, title=f"{title} · regard").encode()


def map_file(drawn: Map, kind: str, warn: Warn) -> bytes:
    """A map as the content of an .svg or .png file."""
    if kind == ".svg":
        return draw_map(drawn).encode()
    from regard.view.painting import paint_map

    _warn_of_boxes([drawn.title, *drawn.rows, *drawn.columns], warn)
    return paint_map(drawn)


def regions_file(regions: Sequence[Regions], kind: str, warn: Warn) -> bytes:
    """Pictures in panels as the content of an .svg or .png file."""
    if kind == ".png":
        _warn_of_boxes([one.title for one in regions], warn)
    return sheet_of(regions, kind)


def regions_of(
    trace: Trace, choice: Choice, picture: NDArray[np.uint8], boxes: Sequence[Sequence[Rectangle]] = ()
) -> Regions:
    """A panel for each word of the caption, over the picture at any size."""
    check_choice(trace, choice)
    maps = word_maps(trace, choice.layer, choice.head)
    words = [word for word, _ in maps]
    return Regions.of(picture, words, [weights for _, weights in maps], title=trace.text, boxes=boxes)


def _warn_of_boxes(texts: Sequence[str], warn: Warn) -> None:
    if told := boxes_told(texts):
        warn(told)

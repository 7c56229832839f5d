"""Save a trace as a file (.svg, .png, .pdf, .html), or show it in a notebook with the page's views."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.inference.traced_caption import TracedCaption
from regard.models.interface import AttentionRole
from regard.plotting.attention_map import AttentionMap, MapSelection, check_selection, draw_map, select_map
from regard.plotting.figure_files import file_suffix, forbid_selection_for_html, svg_file, write_file
from regard.plotting.html_data import Experiment, caption_page_data, trace_page_data, traces_page_data
from regard.plotting.image_map import ImageMaps, Rectangle, render_sheet
from regard.tracing.image_maps import word_image_maps
from regard.tracing.trace import Trace
from regard.web.pages import render_html_file, style_sheet, widget_module


def require_attention(trace: Trace) -> None:
    """Refuse a trace without attention."""
    if trace.layers:
        return
    if trace.is_class:
        raise RegardError(
            "this model has no attention to show. Give a classifier with it, such as one of images with "
            "model.pooling=attention or model.image_encoder.heads=4."
        )
    if trace.is_image:
        raise RegardError(
            "this model has no attention to show: its decoder receives the image as one vector. "
            "Give a model of kind captioner-rnn-attention or captioner-transformer."
        )
    raise RegardError(
        "this model has no attention to show: the decoder of a fixed-context RNN receives the source as one vector. "
        "Give a model of kind rnn-attention or transformer."
    )


def trace_html(
    trace: Trace, *, name: str, languages: tuple[str, str] = ("", ""), experiment: Experiment | None = None
) -> bytes:
    """One HTML file with every layer, head and number of a trace."""
    data = (
        caption_page_data([TracedCaption.from_trace(trace)], name=name, language=languages[1])
        if trace.is_image
        else trace_page_data(trace, name=name, languages=languages, experiment=experiment)
    )
    title = trace.text if trace.is_image or not trace.source.pieces else " ".join(trace.source.words[:-1])
    return render_html_file(data, title=f"{title} · regard").encode()


def traces_html(traces: Sequence[Trace], *, name: str, languages: tuple[str, str] = ("", "")) -> bytes:
    """One HTML file with several sentences, of which the reader chooses one."""
    data = traces_page_data(traces, name=name, languages=languages)
    return render_html_file(data, title=f"{name} · regard").encode()


def render_map(drawn: AttentionMap, kind: str) -> bytes:
    """A map as the content of an .svg, .png or .pdf file."""
    return svg_file(draw_map(drawn), kind)


def render_image_maps(image_maps: Sequence[ImageMaps], kind: str) -> bytes:
    """Images in panels as the content of an .svg, .png or .pdf file."""
    return render_sheet(image_maps, kind)


def trace_image_maps(
    trace: Trace, selection: MapSelection, image: NDArray[np.uint8], boxes: Sequence[Sequence[Rectangle]] = ()
) -> ImageMaps:
    """A panel for each word of the caption, over the image at any size."""
    check_selection(trace, selection)
    maps = word_image_maps(trace, selection.layer, selection.head)
    words = [word for word, _ in maps]
    return ImageMaps.from_arrays(image, words, [weights for _, weights in maps], title=trace.text, boxes=boxes)


class MapOptions(TypedDict, total=False):
    """Which map of a trace is drawn; layers and heads are counted from 0, as everywhere in Python."""

    role: AttentionRole | None  # None: the role of the model's last attention layer
    layer: int | None  # among those of the role; None: their mean
    head: int | None
    at: Literal["output", "input"]
    pieces: bool  # subwords instead of whole words


def save(trace: Trace, out: Path | str, *, name: str = "model", **options: Unpack[MapOptions]) -> Path:
    """Write one map of a trace to an .svg, .png or .pdf file, or all of it to an .html file that works offline.

    `role`, `layer`, `head`, `at` and `pieces` choose the map: layers and heads are counted from 0, and without them
    it is the mean of all. For a captioner there is a panel for each word.
    """
    path = Path(out)
    kind = file_suffix(path)
    require_attention(trace)
    known = list(MapOptions.__annotations__)
    if unknown := [name for name in options if name not in known]:
        raise RegardError(f"save has no option {', '.join(unknown)}; the options are {', '.join(known)}.")
    if options.get("at", "output") not in ("output", "input"):
        raise RegardError(f"at is {options.get('at')!r}; give 'output' or 'input'.")
    selection = _selection(trace, options)
    if kind == ".html":
        if selection != _selection(trace, {}):
            forbid_selection_for_html("role, layer, head, pieces and at='input'")
        content = trace_html(trace, name=name)
    else:
        check_selection(trace, selection, first=0)
        if selection.role != "image-cross":
            content = render_map(select_map(trace, selection), kind)
        elif trace.image is None:
            raise RegardError("this trace was made without its image. Make it with captioner.trace(image, tokens).")
        else:
            content = render_image_maps([trace_image_maps(trace, selection, trace.image)], kind)
    write_file(path, content)
    return path


def _selection(trace: Trace, options: MapOptions) -> MapSelection:
    unit: Literal["words", "pieces"] = "pieces" if options.get("pieces") else "words"
    role = options.get("role") or trace.layers[-1].role
    return MapSelection(role, options.get("layer"), options.get("head"), options.get("at", "output"), unit)


def show(trace: Trace, *, name: str = "model") -> Any:
    """A notebook widget with the whole trace, as the last value of a cell; it works offline."""
    data = (
        caption_page_data([TracedCaption.from_trace(trace)], name=name)
        if trace.is_image
        else trace_page_data(trace, name=name)
    )
    return _widget_class()(data=msgspec.json.encode(data).decode())


@cache
def _widget_class() -> Any:
    """The class is created on first use, because anywidget is an optional dependency."""
    try:
        from anywidget import AnyWidget
        from traitlets import Unicode
    except ImportError:
        raise RegardError(
            "a trace in a notebook needs anywidget, which is not installed. Run pip install 'regard[notebook]'."
        ) from None

    class TraceWidget(AnyWidget):  # type: ignore[misc, unused-ignore]
        """The page's views over one trace."""

        _esm = widget_module()
        _css = style_sheet()
        data = Unicode().tag(sync=True)

    return TraceWidget

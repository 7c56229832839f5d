"""A trace in a notebook: the same views as the page's, in the output of a cell."""

from functools import cache
from typing import Any

import msgspec

from regard.errors import RegardError
from regard.translation.trace import Trace
from regard.view.caption_record import Described
from regard.view.page_data import page_data
from regard.view.page_file import one_module, page_style
from regard.view.picture_page import picture_page_data


def show(trace: Trace, *, name: str = "model") -> Any:
    """A widget with all that the trace holds, to stand last in a cell; it works without a network."""
    data = picture_page_data([Described.of(trace)], name=name) if trace.is_of_picture else page_data(trace, name=name)
    return _widget_class()(data=msgspec.json.encode(data).decode())


@cache
def _widget_class() -> Any:
    """The class is made when it is first asked for, since anywidget is an extra."""
    try:
        from anywidget import AnyWidget
        from traitlets import Unicode
    except ImportError:
        raise RegardError(
            "a trace in a notebook needs the package anywidget, which is not here: pip install 'regard[notebook]'"
        ) from None

    class TraceWidget(AnyWidget):  # type: ignore[misc, unused-ignore]
        """The page's views over one trace."""

        _esm = f"{one_module('widget.js')}\nexport default {{ render }};\n"
        _css = page_style()
        data = Unicode().tag(sync=True)

    return TraceWidget

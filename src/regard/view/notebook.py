"""A trace in a notebook: the same views as the page's, in the output of a cell."""

from functools import cache
from typing import Any

import msgspec

from regard.errors import RegardError
from regard.translation.trace import Trace
from regard.view.page_data import page_data
from regard.view.page_file import one_module, page_style


def show(trace: Trace, *, name: str = "model") -> Any:
    """A widget with all that the trace holds, to stand last in a cell; it works without a network."""
    if any(layer.use.startswith("picture") for layer in trace.layers):
        raise RegardError(
            "this trace is of a picture, which the views of a notebook do not draw. For its maps see "
            "regard.word_maps(trace); for a page, `regard show MODEL PICTURE --out page.html`."
        )
    return _widget_class()(data=msgspec.json.encode(page_data(trace, name=name)).decode())


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

"""Line plots by matplotlib (the extra `plot`): named lines over two axes, as a Figure that the caller may restyle.

Lines differ in colour, dash and marker, so that readers can tell them apart in print and without colour vision; the
colours are those of Okabe and Ito.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ["#0072b2", "#d55e00", "#009e73", "#a3507d", "#8a6100", "#444444"]
DASHES = ["-", "--", ":", "-.", (0, (5, 2)), (0, (1, 5))]
MARKERS = ["o", "s", "^", "D", "P", "v"]
SIZE_INCHES = (8.0, 4.2)
KOREAN_FONTS = ["Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Apple SD Gothic Neo", "Malgun Gothic"]


@dataclass(frozen=True)
class Line:
    """A named line; a point whose value is not finite leaves a gap."""

    name: str
    points: Sequence[tuple[float, float]]


def plot_curves(
    lines: Sequence[Line],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    x_ticks: Sequence[tuple[float, str]] = (),
) -> "Figure":
    """Draw lines over two axes; `x_ticks` are positions with their labels, else matplotlib chooses numbers."""
    if find_spec("matplotlib") is None:
        raise RegardError("line plots need matplotlib. Install it: pip install 'regard[plot]'.")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.family": installed_fonts()}):  # text keeps the fonts it was made with
        figure = Figure(figsize=SIZE_INCHES, layout="constrained")
        axes = figure.add_subplot()
        for number, line in enumerate(lines):
            axes.plot(
                [x for x, _ in line.points],
                [y for _, y in line.points],
                label=line.name,
                color=COLORS[number % len(COLORS)],
                linestyle=DASHES[number % len(DASHES)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=5,
            )
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        if x_ticks:
            axes.set_xticks([position for position, _ in x_ticks], [label for _, label in x_ticks])
        if lines:
            figure.legend(loc="outside right upper", frameon=False)
    return figure


def save_figure(figure: "Figure", out: Path | str) -> Path:
    """Write a figure to an .svg, .png or .pdf file, whole or not at all."""
    path = Path(out)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png", "pdf"):
        raise RegardError(f"{path.name} does not end with .svg, .png or .pdf. Give one of these names.")
    with atomic_file(path) as file:
        file.write(figure_bytes(figure, kind))
    return path


def figure_bytes(figure: "Figure", kind: str = "svg") -> bytes:
    """The content of a file of this kind; equal figures give equal bytes."""
    from matplotlib import rc_context

    content = BytesIO()
    with rc_context({"svg.hashsalt": "regard", "svg.fonttype": "none"}):
        figure.savefig(content, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()


@cache
def installed_fonts() -> list[str]:
    """A font with Hangul first, where this machine has one; matplotlib's own font has no Hangul."""
    from matplotlib.font_manager import get_font_names

    return [*(name for name in KOREAN_FONTS if name in get_font_names()), "DejaVu Sans"]

"""The confusion matrix of a classifier, beside its calibration, by matplotlib (the extra `plot`)."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.classification import CalibrationBin
from regard.plotting.line_plot import COLORS, installed_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_NUMBERED_CLASSES = 20  # with more, the cells are too small for their counts


def plot_confusion(
    matrix: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    calibration: Sequence[CalibrationBin] = (),
    title: str = "",
) -> "Figure":
    """Gold classes as rows, predicted ones as columns, shaded by the share of the row; and accuracy by probability."""
    if find_spec("matplotlib") is None:
        raise RegardError("plots need matplotlib. Install it: pip install 'regard[plot]'.")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    side = min(12.0, 3.5 + 0.3 * len(labels))
    with rc_context({"font.family": installed_fonts()}):
        figure = Figure(figsize=(side + (4.0 if calibration else 0.5), side), layout="constrained")
        widths = [side, 3.5] if calibration else [side]
        [parts] = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)
        _draw_matrix(parts[0], np.asarray(matrix), labels)
        if calibration:
            _draw_calibration(parts[1], calibration)
        figure.suptitle(title)
    return figure


def _draw_matrix(axes: "Axes", counts: NDArray[np.int64], labels: Sequence[str]) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    axes.set(xlabel="predicted class", ylabel="gold class")
    if len(labels) <= MAX_NUMBERED_CLASSES:
        for (row, column), count in np.ndenumerate(counts):
            color = "white" if shares[row, column] > 0.6 else "black"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=color, fontsize=8)


def _draw_calibration(axes: "Axes", bins: Sequence[CalibrationBin]) -> None:
    filled = [one for one in bins if one.count]
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey", label="calibrated")
    points = [one.probability for one in filled], [one.accuracy for one in filled]
    axes.plot(*points, marker="o", markersize=5, color=COLORS[0], label="model")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the predicted class", ylabel="accuracy")
    axes.legend(frameon=False, loc="upper left")
    axes.grid(alpha=0.3)
    axes.set_aspect("equal")

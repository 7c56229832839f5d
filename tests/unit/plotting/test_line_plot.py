"""Line plots are matplotlib figures that hold what was given."""

import math
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.plotting.line_plot import Line, figure_bytes, plot_curves, save_figure

LINES = [Line("RNN", [(1, 10.0), (2, math.nan), (3, 30.0)]), Line("트랜스포머", [(1, 20.0), (3, 40.0)])]


def test_figure_holds_points_and_names() -> None:
    [axes] = plot_curves(LINES, title="BLEU", x_label="step", y_label="score").axes
    assert [line.get_label() for line in axes.lines] == [line.name for line in LINES]
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 2, 3], [1, 3]]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("BLEU", "step", "score")


def test_lines_differ_without_color() -> None:
    [axes] = plot_curves([Line(str(index), [(0, index)]) for index in range(6)]).axes
    assert len({(line.get_linestyle(), line.get_marker()) for line in axes.lines}) == 6


def test_ticks_carry_given_labels() -> None:
    [axes] = plot_curves(LINES, x_ticks=[(1, "short"), (3, "long")]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["short", "long"]


def test_equal_figures_give_equal_files() -> None:
    assert figure_bytes(plot_curves(LINES)) == figure_bytes(plot_curves(LINES))


@pytest.mark.parametrize(("name", "magic"), [("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_name_decides_the_format(tmp_path: Path, name: str, magic: bytes) -> None:
    assert save_figure(plot_curves(LINES), tmp_path / name).read_bytes().startswith(magic)


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"a\.txt does not end with \.svg, \.png or \.pdf"):
        save_figure(plot_curves(LINES), tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.view.plots import BOTTOM, COLOURS, DASHES, LEFT, MARKERS, RIGHT, TOP, Line, Plot, draw, ticks

SVG = "{http://www.w3.org/2000/svg}"
numbers = st.floats(-1e6, 1e6, allow_nan=False)


def parsed(*lines: Line, title: str = "title", x_ticks: list[tuple[float, str]] | None = None) -> ElementTree.Element:
    plot = Plot(title=title, x_label="length", y_label="BLEU", lines=lines, x_ticks=x_ticks or [])
    return ElementTree.fromstring(draw(plot))  # noqa: S314  (our own text)


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def markers(root: ElementTree.Element, index: int) -> list[tuple[float, float]]:
    """Where a line's points are drawn; the last marker of its class is the legend's."""
    found = [node.get("transform", "") for node in root.iter(f"{SVG}path") if node.get("class") == f"mark{index}"]
    places = [re.fullmatch(r"translate\((\S+) (\S+)\)", place) for place in found]
    return [(float(place[1]), float(place[2])) for place in places if place][:-1]


def test_title_axes_and_names_can_be_read() -> None:
    root = parsed(
        Line("first", [(0, 1), (1, 30)]), Line("second", [(0, 2)]), x_ticks=[(0, "1–10\n7 lines"), (1, "11–20")]
    )
    assert {"title", "length", "BLEU", "first", "second", "1–10", "7 lines", "11–20", "0", "30"} <= set(texts(root))
    assert root.get("role") == "img"


@given(points=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_every_point_is_inside_the_frame_and_higher_values_are_higher(points: list[tuple[float, float]]) -> None:
    places = markers(parsed(Line("line", points)), 0)
    assert len(places) == len(points)
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in places)
    by_value = sorted(zip((y for _, y in points), (y for _, y in places), strict=True))
    assert [place for _, place in by_value] == sorted((place for _, place in by_value), reverse=True)


@pytest.mark.parametrize("gap", [math.nan, math.inf])
def test_a_value_that_is_no_number_leaves_a_gap(gap: float) -> None:
    root = parsed(Line("line", [(0, 1), (1, gap), (2, 1), (3, 2)]))
    (path,) = [node.get("d", "") for node in root.iter(f"{SVG}path") if node.get("class") == "line0"][:1]
    assert (path.count("M"), path.count("L")) == (2, 1)
    assert len(markers(root, 0)) == 3


def test_lines_differ_in_colour_dash_and_marker() -> None:
    assert len({light for light, _ in COLOURS}) == len({dark for _, dark in COLOURS}) == len(COLOURS)
    assert len(set(DASHES)) == len(DASHES) == len(set(MARKERS)) == len(MARKERS) == len(COLOURS)
    drawn = draw(Plot(title="", x_label="", y_label="", lines=[Line(str(i), [(0, i)]) for i in range(6)]))
    assert all(text in drawn for text in [*DASHES, *MARKERS, *(light for light, _ in COLOURS)])


@pytest.mark.parametrize("index", range(len(COLOURS)))
def test_lines_stand_out_from_a_light_and_from_a_dark_ground(index: int) -> None:
    light, dark = COLOURS[index]
    assert contrast(light, "#ffffff") >= 3
    assert contrast(dark, "#16181c") >= 3


def contrast(one: str, other: str) -> float:
    """The ratio that the Web Content Accessibility Guidelines ask to be at least 3 for drawings."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@given(name=st.text(max_size=20))
def test_any_text_is_drawn_as_text(name: str) -> None:
    root = parsed(Line(f"<script>&{name}", [(0, 0)]), title=f'"{name}</svg>')
    assert not [node for node in root.iter() if "script" in node.tag]
    assert any("<script>&" in text for text in texts(root))


def test_a_long_name_is_cut_in_the_legend_and_whole_in_the_hint() -> None:
    name = "a-model-with-a-name-that-would-leave-the-drawing"
    root = parsed(Line(name, [(0, 1)]))
    assert any(text.endswith("…") and name.startswith(text[:-1]) for text in texts(root))
    assert any(node.text == name for node in root.iter(f"{SVG}title"))


def test_a_plot_of_nothing_is_still_a_drawing() -> None:
    assert texts(parsed())
    assert markers(parsed(Line("none", [])), 0) == []


@given(low=numbers, size=st.floats(1e-3, 1e6))
def test_ticks_are_few_and_hold_the_values_between_them(low: float, size: float) -> None:
    found = ticks(low, low + size)
    assert 2 <= len(found) <= 6
    assert found == sorted(set(found))
    rounding = 1e-9 * (size + abs(low))
    assert found[0] <= low + rounding
    assert found[-1] >= low + size - rounding


def test_ticks_are_round_numbers() -> None:
    assert ticks(0, 100) == [0, 20, 40, 60, 80, 100]
    assert ticks(0, 0.37) == [0, 0.1, 0.2, 0.3, 0.4]
    assert ticks(3, 3) == ticks(3, 4)

"""Peaks and masses on grids small enough to work out by hand; every axis another prime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.metrics.pointing_game import box_coverage, peak_in_box, pointing_game

ROWS, COLUMNS = 5, 7
shares = st.floats(0, 1, allow_nan=False)


def peaked(row: int, column: int, rest: float = 0.0) -> np.ndarray:
    grid = np.full((ROWS, COLUMNS), rest)
    grid[row, column] = 1.0
    return grid


def test_only_peak_centred_in_the_box_hits() -> None:
    box = (2 / 7, 1 / 5, 4 / 7, 2 / 5)  # columns 2 and 3 of row 1, whole cells
    hits = {
        (row, column) for row in range(ROWS) for column in range(COLUMNS) if peak_in_box(peaked(row, column), [box])
    }
    assert hits == {(1, 2), (1, 3)}


def test_cell_that_only_touches_the_box_misses() -> None:
    box = (2.6 / 7, 1 / 5, 4 / 7, 2 / 5)  # holds less than half of column 2
    assert not peak_in_box(peaked(1, 2), [box])
    assert peak_in_box(peaked(1, 3), [box])


def test_small_box_is_hit_by_its_surrounding_cell() -> None:
    box = (2.7 / 7, 1.1 / 5, 2.9 / 7, 1.3 / 5)
    assert peak_in_box(peaked(1, 2), [box])
    assert not peak_in_box(peaked(1, 3), [box])


def test_any_of_several_boxes_may_be_hit() -> None:
    boxes = [(0.0, 0.0, 1 / 7, 1 / 5), (6 / 7, 4 / 5, 1.0, 1.0)]
    assert peak_in_box(peaked(0, 0), boxes)
    assert peak_in_box(peaked(4, 6), boxes)
    assert not peak_in_box(peaked(4, 0), boxes)


def test_mass_is_shared_by_area() -> None:
    """The box covers half of the width and a quarter of the height of cell (1, 2)."""
    box = (2.5 / 7, 1.0 / 5, 3 / 7, 1.25 / 5)
    found = pointing_game([peaked(1, 2)], [[box]])
    assert found.mass == pytest.approx(1 / 8)
    assert found.chance == pytest.approx(1 / 8 / 35)


def test_words_without_a_box_do_not_count() -> None:
    box = [(0.0, 0.0, 1 / 7, 1 / 5)]
    found = pointing_game([peaked(0, 0), peaked(2, 2), peaked(2, 2)], [box, [], box])
    assert (found.words, found.peak, found.mass) == (2, 0.5, 0.5)


def test_weights_need_not_sum_to_one() -> None:
    box = [(0.0, 0.0, 1.0, 1 / 5)]
    one, other = (pointing_game([scale * peaked(0, 3, rest=0.1)], [box]) for scale in (1.0, 0.03))
    assert one.mass == pytest.approx(other.mass)


@given(shares, shares, shares, shares)
def test_uniform_attention_has_mass_of_box_area(left: float, top: float, right: float, bottom: float) -> None:
    box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
    area = (box[2] - box[0]) * (box[3] - box[1])
    assert box_coverage((ROWS, COLUMNS), [box]).sum() / (ROWS * COLUMNS) == pytest.approx(area, abs=1e-9)
    found = pointing_game([np.ones((ROWS, COLUMNS))], [[box]])
    assert found.mass == pytest.approx(found.chance, abs=1e-9)


@given(shares, shares, st.floats(0.2, 0.5), st.floats(0.2, 0.5))
def test_every_box_can_be_hit(left: float, top: float, width: float, height: float) -> None:
    box = (left, top, left + width / 10, top + height / 10)
    assert any(peak_in_box(peaked(row, column), [box]) for row in range(ROWS) for column in range(COLUMNS))


def test_overlapping_boxes_cover_a_cell_once() -> None:
    box = (0.0, 0.0, 1.0, 1.0)
    assert box_coverage((2, 3), [box, box]).max() == 1.0


@pytest.mark.parametrize(
    "grid", [np.zeros((2, 2)), np.ones(4), -np.ones((2, 2)), np.full((2, 2), np.nan), np.ones((0, 2))]
)
def test_a_map_that_is_none_is_refused(grid: np.ndarray) -> None:
    with pytest.raises(RegardError, match="shape"):
        pointing_game([grid], [[(0, 0, 1, 1)]])


def test_unequal_counts_or_no_box_are_refused() -> None:
    with pytest.raises(RegardError, match="1 maps and boxes of 2"):
        pointing_game([peaked(0, 0)], [[], []])
    with pytest.raises(RegardError, match="no word has a box"):
        pointing_game([peaked(0, 0)], [[]])

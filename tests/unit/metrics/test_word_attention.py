import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.metrics.alignment import links_from_attention, pieces_to_words


def test_source_pieces_are_summed_and_target_pieces_averaged():
    weights = [
        [0.1, 0.2, 0.7],
        [0.5, 0.3, 0.2],
        [0.0, 1.0, 0.0],
    ]
    merged = pieces_to_words(weights, source_words=[[0, 1], [2]], target_words=[[0, 1], [2]])
    np.testing.assert_allclose(merged, [[0.55, 0.45], [1.0, 0.0]])


@given(st.data())
def test_rows_that_sum_to_one_still_do(data):
    target_pieces, source_pieces = 5, 7
    raw = data.draw(st.lists(st.floats(0.01, 1), min_size=35, max_size=35))
    weights = np.array(raw).reshape(target_pieces, source_pieces)
    weights /= weights.sum(axis=1, keepdims=True)
    merged = pieces_to_words(weights, [[0, 1, 2], [3], [4, 5, 6]], [[0], [1, 2, 3, 4]])
    assert merged.shape == (2, 3)
    np.testing.assert_allclose(merged.sum(axis=1), 1)


def test_words_of_one_piece_change_nothing():
    weights = np.arange(6).reshape(2, 3) / 6
    np.testing.assert_array_equal(pieces_to_words(weights, [[0], [1], [2]], [[0], [1]]), weights)


def test_pieces_of_no_word_are_dropped():
    weights = [[0.4, 0.5, 0.1], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(pieces_to_words(weights, [[0], [1]], [[0]]), [[0.4, 0.5]])


def test_no_words_give_no_weights():
    assert pieces_to_words([[0.5, 0.5]], [[0], [1]], []).shape == (0, 2)
    assert pieces_to_words([[0.5, 0.5]], [], [[0]]).shape == (1, 0)


@pytest.mark.parametrize("word", [[], [3], [-1], [0, 9]])
def test_word_of_missing_pieces_is_refused(word):
    with pytest.raises(RegardError, match="source word 2"):
        pieces_to_words([[0.2, 0.3, 0.5]], [[0], word], [[0]])
    with pytest.raises(RegardError, match="target word 1"):
        pieces_to_words([[0.2], [0.3], [0.5]], [[0]], [word])


def test_each_target_word_links_to_its_maximum():
    weights = [[0.1, 0.9], [0.7, 0.3], [0.5, 0.5], [0.6, 0.31]]
    assert links_from_attention(weights) == {(1, 0), (0, 1), (0, 2), (1, 2), (0, 3), (1, 3)}


def test_word_without_attention_has_no_link():
    assert links_from_attention([[0.0, 0.0], [0.0, 1.0]]) == {(1, 1)}
    assert links_from_attention(np.zeros((2, 0))) == frozenset()


@pytest.mark.parametrize("weights", [[0.5, 0.5], [[[1.0]]], 1.0, [[float("nan"), 1.0]], [[float("inf")]]])
def test_weights_of_wrong_shape_or_nonfinite_are_refused(weights):
    with pytest.raises(RegardError, match="the weights"):
        links_from_attention(weights)

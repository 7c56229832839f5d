"""Perplexity and its kin, by hand."""

import math

import pytest

from regard.metrics.text import TokenLikelihoods, perplexity_scores


def test_figures_of_two_texts_by_hand() -> None:
    known = [TokenLikelihoods(-2.0, 3, 2), TokenLikelihoods(-4.0, 5, 1)]  # END is one of the tokens
    scores = {one.name: one for one in perplexity_scores(known, ["가나 다", "라  마 바사"], is_pseudo=False)}
    assert scores["perplexity per token"].value == pytest.approx(math.exp(6 / 8))
    assert scores["perplexity per word"].value == pytest.approx(math.exp(6 / (3 + 4)))
    assert scores["bits per character"].value == pytest.approx(6 / math.log(2) / (5 + 7))
    assert scores["token accuracy (%)"].value == pytest.approx(100 * 3 / 8)
    for one in scores.values():
        assert one.low <= one.value <= one.high
    assert scores["perplexity per token"].low == pytest.approx(math.exp(2 / 3))  # the first text, drawn twice


def test_pseudo_perplexity_counts_no_end_and_is_named() -> None:
    scores = perplexity_scores([TokenLikelihoods(-3.0, 2, 0)], ["가 나"], is_pseudo=True, resamples=5)
    assert scores[0].name == "pseudo-perplexity per token"
    assert scores[1].value == pytest.approx(math.exp(3 / 2))
    assert scores[2].value == pytest.approx(3 / math.log(2) / 3)


def test_uniform_model_has_perplexity_of_vocabulary_size() -> None:
    known = [TokenLikelihoods(-math.log(50) * tokens, tokens, 0) for tokens in (1, 7, 30)]
    assert perplexity_scores(known, ["a"] * 3, is_pseudo=False)[0].value == pytest.approx(50)

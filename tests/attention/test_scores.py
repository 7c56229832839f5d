import pytest
import torch
from torch.testing import assert_close

from regard.attention.scores import AdditiveScore, dot, make_score, scaled_dot

NAMES = ("dot", "scaled_dot", "general", "additive")


@pytest.mark.parametrize("name", NAMES)
def test_a_score_of_one_pair_does_not_depend_on_the_others(name: str) -> None:
    torch.manual_seed(0)
    score = make_score(name, 5, 5)
    query, key = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    scores = score(query, score.prepare(key))
    assert scores.shape == (2, 3, 7)
    for q in range(3):
        for k in range(7):
            alone = score(query[:, q : q + 1], score.prepare(key[:, k : k + 1]))
            assert_close(scores[:, q, k], alone[:, 0, 0])


@pytest.mark.parametrize("name", ["general", "additive"])
def test_general_and_additive_scores_join_unequal_widths(name: str) -> None:
    score = make_score(name, 5, 11)
    assert score(torch.randn(2, 3, 5), score.prepare(torch.randn(2, 7, 11))).shape == (2, 3, 7)


@pytest.mark.parametrize("width", [1, 64, 1024])
def test_a_scaled_score_has_variance_one_whatever_the_width(width: int) -> None:
    torch.manual_seed(width)
    query, key = torch.randn(300, width), torch.randn(300, width)
    assert scaled_dot(query, key).var().item() == pytest.approx(1.0, rel=0.15)
    assert dot(query, key).var().item() == pytest.approx(width, rel=0.15)


def test_an_additive_score_is_bounded_by_its_vector() -> None:
    torch.manual_seed(0)
    score = AdditiveScore(5, 4)
    scores = score(100 * torch.randn(2, 3, 5), score.prepare(100 * torch.randn(2, 7, 4)))
    assert scores.abs().max() <= score.vector.abs().sum() + 1e-6


def test_an_unknown_score_is_named_along_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'cosine'.*dot, scaled_dot, general and additive"):
        make_score("cosine", 2, 2)

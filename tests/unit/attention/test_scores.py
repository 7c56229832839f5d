import pytest
import torch
from torch.testing import assert_close

from regard.attention.scores import SCORES, AdditiveScore, dot, make_score, scaled_dot


@pytest.mark.parametrize("name", SCORES)
def test_score_of_one_pair_ignores_the_others(name: str) -> None:
    torch.manual_seed(0)
    score = make_score(name, 5, 5)
    query, key = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    scores = score(query, score.project_keys(key))
    assert scores.shape == (2, 3, 7)
    for q in range(3):
        for k in range(7):
            alone = score(query[:, q : q + 1], score.project_keys(key[:, k : k + 1]))
            assert_close(scores[:, q, k], alone[:, 0, 0])


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if not score.needs_equal_widths])
def test_other_scores_take_unequal_widths(name: str) -> None:
    score = make_score(name, 5, 11)
    assert score(torch.randn(2, 3, 5), score.project_keys(torch.randn(2, 7, 11))).shape == (2, 3, 7)


@pytest.mark.parametrize("width", [1, 64, 1024])
def test_scaled_score_has_variance_one_at_any_width(width: int) -> None:
    torch.manual_seed(width)
    query, key = torch.randn(300, width), torch.randn(300, width)
    assert scaled_dot(query, key).var().item() == pytest.approx(1.0, rel=0.15)
    assert dot(query, key).var().item() == pytest.approx(width, rel=0.15)


def test_an_additive_score_is_bounded_by_its_vector() -> None:
    torch.manual_seed(0)
    score = AdditiveScore(5, 4)
    scores = score(100 * torch.randn(2, 3, 5), score.project_keys(100 * torch.randn(2, 7, 4)))
    assert scores.abs().max() <= score.vector.abs().sum() + 1e-6


def test_unknown_score_is_an_error_with_choices() -> None:
    with pytest.raises(ValueError, match=rf"'missing'.*{', '.join(SCORES)}"):
        make_score("missing", 2, 2)

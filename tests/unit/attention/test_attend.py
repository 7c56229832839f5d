import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from regard.attention.attend import all_finite, attend, softmax_over_visible, weighted_sum

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 3, 5, 7, 11
seeds = st.integers(0, 10_000)


def drawn(seed: int, share: float = 0.4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(BATCH, HEADS, QUERIES, KEYS, generator=generator) * 5
    value = torch.randn(BATCH, HEADS, KEYS, WIDTH, generator=generator)
    return scores, value, torch.rand(scores.shape, generator=generator) < share


@given(seeds)
def test_visible_weights_are_positive_and_sum_to_one(seed: int) -> None:
    scores, value, visible = drawn(seed)
    _, weights = attend(scores, value, visible)
    assert (weights[visible] > 0).all()
    assert (weights[~visible] == 0).all()
    assert_close(weights.sum(dim=-1), visible.any(dim=-1).float())


@given(seeds, st.sampled_from([math.nan, math.inf, -math.inf]))
def test_hidden_nan_changes_nothing(seed: int, poison: float) -> None:
    scores, value, visible = drawn(seed)
    visible[:, :, :, 3] = False
    expected = attend(scores, value, visible)
    scores[:, :, :, 3], value[:, :, 3] = poison, poison
    found = attend(scores, value, visible)
    assert torch.equal(found.weights, expected.weights)
    assert_close(found.context, expected.context)


@given(seeds)
def test_visible_nan_value_reaches_exactly_its_contexts(seed: int) -> None:
    scores, value, visible = drawn(seed)
    value[1, 2, 4, 6] = math.nan
    context, _ = attend(scores, value, visible)
    sees_it = torch.zeros(BATCH, HEADS, QUERIES, dtype=torch.bool)
    sees_it[1, 2] = visible[1, 2, :, 4]
    assert torch.equal(context.isnan().any(dim=-1), sees_it)


@given(seeds)
def test_keys_and_values_permuted_together_change_nothing(seed: int) -> None:
    scores, value, visible = drawn(seed)
    order = torch.randperm(KEYS, generator=torch.Generator().manual_seed(seed))
    found = attend(scores[..., order], value[:, :, order], visible[..., order])
    assert_close(found.context, attend(scores, value, visible).context)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_extreme_scores_give_finite_weights(dtype: torch.dtype) -> None:
    most = torch.finfo(dtype).max
    scores = torch.tensor([[most, -most, 0.0], [-most, -most, -most]], dtype=dtype)
    visible = torch.tensor([[True, True, False], [False, True, True]])
    assert softmax_over_visible(scores, visible).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]


def test_row_without_visible_keys_has_zero_gradient() -> None:
    scores, value, visible = drawn(0)
    visible[1, 2, 3] = False
    scores.requires_grad_()
    context, weights = attend(scores, value, visible)
    assert not context[1, 2, 3].any()
    assert not weights[1, 2, 3].any()
    (context**2).sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert not scores.grad[~visible].any()
    assert scores.grad[visible].any()


def test_dropout_changes_context_but_not_recorded_weights() -> None:
    torch.manual_seed(0)
    scores, _, _ = drawn(0)
    value = torch.eye(KEYS).expand(BATCH, HEADS, KEYS, KEYS)  # the context is then the weights that were used
    context, weights = attend(scores, value, dropout=0.5)
    assert torch.equal(weights, attend(scores, value).weights)
    is_kept = context != 0
    assert 0.3 < is_kept.float().mean() < 0.7
    assert_close(context[is_kept], 2 * weights[is_kept])


def test_sum_with_infinity_is_right_elsewhere() -> None:
    value = torch.tensor([[1.0, 2.0], [math.inf, 0.0], [3.0, 4.0]])
    weights = torch.tensor([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    assert_close(weighted_sum(weights, value), torch.tensor([[2.0, 3.0], [math.nan, math.nan]]), equal_nan=True)


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_single_nonfinite_number_is_detected(poison: float) -> None:
    clean, foul = torch.ones(2, 3), torch.ones(2, 3)
    foul[1, 2] = poison
    assert all_finite(clean, clean)
    assert not all_finite(clean, foul)
    assert not all_finite(torch.tensor([math.inf, -math.inf]))


def test_overflowing_sum_takes_slow_path_with_same_result() -> None:
    value = torch.full((3, 2), torch.finfo(torch.float32).max / 2)
    assert not all_finite(value)
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]])
    assert torch.equal(weighted_sum(weights, value), weights @ value)

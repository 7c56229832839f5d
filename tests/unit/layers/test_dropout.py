"""Dropout by bytes has the law of dropout: the right share, mean and gradient, and nothing outside training."""

import pytest
import torch

from regard.cpu_speedups import Dropout


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_share_of_zeros_and_mean_are_as_requested(share: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(share)(torch.ones(1000, 1003))
    assert (dropped == 0).double().mean().item() == pytest.approx(share, abs=0.004)
    assert dropped.double().mean().item() == pytest.approx(1.0, abs=0.01)
    assert len(dropped.unique()) == 2


def test_every_bit_of_the_draw_is_used() -> None:
    torch.manual_seed(0)
    # With an 8-byte draw whose top bit is stuck, every eighth entry would be kept too often.
    kept = (Dropout(0.5)(torch.ones(8 * 50_000)) != 0).view(-1, 8).double().mean(dim=0)
    assert torch.allclose(kept, torch.full((8,), 0.5, dtype=torch.float64), atol=0.01)


def test_gradient_passes_where_the_value_did() -> None:
    torch.manual_seed(0)
    x = torch.randn(37, 41, requires_grad=True)
    dropped = Dropout(0.3)(x)
    dropped.sum().backward()
    assert torch.equal(x.grad == 0, dropped == 0)
    assert torch.allclose(x.grad * x, dropped)


def test_nothing_is_dropped_outside_training_or_at_zero() -> None:
    x = torch.randn(5, 7)
    assert torch.equal(Dropout(0.3).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_the_same_seed_drops_the_same_entries() -> None:
    x, dropout = torch.randn(11, 13), Dropout(0.4)
    torch.manual_seed(5)
    first = dropout(x)
    torch.manual_seed(5)
    assert torch.equal(first, dropout(x))
    assert not torch.equal(first, dropout(x))

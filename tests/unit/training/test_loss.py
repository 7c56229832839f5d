"""The piecewise loss equals torch's cross-entropy, in value and in every gradient."""

import pytest
import torch
from torch.nn import functional

from regard.layers.embedding import OutputProjection
from regard.training.objective import LOSS_CHUNK_ROWS, label_smoothed_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("rows", [1, 7, LOSS_CHUNK_ROWS + 13])
@pytest.mark.parametrize("has_bias", [True, False])
def test_loss_and_gradients_equal_torchs(smoothing: float, rows: int, has_bias: bool) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(rows, 11, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(23, 11, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(23, dtype=torch.float64, requires_grad=True) if has_bias else None
    targets = torch.randint(0, 23, (rows,))
    leaves = [leaf for leaf in (hidden, weight, bias) if leaf is not None]

    loss = label_smoothed_cross_entropy(hidden, OutputProjection(weight, bias), targets, smoothing=smoothing)
    ours = torch.autograd.grad(loss * 0.37, leaves)
    logits = functional.linear(hidden, weight, bias)
    expected = functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    theirs = torch.autograd.grad(expected * 0.37, leaves)

    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    for own, other in zip(ours, theirs, strict=True):
        assert torch.allclose(own, other, rtol=1e-10, atol=1e-12)


def test_extreme_logits_stay_finite() -> None:
    hidden = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    output = OutputProjection(torch.tensor([[1.0], [-1.0], [0.5]]), None)
    loss = label_smoothed_cross_entropy(hidden, output, torch.tensor([0, 1]), smoothing=0.1)
    loss.backward()
    assert loss.isfinite()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()


def test_without_gradients_the_value_is_the_same() -> None:
    torch.manual_seed(1)
    hidden, output, targets = torch.randn(5, 3), OutputProjection(torch.randn(7, 3), None), torch.randint(0, 7, (5,))
    with_gradients = label_smoothed_cross_entropy(hidden, output, targets, smoothing=0.1)
    with torch.no_grad():
        assert torch.allclose(label_smoothed_cross_entropy(hidden, output, targets, smoothing=0.1), with_gradients)


@pytest.mark.parametrize("has_bias", [True, False])
def test_autocast_loss_equals_torch_within_product_precision(has_bias: bool) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(LOSS_CHUNK_ROWS + 13, 32, requires_grad=True)
    weight = torch.randn(50, 32, requires_grad=True)
    bias = torch.randn(50, requires_grad=True) if has_bias else None
    targets = torch.randint(0, 50, (len(hidden),))
    leaves = [leaf for leaf in (hidden, weight, bias) if leaf is not None]

    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = label_smoothed_cross_entropy(hidden, OutputProjection(weight, bias), targets, smoothing=0.1)
        logits = functional.linear(hidden, weight, bias).float()
    expected = functional.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=1e-3)
    for own, other in zip(torch.autograd.grad(loss, leaves), torch.autograd.grad(expected, leaves), strict=True):
        assert own.dtype == torch.float32
        assert (own - other).norm() < 0.01 * other.norm()
    exact = functional.cross_entropy(
        functional.linear(hidden, weight, bias), targets, label_smoothing=0.1, reduction="sum"
    )
    assert loss.item() != exact.item()  # the products were rounded

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.layers.transformer_block import ACTIVATIONS, FeedForward


def bend(name: str, x: Tensor) -> Tensor:
    """Each activation by its formula."""
    if name == "relu":
        return x.clamp(min=0)
    if name == "gelu_tanh":
        return x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
    return x * (torch.special.ndtr(x) if name == "gelu" else 1 / (1 + torch.exp(-x)))


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_it_widens_bends_and_narrows(name: str) -> None:
    layer = FeedForward(5, 13, activation=name)
    x = torch.randn(2, 7, 5)
    wide = bend(name, x @ layer.fc1.weight.T + layer.fc1.bias)
    assert wide.shape == (2, 7, 13)
    assert_close(layer(x), wide @ layer.fc2.weight.T + layer.fc2.bias)


def test_the_activations_are_those_the_config_names() -> None:
    assert list(ACTIVATIONS) == ["relu", "gelu", "gelu_tanh", "silu"]


def test_each_position_is_worked_on_by_itself() -> None:
    layer = FeedForward(5, 13)
    x = torch.randn(2, 7, 5)
    changed = x.clone()
    changed[1, 4] += 1.0
    is_same = (layer(x) == layer(changed)).all(dim=-1)
    assert not is_same[1, 4]
    assert is_same.sum() == 2 * 7 - 1


def test_gated_network_multiplies_by_third_matrix() -> None:
    layer = FeedForward(5, 13, activation="silu", is_gated=True, bias=False)
    x = torch.randn(2, 7, 5)
    gated = bend("silu", x @ layer.fc1.weight.T) * (x @ layer.fc3.weight.T)
    assert_close(layer(x), gated @ layer.fc2.weight.T)
    assert {name for name, _ in layer.named_parameters()} == {"fc1.weight", "fc2.weight", "fc3.weight"}

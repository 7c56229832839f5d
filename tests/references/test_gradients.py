"""Gradients are those of the formula (finite differences, float64), also where nothing is visible."""

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from regard.attention.attend import attend
from regard.attention.hooks import record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import SCORES, make_score
from regard.config import TransformerStackConfig
from regard.layers.transformer_block import SSRU, BlockOptions

BATCH, QUERIES, KEYS = 2, 3, 5


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def some_visible(heads: int) -> Tensor:
    """(B, heads, Q, K), with a query to which nothing is visible."""
    visible = torch.rand(BATCH, heads, QUERIES, KEYS) < 0.6
    visible[0, :, 1] = False
    return visible


@pytest.mark.parametrize("rule", ["all", "some"])
def test_gradients_of_attend(rule: str) -> None:
    torch.manual_seed(0)
    visible = None if rule == "all" else some_visible(1)
    scores, value = leaf(BATCH, 1, QUERIES, KEYS), leaf(BATCH, 1, KEYS, 2)
    assert gradcheck(lambda *tensors: tuple(attend(*tensors, visible)), (scores, value))


@pytest.mark.parametrize("name", SCORES)
def test_gradients_of_every_score(name: str) -> None:
    torch.manual_seed(1)
    query_width, key_width = (3, 3) if SCORES[name].needs_equal_widths else (3, 2)
    score = make_score(name, query_width, key_width).double()
    names, parameters = list(dict(score.named_parameters())), list(score.parameters())

    def scores(query: Tensor, key: Tensor, *weights: Tensor) -> Tensor:
        prepare = {
            name.removeprefix("project_keys."): w
            for name, w in zip(names, weights, strict=True)
            if name.startswith("project_keys.")
        }
        prepared = torch.func.functional_call(score.project_keys, prepare, (key,))
        return torch.func.functional_call(score, dict(zip(names, weights, strict=True)), (query, prepared))

    assert gradcheck(scores, (leaf(BATCH, QUERIES, query_width), leaf(BATCH, KEYS, key_width), *parameters))


@pytest.mark.parametrize("is_open", [False, True], ids=["fused", "open"])
def test_multi_head_gradients_with_nothing_visible(is_open: bool) -> None:
    torch.manual_seed(2)
    layer = MultiHeadAttention(4, 2, key_width=3).double()
    visible = some_visible(2)
    names, parameters = list(dict(layer.named_parameters())), list(layer.parameters())

    class Whole(nn.Module):
        """Projection and look in one call, so that gradcheck can put its weights in."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
            return self.layer(x, self.layer.key_values(inputs), visible)

    whole = Whole()

    def output(x: Tensor, inputs: Tensor, *weights: Tensor) -> Tensor:
        named = {f"layer.{name}": weight for name, weight in zip(names, weights, strict=True)}
        return torch.func.functional_call(whole, named, (x, inputs))

    with record_attention(layer if is_open else nn.Identity()) as recording:
        assert gradcheck(output, (leaf(BATCH, QUERIES, 4), leaf(BATCH, KEYS, 3), *parameters))
    assert bool(recording.layers) == is_open


@pytest.mark.parametrize("is_open", [False, True], ids=["fused", "open"])
def test_query_without_visible_keys_has_zero_gradient(is_open: bool) -> None:
    torch.manual_seed(3)
    layer = MultiHeadAttention(4, 2)
    x = torch.randn(BATCH, KEYS, 4)
    asking = torch.randn(BATCH, QUERIES, 4, requires_grad=True)
    visible = torch.zeros(BATCH, 1, QUERIES, KEYS, dtype=torch.bool)
    with record_attention(layer if is_open else nn.Identity()):
        found = layer(asking, layer.key_values(x), visible)
    found.sum().backward()
    assert torch.equal(found, layer.output.bias.expand_as(found))  # a context of zero, then W_O and its bias
    assert asking.grad is not None
    assert not asking.grad.any()
    for part in (layer.query, layer.key, layer.value):
        assert part.weight.grad is not None
        assert not part.weight.grad.any()


def test_gradients_of_the_recurrent_mixer() -> None:
    torch.manual_seed(4)
    layer = SSRU(TransformerStackConfig(width=3, heads=1), BlockOptions()).double()
    names, parameters = list(dict(layer.named_parameters())), list(layer.parameters())

    def output(x: Tensor, cell: Tensor, *weights: Tensor) -> Tensor:
        inputs = (x, cell, None, torch.arange(4))
        return torch.func.functional_call(layer, dict(zip(names, weights, strict=True)), inputs)

    assert gradcheck(output, (leaf(BATCH, 4, 3), leaf(BATCH, 3), *parameters))

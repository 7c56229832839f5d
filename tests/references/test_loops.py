"""Every attention equals a float64 loop that shares no code with it, in every precision."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import SCORES
from regard.config import TransformerStackConfig
from regard.layers.image_encoders import GridSelfAttention
from regard.layers.transformer_block import SSRU, BlockOptions
from tests.support import attention_loops as loops

BATCH, QUERIES, KEYS, HEADS = 2, 3, 7, 5
QUERY_WIDTH, INPUTS, KEY_WIDTH, VALUE_WIDTH = 11, 13, 17, 19
TOLERANCES = {torch.float32: 2e-6, torch.float16: 3e-3, torch.bfloat16: 2e-2}

every_precision = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=lambda dtype: str(dtype)[6:])


def spread(*shape: int, dtype: torch.dtype) -> Tensor:
    """Entries between -1 and 1."""
    return torch.rand(*shape, dtype=torch.float64).mul(2).sub(1).to(dtype)


def plain(module: nn.Module) -> loops.Weights:
    """The weights as they are in their own precision, as lists of Python's floats."""
    return {name: tensor.double().tolist() for name, tensor in module.state_dict().items()}


def some_visible(heads: int) -> Tensor:
    """(B, heads, Q, K), with one query to which nothing is visible and one to which all is."""
    visible = torch.rand(BATCH, heads, QUERIES, KEYS) < 0.5
    visible[0, :, 1] = False
    visible[1, :, 2] = True
    return visible


def assert_near(found: Tensor, expected: list, dtype: torch.dtype) -> None:
    assert found.dtype == dtype
    assert_close(found.double(), torch.tensor(expected, dtype=torch.float64), atol=TOLERANCES[dtype], rtol=0.0)


@every_precision
@pytest.mark.parametrize("projects", [True, False], ids=["projected", "as they are"])
@pytest.mark.parametrize("name", SCORES)
def test_attention_with_every_score_equals_a_loop(name: str, projects: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    keys, values = (KEY_WIDTH, VALUE_WIDTH) if projects else (None, None)
    asking = (keys or INPUTS) if SCORES[name].needs_equal_widths else QUERY_WIDTH
    layer = AttentionLayer(asking, INPUTS, score=name, key_width=keys, value_width=values).to(dtype)
    query, inputs = spread(BATCH, QUERIES, asking, dtype=dtype), spread(BATCH, KEYS, INPUTS, dtype=dtype)
    visible = some_visible(heads=1)
    found = layer(query, layer.key_values(inputs), visible)
    rows = [
        loops.attention(name, q, x, v, plain(layer))
        for q, x, v in zip(query.tolist(), inputs.tolist(), visible[:, 0].tolist(), strict=True)
    ]
    assert_near(found.context, [context for context, _ in rows], dtype)
    assert_near(found.weights, [weights for _, weights in rows], dtype)


@every_precision
@pytest.mark.parametrize("is_open", [False, True], ids=["fused", "open"])
def test_multi_head_attention_equals_a_loop(is_open: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(HEADS * 3, HEADS, key_width=INPUTS).to(dtype)
    x, inputs = spread(BATCH, QUERIES, HEADS * 3, dtype=dtype), spread(BATCH, KEYS, INPUTS, dtype=dtype)
    visible = some_visible(HEADS)
    with record_attention(layer if is_open else nn.Identity()):
        found = layer(x, layer.key_values(inputs), visible)
    rows = zip(x.tolist(), inputs.tolist(), visible.tolist(), strict=True)
    assert_near(found, [loops.multi_head(*row, plain(layer)) for row in rows], dtype)


@every_precision
def test_attention_over_a_grid_equals_a_loop(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    layer = GridSelfAttention(channels=6, heads=2).to(dtype)
    nn.init.constant_(layer.gate, 0.7)
    nn.init.uniform_(layer.norm.weight, 0.5, 1.0)
    nn.init.uniform_(layer.norm.bias, -0.5, 0.5)
    grid = spread(BATCH, 6, 3, 5, dtype=dtype)
    expected = [loops.grid_self_attention(picture, 2, plain(layer)) for picture in grid.tolist()]
    assert_near(layer(grid), expected, dtype)


@every_precision
def test_the_recurrent_mixer_equals_a_loop(dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    layer = SSRU(TransformerStackConfig(width=5, heads=1), BlockOptions()).to(dtype)
    x, cell = spread(BATCH, 7, 5, dtype=dtype), spread(BATCH, 5, dtype=dtype)
    found, last = layer(x, cell, None, torch.arange(7))
    rows = [loops.ssru(row, first, plain(layer)) for row, first in zip(x.tolist(), cell.tolist(), strict=True)]
    assert_near(found, [outputs for outputs, _ in rows], dtype)
    assert_near(last, [end for _, end in rows], dtype)

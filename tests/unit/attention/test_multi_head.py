import math
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention.attend import attend
from regard.attention.hooks import record_attention
from regard.attention.key_value_cache import KeyValues
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import scaled_dot
from regard.attention.visibility import causal, real_keys

BATCH, QUERIES, KEYS, HEADS, HEAD_WIDTH, INPUTS = 2, 5, 7, 3, 11, 13
WIDTH = HEADS * HEAD_WIDTH


def setting(seed: int = 0) -> tuple[MultiHeadAttention, Tensor, Tensor]:
    torch.manual_seed(seed)
    layer = MultiHeadAttention(WIDTH, HEADS, key_width=INPUTS)
    return layer, torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, INPUTS)


def test_one_head_is_plain_attention() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(WIDTH, 1, key_width=INPUTS)
    x, memory = torch.randn(BATCH, QUERIES, WIDTH), torch.randn(BATCH, KEYS, INPUTS)
    plain = attend(scaled_dot(layer.query(x), layer.key(memory)), layer.value(memory))
    assert_close(layer(x, layer.key_values(memory)), layer.output(plain.context))


def test_each_head_has_its_own_slice_of_projections() -> None:
    layer, x, memory = setting()
    contexts = []
    for head in range(HEADS):
        part = slice(head * HEAD_WIDTH, (head + 1) * HEAD_WIDTH)
        query, key, value = layer.query(x)[..., part], layer.key(memory)[..., part], layer.value(memory)[..., part]
        contexts.append(attend(scaled_dot(query, key), value).context)
    assert_close(layer(x, layer.key_values(memory)), layer.output(torch.cat(contexts, dim=-1)))


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_hidden_nan_input_changes_nothing(poison: float) -> None:
    layer, x, memory = setting()
    is_real = torch.ones(BATCH, KEYS, dtype=torch.bool)
    is_real[1, 5:] = False
    expected = layer(x, layer.key_values(memory), real_keys(is_real))
    memory[1, 5:] = poison
    assert_close(layer(x, layer.key_values(memory), real_keys(is_real)), expected, atol=1e-6, rtol=1e-5)


def test_visible_nan_input_shows_in_its_own_row() -> None:
    layer, x, memory = setting()
    memory[1, 2] = math.nan
    found = layer(x, layer.key_values(memory))
    assert found[0].isfinite().all()
    assert found[1].isnan().all()


def test_dropout_belongs_to_training() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(WIDTH, HEADS, dropout=0.5)
    x = torch.randn(BATCH, QUERIES, WIDTH)
    key_values = layer.key_values(x)
    layer.eval()
    expected = layer(x, key_values)
    assert torch.equal(layer(x, key_values), expected)
    layer.train()
    assert not torch.allclose(layer(x, key_values), expected)
    with record_attention(layer) as recording:
        assert not torch.allclose(layer(x, key_values), expected)
    weights = recording.layers[""]["weights"]
    assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES))


def test_positions_rotate_queries_and_keys_but_not_values() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(WIDTH, HEADS, rotate=lambda x, positions: x * (2.0 + positions[:, None]))
    x, positions = torch.randn(BATCH, QUERIES, WIDTH), torch.arange(QUERIES)
    plain, turned = layer.key_values(x, torch.zeros_like(positions) - 1), layer.key_values(x, positions)
    assert_close(turned.key, plain.key * (2.0 + positions[:, None]))
    assert torch.equal(turned.value, plain.value)
    with record_attention(layer, details=True) as recording:
        layer(x, plain, positions=positions)
    query = layer.query(x).view(BATCH, QUERIES, HEADS, HEAD_WIDTH).transpose(1, 2)
    assert_close(recording.layers[""]["query"], query * (2.0 + positions[:, None]))


def test_overflowing_score_of_a_hidden_key_changes_nothing() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 2)
    x = torch.randn(1, 3, 6) * 100
    visible = torch.tensor([True, True, False])[None, None, None]
    own = layer.key_values(x)
    huge = KeyValues.from_tensors(own.key.clone(), own.value)
    huge.key[:, :, 2] = 3e37
    assert torch.allclose(layer(x, huge, visible), layer(x, own, visible), atol=1e-4)


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("poison", [0.0, math.nan, math.inf])
def test_causal_flag_equals_the_written_mask(poison: float, is_recorded: bool) -> None:
    torch.manual_seed(1)
    layer, x = MultiHeadAttention(WIDTH, HEADS), torch.randn(BATCH, KEYS, WIDTH)
    positions = torch.arange(KEYS)
    key_values = layer.key_values(torch.cat([x[:, :-1], x[:, -1:] + poison], dim=1))
    with record_attention(layer) if is_recorded else nullcontext():
        result = layer(x, key_values, "causal")
    written = layer(x, key_values, causal(positions, positions))
    assert_close(result, written, atol=1e-6, rtol=1e-5, equal_nan=True)
    assert result[:, :-1].isfinite().all()

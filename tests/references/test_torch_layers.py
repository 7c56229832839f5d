"""Torch's own attention layers with the same weights say the same."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from regard.attention.attend import attend
from regard.attention.hooks import record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import scaled_dot
from regard.attention.visibility import causal, real_keys
from regard.config import TransformerStackConfig
from regard.layers.transformer_block import BlockOptions, TransformerBlock
from tests.support.copied_weights import block_from_torch, multi_head_from_torch, randomise_weights

BATCH, TARGET, SOURCE, HEADS, HEAD_WIDTH, INNER, MEMORY = 2, 5, 7, 3, 11, 17, 13
WIDTH = HEADS * HEAD_WIDTH
TOLERANCE = {"atol": 1e-5, "rtol": 0.0}
SIZES = TransformerStackConfig(layers=1, width=WIDTH, heads=HEADS, ffn_width=INNER)


def is_real(length: int) -> Tensor:
    """One full row, and one with two places of padding at the end."""
    return torch.arange(length) < torch.tensor([length, length - 2])[:, None]


def causal_mask(length: int) -> Tensor:
    """In torch's polarity: True is hidden."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def causal_rule(length: int) -> Tensor:
    return causal(torch.arange(length), torch.arange(length))


@pytest.mark.parametrize("is_open", [False, True], ids=["fused", "open"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("inputs", [WIDTH, MEMORY])
def test_multi_head_attention_equals_torchs(inputs: int, padded: bool, is_open: bool) -> None:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, kdim=inputs, vdim=inputs)
    randomise_weights(theirs, seed=inputs)
    ours = MultiHeadAttention(WIDTH, HEADS, key_width=inputs)
    multi_head_from_torch(ours, theirs)
    x, memory, real = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, inputs), is_real(SOURCE)
    expected, weights = theirs(
        x, memory, memory, key_padding_mask=~real if padded else None, average_attn_weights=False
    )
    with record_attention(ours if is_open else nn.Identity()) as recording:
        found = ours(x, ours.key_values(memory), real_keys(real) if padded else None)
    assert_close(found, expected, **TOLERANCE)
    if is_open:
        assert_close(recording.layers[""]["weights"], weights, **TOLERANCE)


def test_causal_self_attention_equals_torchs() -> None:
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    randomise_weights(theirs, seed=1)
    ours = MultiHeadAttention(WIDTH, HEADS)
    multi_head_from_torch(ours, theirs)
    x, real = torch.randn(BATCH, TARGET, WIDTH), is_real(TARGET)
    expected, _ = theirs(x, x, x, key_padding_mask=~real, attn_mask=causal_mask(TARGET))
    found = ours(x, ours.key_values(x), causal_rule(TARGET) & real_keys(real))
    assert_close(found, expected, **TOLERANCE)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_block_equals_torchs_layer(norm: str, activation: str) -> None:
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, activation=activation, norm_first=norm == "pre", batch_first=True
    )
    randomise_weights(theirs, seed=2)
    ours = TransformerBlock(SIZES, BlockOptions(norm=norm, activation=activation))
    block_from_torch(ours, theirs)
    x, real = torch.randn(BATCH, SOURCE, WIDTH), is_real(SOURCE)
    found, _ = ours(x, real_keys(real), torch.arange(SOURCE))
    assert_close(found, theirs(x, src_key_padding_mask=~real), **TOLERANCE)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_decoder_block_equals_torchs_layer(norm: str, activation: str) -> None:
    theirs = nn.TransformerDecoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, activation=activation, norm_first=norm == "pre", batch_first=True
    )
    randomise_weights(theirs, seed=3)
    ours = TransformerBlock(SIZES, BlockOptions(norm=norm, activation=activation), memory_width=WIDTH)
    block_from_torch(ours, theirs)
    x, memory, real = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, WIDTH), is_real(SOURCE)
    assert ours.cross_attention is not None
    projected = (ours.cross_attention.key_values(memory), real_keys(real))
    found, _ = ours(x, causal_rule(TARGET), torch.arange(TARGET), memory=projected)
    expected = theirs(x, memory, tgt_mask=causal_mask(TARGET), memory_key_padding_mask=~real)
    assert_close(found, expected, **TOLERANCE)


@pytest.mark.parametrize("seed", range(5))
def test_attend_equals_torchs_fused_attention(seed: int) -> None:
    torch.manual_seed(seed)
    query = torch.randn(BATCH, HEADS, TARGET, HEAD_WIDTH)
    key, value = torch.randn(BATCH, HEADS, SOURCE, HEAD_WIDTH), torch.randn(BATCH, HEADS, SOURCE, MEMORY)
    visible = torch.rand(BATCH, HEADS, TARGET, SOURCE) < 0.4
    visible[0, 1, 2] = False  # one query to which nothing is visible
    for rule in (None, visible):
        expected = functional.scaled_dot_product_attention(query, key, value, rule)
        assert_close(attend(scaled_dot(query, key), value, rule).context, expected, **TOLERANCE)


@pytest.mark.parametrize("seed", range(5))
def test_the_recorded_path_equals_the_fused_one(seed: int) -> None:
    torch.manual_seed(seed)
    layer = MultiHeadAttention(WIDTH, HEADS, key_width=MEMORY)
    x, memory = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, MEMORY)
    visible = torch.rand(BATCH, HEADS, TARGET, SOURCE) < 0.3
    visible[1, 2, 4] = False
    for rule in (None, visible):
        fused = layer(x, layer.key_values(memory), rule)
        with record_attention(layer):
            assert_close(layer(x, layer.key_values(memory), rule), fused, **TOLERANCE)

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention.visibility import real_keys
from regard.config import TransformerStackConfig
from regard.layers.positions import apply_rotary
from regard.layers.transformer_block import (
    SELF_ATTENTION_TYPES,
    BlockOptions,
    DecoderCache,
    Residual,
    TransformerBlock,
    TransformerStack,
    causal_visibility,
    init_xavier,
)

BATCH, SOURCE, TARGET, WIDTH, MEMORY = 2, 7, 5, 12, 11
SIZES = TransformerStackConfig(layers=3, width=WIDTH, heads=3, ffn_width=17)

either_norm = pytest.mark.parametrize("norm", ["pre", "post"])
either_layer = pytest.mark.parametrize("layer", SELF_ATTENTION_TYPES)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def double(x: Tensor) -> Tensor:
    """A sub-layer."""
    return 2 * x


def test_post_norm_is_norm_of_x_plus_output() -> None:
    residual, x = Residual(WIDTH, BlockOptions(norm="post")), torch.randn(BATCH, TARGET, WIDTH)
    nn.init.uniform_(residual.norm.weight)
    assert_close(residual.post(x, double(residual.pre(x))), residual.norm(x + 2 * x))


def test_pre_norm_keeps_the_residual_path() -> None:
    residual, x = Residual(WIDTH, BlockOptions(norm="pre")), torch.randn(BATCH, TARGET, WIDTH)
    nn.init.uniform_(residual.norm.weight)
    assert_close(residual.post(x, double(residual.pre(x))), x + 2 * residual.norm(x))


@either_norm
def test_dropout_applies_to_output_and_never_to_x(norm: str) -> None:
    residual = Residual(WIDTH, BlockOptions(norm=norm, dropout=0.5))
    residual.norm = nn.Identity()
    x, found = torch.full((BATCH, TARGET, WIDTH), 100.0), torch.ones(BATCH, TARGET, WIDTH)
    assert set(residual.train().post(x, found).unique().tolist()) == {100.0, 102.0}
    assert set(residual.eval().post(x, found).unique().tolist()) == {101.0}


@either_norm
def test_stack_ends_in_a_norm(norm: str) -> None:
    stack = TransformerStack(SIZES, BlockOptions(norm=norm))
    found, _ = stack(10 * torch.randn(BATCH, SOURCE, WIDTH) + 3, None, torch.arange(SOURCE))
    assert_close(found.mean(dim=-1), torch.zeros(BATCH, SOURCE), atol=1e-5, rtol=0.0)
    assert_close(found.var(dim=-1, correction=0), torch.ones(BATCH, SOURCE), atol=1e-3, rtol=0.0)


@either_norm
def test_stack_applies_blocks_each_with_own_memory(norm: str) -> None:
    stack = TransformerStack(SIZES, BlockOptions(norm=norm, activation="silu"), memory_width=MEMORY)
    assert len(stack.blocks) == 3
    x, memory, positions = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, MEMORY), torch.arange(TARGET)
    visible = real_keys(torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None])
    found, past = stack(x, None, positions, memory=stack.project_memory(memory, visible))
    for block in stack.blocks:
        x, _ = block(x, None, positions, memory=(block.cross_attention.key_values(memory), visible))
    assert_close(found, stack.norm(x))
    assert past.length == TARGET
    assert len(past.caches) == 3


@either_norm
@either_layer
@pytest.mark.parametrize("lengths", [[1] * TARGET, [2, 3], [4, 1]])
def test_stepwise_equals_parallel(norm: str, layer: str, lengths: list[int]) -> None:
    turning = apply_rotary if layer == "self-attention" else None
    stack = TransformerStack(
        SIZES, BlockOptions(norm=norm, autoregression=layer, rotate=turning), memory_width=MEMORY
    ).eval()
    is_real = torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None]
    x, memory = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, MEMORY)
    with torch.no_grad():
        projected = stack.project_memory(memory, real_keys(is_real))
        positions = torch.arange(TARGET)
        whole, _ = stack(x, causal_visibility(positions, TARGET), positions, memory=projected)
        past, steps = DecoderCache.empty(3), []
        for new in x.split(lengths, dim=1):
            end = past.length + new.shape[1]
            positions = torch.arange(past.length, end)
            found, past = stack(new, causal_visibility(positions, end), positions, cache=past, memory=projected)
            steps.append(found)
    assert past.length == TARGET
    assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=1e-5)


@either_layer
def test_decoder_block_attends_visible_memory_only(layer: str) -> None:
    block = TransformerBlock(SIZES, BlockOptions(autoregression=layer), memory_width=MEMORY)
    assert block.cross_attention is not None
    is_real = torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None]
    x, memory = torch.randn(BATCH, 1, WIDTH), torch.randn(BATCH, SOURCE, MEMORY)

    def output_of(memory: Tensor) -> Tensor:
        assert block.cross_attention is not None
        projected = (block.cross_attention.key_values(memory), real_keys(is_real))
        return block(x, None, torch.arange(1), memory=projected)[0]

    changed = memory.clone()
    changed[:, 4] += 1.0
    expected, found = output_of(memory), output_of(changed)
    assert not torch.allclose(found[0], expected[0])
    assert_close(found[1], expected[1])


def test_an_encoders_block_has_no_cross_attention() -> None:
    assert TransformerBlock(SIZES, BlockOptions()).cross_attention is None


def test_initial_matrices_are_within_xavier_bounds() -> None:
    block = TransformerBlock(SIZES, BlockOptions())
    init_xavier(block)
    linears = [module for module in block.modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 6
    for linear in linears:
        bound = math.sqrt(6 / (linear.in_features + linear.out_features))
        assert 0.8 * bound < linear.weight.abs().max() <= bound
        assert not linear.bias.any()
    assert (block.feed_forward_residual.norm.weight == 1).all()

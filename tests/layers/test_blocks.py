import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention.visibility import real_keys
from regard.config import Stack
from regard.layers.blocks import AddNorm, Block, BlockStack, BlockStyle, Past, causal_newest, initialise
from regard.layers.positions import rotate

BATCH, SOURCE, TARGET, WIDTH, MEMORY = 2, 7, 5, 12, 11
SIZES = Stack(layers=3, width=WIDTH, heads=3, inner=17)

either_norm = pytest.mark.parametrize("norm", ["pre", "post"])
either_mixer = pytest.mark.parametrize("mixer", ["attention", "ssru"])


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def double(x: Tensor) -> Tensor:
    """A sub-layer."""
    return 2 * x


def test_post_norm_is_the_norm_of_x_and_what_was_found() -> None:
    around, x = AddNorm(WIDTH, BlockStyle(norm="post")), torch.randn(BATCH, TARGET, WIDTH)
    nn.init.uniform_(around.norm.weight)
    assert_close(around.leave(x, double(around.enter(x))), around.norm(x + 2 * x))


def test_pre_norm_leaves_a_clear_way_for_x() -> None:
    around, x = AddNorm(WIDTH, BlockStyle(norm="pre")), torch.randn(BATCH, TARGET, WIDTH)
    nn.init.uniform_(around.norm.weight)
    assert_close(around.leave(x, double(around.enter(x))), x + 2 * around.norm(x))


@either_norm
def test_dropout_falls_on_what_was_found_and_never_on_x(norm: str) -> None:
    around = AddNorm(WIDTH, BlockStyle(norm=norm, dropout=0.5))
    around.norm = nn.Identity()
    x, found = torch.full((BATCH, TARGET, WIDTH), 100.0), torch.ones(BATCH, TARGET, WIDTH)
    assert set(around.train().leave(x, found).unique().tolist()) == {100.0, 102.0}
    assert set(around.eval().leave(x, found).unique().tolist()) == {101.0}


@either_norm
def test_a_stack_ends_in_a_norm(norm: str) -> None:
    stack = BlockStack(SIZES, BlockStyle(norm=norm))
    found, _ = stack(10 * torch.randn(BATCH, SOURCE, WIDTH) + 3, None, torch.arange(SOURCE))
    assert_close(found.mean(dim=-1), torch.zeros(BATCH, SOURCE), atol=1e-5, rtol=0.0)
    assert_close(found.var(dim=-1, correction=0), torch.ones(BATCH, SOURCE), atol=1e-3, rtol=0.0)


@either_norm
def test_a_stack_is_its_blocks_one_after_the_other_each_with_its_own_sight_of_the_memory(norm: str) -> None:
    stack = BlockStack(SIZES, BlockStyle(norm=norm, activation="silu"), memory_width=MEMORY)
    assert len(stack.blocks) == 3
    x, memory, positions = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, MEMORY), torch.arange(TARGET)
    visible = real_keys(torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None])
    found, past = stack(x, None, positions, sight=stack.look_at(memory, visible))
    for block in stack.blocks:
        x, _ = block(x, None, positions, sight=(block.cross_attention.key_values(memory), visible))
    assert_close(found, stack.norm(x))
    assert past.length == TARGET
    assert len(past.caches) == 3


@either_norm
@either_mixer
@pytest.mark.parametrize("lengths", [[1] * TARGET, [2, 3], [4, 1]])
def test_one_step_at_a_time_equals_all_at_once(norm: str, mixer: str, lengths: list[int]) -> None:
    turning = rotate if mixer == "attention" else None
    stack = BlockStack(SIZES, BlockStyle(norm=norm, mixer=mixer, rotate=turning), memory_width=MEMORY).eval()
    is_real = torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None]
    x, memory = torch.randn(BATCH, TARGET, WIDTH), torch.randn(BATCH, SOURCE, MEMORY)
    with torch.no_grad():
        sight = stack.look_at(memory, real_keys(is_real))
        positions = torch.arange(TARGET)
        whole, _ = stack(x, causal_newest(positions, TARGET), positions, sight=sight)
        past, steps = Past.empty(3), []
        for new in x.split(lengths, dim=1):
            end = past.length + new.shape[1]
            positions = torch.arange(past.length, end)
            found, past = stack(new, causal_newest(positions, end), positions, past=past, sight=sight)
            steps.append(found)
    assert past.length == TARGET
    assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=1e-5)


@either_mixer
def test_a_decoders_block_looks_at_the_memory_that_is_visible_and_at_no_other(mixer: str) -> None:
    block = Block(SIZES, BlockStyle(mixer=mixer), memory_width=MEMORY)
    assert block.cross_attention is not None
    is_real = torch.arange(SOURCE) < torch.tensor([SOURCE, 3])[:, None]
    x, memory = torch.randn(BATCH, 1, WIDTH), torch.randn(BATCH, SOURCE, MEMORY)

    def say(memory: Tensor) -> Tensor:
        assert block.cross_attention is not None
        sight = (block.cross_attention.key_values(memory), real_keys(is_real))
        return block(x, None, torch.arange(1), sight=sight)[0]

    changed = memory.clone()
    changed[:, 4] += 1.0
    expected, found = say(memory), say(changed)
    assert not torch.allclose(found[0], expected[0])
    assert_close(found[1], expected[1])


def test_an_encoders_block_has_no_cross_attention() -> None:
    assert Block(SIZES, BlockStyle()).cross_attention is None


def test_initial_matrices_lie_within_xaviers_bounds_and_biases_are_zero() -> None:
    block = Block(SIZES, BlockStyle())
    initialise(block)
    linears = [module for module in block.modules() if isinstance(module, nn.Linear)]
    assert len(linears) == 6
    for linear in linears:
        bound = math.sqrt(6 / (linear.in_features + linear.out_features))
        assert 0.8 * bound < linear.weight.abs().max() <= bound
        assert not linear.bias.any()
    assert (block.around_feed_forward.norm.weight == 1).all()


def test_inner_dropout_is_inside_the_feed_forward_network_alone() -> None:
    block = Block(SIZES, BlockStyle(inner_dropout=0.5)).train()
    x, positions = torch.randn(BATCH, TARGET, WIDTH), torch.arange(TARGET)
    inner = block.feed_forward
    assert inner.dropout.share == 0.5
    assert block.around_feed_forward.dropout.share == 0.0
    assert not torch.equal(block(x, None, positions)[0], block(x, None, positions)[0])
    assert torch.equal(block.eval()(x, None, positions)[0], block(x, None, positions)[0])
    assert Block(SIZES, BlockStyle(dropout=0.5)).feed_forward.dropout.share == 0.0

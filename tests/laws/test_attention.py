"""Laws of the heart alone: of `attend`, of `Attention` with every score, and of `MultiHeadAttention`."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention.attend import attend
from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import record_attention
from regard.attention.key_value_cache import KeyValues
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import scaled_dot
from regard.attention.visibility import causal
from regard.layers.image_encoders import GridSelfAttention
from tests.support.small_models import DTYPES, SCORES, TOLERANCES, randomise, seeds

BATCH, QUERIES, KEYS, VALUE_WIDTH = 2, 3, 5, 7
WIDTH, HEADS = 22, 2  # a head's width is 11

in_both_precisions = pytest.mark.parametrize("dtype", DTYPES)
with_every_score = pytest.mark.parametrize("score", SCORES)
heads = st.sampled_from([1, 2, 11])


@in_both_precisions
@given(seeds)
def test_weights_are_nonnegative_and_sum_to_one(dtype: torch.dtype, seed: int) -> None:
    scores, value, visible = scored(seed, dtype)
    context, weights = attend(10 * scores, value, visible)
    assert (weights >= 0).all()
    assert (weights[~visible] == 0).all()
    assert_same(weights.sum(dim=-1), visible.any(dim=-1).to(dtype))
    assert_same(context, weights @ value)


@in_both_precisions
@given(seeds)
def test_nothing_visible_gives_zero_weights_and_context(dtype: torch.dtype, seed: int) -> None:
    scores, value, visible = scored(seed, dtype)
    visible[:, :, 1] = False
    context, weights = attend(scores, value, visible)
    assert (weights[:, :, 1] == 0).all()
    assert (context[:, :, 1] == 0).all()


@in_both_precisions
@given(seeds, st.permutations(range(KEYS)))
def test_keys_and_values_reordered_together_change_nothing(dtype: torch.dtype, seed: int, order: list[int]) -> None:
    scores, value, visible = scored(seed, dtype)
    context, weights = attend(scores, value, visible)
    reordered = attend(scores[..., order], value[..., order, :], visible[..., order])
    assert_same(reordered.context, context)
    assert_same(reordered.weights, weights[..., order])


@in_both_precisions
@with_every_score
@given(seeds, st.permutations(range(KEYS)))
def test_inputs_reordered_change_no_context_of_any_score(
    dtype: torch.dtype, score: str, seed: int, order: list[int]
) -> None:
    layer = general(score, dtype, seed)
    query, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))
    visible = some_visible(seed)
    context, weights = layer(query, layer.key_values(inputs), visible)
    reordered = layer(query, layer.key_values(inputs[:, order]), visible[..., order])
    assert_same(reordered.context, context)
    assert_same(reordered.weights, weights[..., order])


@in_both_precisions
@given(seeds, heads, st.booleans(), st.permutations(range(KEYS)))
def test_inputs_reordered_change_nothing_for_several_heads(
    dtype: torch.dtype, seed: int, heads: int, is_recorded: bool, order: list[int]
) -> None:
    layer = several_heads(heads, dtype, seed)
    x, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))
    visible = some_visible(seed)
    with record_attention(layer if is_recorded else torch.nn.Identity()):
        found = layer(x, layer.key_values(inputs), visible)
        reordered = layer(x, layer.key_values(inputs[:, order]), visible[..., order])
    assert_same(reordered, found)


@in_both_precisions
@given(seeds, heads, st.permutations(range(KEYS)))
def test_self_attention_without_positions_is_equivariant(
    dtype: torch.dtype, seed: int, heads: int, order: list[int]
) -> None:
    layer = several_heads(heads, dtype, seed)
    (x,) = normal(seed, dtype, (BATCH, KEYS, WIDTH))
    reordered = x[:, order]
    assert_same(layer(reordered, layer.key_values(reordered)), layer(x, layer.key_values(x))[:, order])


@in_both_precisions
@given(seeds, st.permutations(range(15)))
def test_self_attention_over_a_grid_is_equivariant(dtype: torch.dtype, seed: int, order: list[int]) -> None:
    layer = randomise(GridSelfAttention(WIDTH, HEADS).to(dtype), seed)
    (grid,) = normal(seed, dtype, (BATCH, WIDTH, 3, 5))
    reordered = grid.flatten(2)[..., order].view_as(grid)
    assert_same(layer(reordered), layer(grid).flatten(2)[..., order].view_as(grid))


@in_both_precisions
@given(seeds, st.booleans())
def test_one_head_is_plain_attention(dtype: torch.dtype, seed: int, is_recorded: bool) -> None:
    layer = several_heads(1, dtype, seed)
    x, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))
    visible = some_visible(seed)
    with record_attention(layer if is_recorded else torch.nn.Identity()):
        found = layer(x, layer.key_values(inputs), visible)
    scores = scaled_dot(layer.query(x), layer.key(inputs))
    plain = attend(scores, layer.value(inputs), visible.squeeze(1))
    assert_same(found, layer.output(plain.context))


@in_both_precisions
@given(seeds, heads)
def test_several_heads_equal_separate_narrow_attentions(dtype: torch.dtype, seed: int, heads: int) -> None:
    layer = several_heads(heads, dtype, seed)
    x, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))
    parts = zip(
        *(part.chunk(heads, -1) for part in (layer.query(x), layer.key(inputs), layer.value(inputs))), strict=True
    )
    contexts = [attend(scaled_dot(query, key), value).context for query, key, value in parts]
    assert_same(layer(x, layer.key_values(inputs)), layer.output(torch.cat(contexts, dim=-1)))


@in_both_precisions
@given(seeds, heads, st.booleans())
@settings(max_examples=5)
def test_extended_keys_equal_keys_given_at_once(dtype: torch.dtype, seed: int, heads: int, is_training: bool) -> None:
    layer = several_heads(heads, dtype, seed)
    x, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, 41, WIDTH))  # more than one room has space for
    with torch.set_grad_enabled(is_training):
        grown = layer.key_values(inputs[:, :1])
        for step in range(1, 41):
            grown = grown.extend(layer.key_values(inputs[:, step : step + 1]))
        assert grown.length == 41
        assert_same(layer(x, grown), layer(x, layer.key_values(inputs)))


@torch.no_grad()
def test_keys_are_not_copied_at_every_extension() -> None:
    key, value = normal(0, torch.float32, (BATCH, HEADS, 200, 11), (BATCH, HEADS, 200, VALUE_WIDTH))
    grown, rooms = KeyValues.from_tensors(key[:, :, :1], value[:, :, :1]), []
    for step in range(1, 200):
        grown = grown.extend(KeyValues.from_tensors(key[:, :, step : step + 1], value[:, :, step : step + 1]))
        rooms.append(grown.buffer.key.data_ptr())
    assert torch.equal(grown.key, key)
    assert torch.equal(grown.value, value)
    assert len(set(rooms)) <= 6  # rooms of 17, 35, 71, 143 and 287: each twice the one before


@in_both_precisions
@given(seeds, st.integers(1, KEYS))
def test_causal_query_sees_exactly_its_past(dtype: torch.dtype, seed: int, queries: int) -> None:
    positions = torch.arange(KEYS)
    scores, value, _ = scored(seed, dtype, queries=queries)
    _, weights = attend(scores, value, causal(positions[-queries:], positions))
    for row, position in enumerate(range(KEYS - queries, KEYS)):
        assert_same(weights[:, :, row, : position + 1], scores[:, :, row, : position + 1].softmax(dim=-1))
        assert (weights[:, :, row, position + 1 :] == 0).all()


def normal(seed: int, dtype: torch.dtype, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def some_visible(seed: int, queries: int = QUERIES) -> Tensor:
    """Any visibility at all, rows that see nothing included."""
    return torch.rand(BATCH, 1, queries, KEYS, generator=torch.Generator().manual_seed(seed)) > 0.5


def scored(seed: int, dtype: torch.dtype, queries: int = QUERIES) -> tuple[Tensor, Tensor, Tensor]:
    scores, value = normal(seed, dtype, (BATCH, HEADS, queries, KEYS), (BATCH, HEADS, KEYS, VALUE_WIDTH))
    return scores, value, some_visible(seed, queries).expand_as(scores).clone()


def general(score: str, dtype: torch.dtype, seed: int) -> AttentionLayer:
    layer = AttentionLayer(WIDTH, WIDTH, score=score, key_width=WIDTH, value_width=VALUE_WIDTH)
    randomise(layer.to(dtype), seed)
    return layer


def several_heads(heads: int, dtype: torch.dtype, seed: int) -> MultiHeadAttention:
    layer = MultiHeadAttention(WIDTH, heads)
    randomise(layer.to(dtype), seed)
    return layer


def assert_same(actual: Tensor, expected: Tensor) -> None:
    tolerance = TOLERANCES[expected.dtype]
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)

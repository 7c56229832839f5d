"""What nobody may see cannot be felt, even if it is NaN or Inf: neither in a context nor in a gradient."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention.attend import attend
from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import record_attention
from regard.attention.key_value_cache import KeyValues
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.visibility import causal, real_keys
from tests.support.small_models import DTYPES, SCORES, TOLERANCES, randomise, seeds

BATCH, QUERIES, KEYS = 2, 3, 5
WIDTH, HEADS = 14, 2

# Padding: the first row has two tokens, the second four. Causal: the queries are the first three of the five positions.
PADDING = real_keys(torch.arange(KEYS) < torch.tensor([2, 4])[:, None])
CAUSAL = causal(torch.arange(QUERIES), torch.arange(KEYS))
NOTHING = PADDING & torch.tensor([False, True])[:, None, None, None]  # the first row sees nothing at all

in_both_precisions = pytest.mark.parametrize("dtype", DTYPES)
with_every_score = pytest.mark.parametrize("score", SCORES)
hiding = pytest.mark.parametrize(
    "visible", [PADDING, CAUSAL, PADDING & CAUSAL, NOTHING], ids=["padding", "causal", "both", "nothing"]
)
poisons = st.sampled_from([float("nan"), float("inf"), -float("inf")])
some = settings(max_examples=4)

Compute = Callable[..., Tensor]


@in_both_precisions
@hiding
@given(seeds, poisons)
@some
def test_attend_never_feels_hidden_scores_and_values(
    dtype: torch.dtype, visible: Tensor, seed: int, poison: float
) -> None:
    scores, value = normal(seed, dtype, (BATCH, HEADS, QUERIES, KEYS), (BATCH, HEADS, KEYS, 7))
    poisoned = scores.masked_fill(~visible, poison), value.masked_fill(is_hidden(visible), poison)
    assert_equally_felt(lambda *both: attend(*both, visible).context, (scores, value), poisoned, ())


@in_both_precisions
@hiding
@with_every_score
@given(seeds, poisons, st.booleans())
@some
def test_no_score_feels_hidden_keys_and_values(
    dtype: torch.dtype, visible: Tensor, score: str, seed: int, poison: float, is_recorded: bool
) -> None:
    layer = AttentionLayer(WIDTH, WIDTH, score=score)
    randomise(layer.to(dtype), seed)
    query, key, value = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, 1, KEYS, WIDTH), (BATCH, 1, KEYS, 7))

    def look(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        with watching(layer, is_recorded):
            return layer(query, KeyValues.from_tensors(key, value), visible).context

    poisoned = query, poison_some(key, visible, poison), poison_some(value, visible, poison)
    assert_equally_felt(look, (query, key, value), poisoned, tuple(layer.parameters()))


@in_both_precisions
@hiding
@given(seeds, poisons, st.booleans())
@some
def test_several_heads_never_feel_hidden_keys_and_values(
    dtype: torch.dtype, visible: Tensor, seed: int, poison: float, is_recorded: bool
) -> None:
    layer = MultiHeadAttention(WIDTH, HEADS)
    randomise(layer.to(dtype), seed)
    shape = (BATCH, HEADS, KEYS, WIDTH // HEADS)
    x, key, value = normal(seed, dtype, (BATCH, QUERIES, WIDTH), shape, shape)

    def look(x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        with watching(layer, is_recorded):
            return layer(x, KeyValues.from_tensors(key, value), visible)

    poisoned = x, poison_some(key, visible, poison), poison_some(value, visible, poison)
    assert_equally_felt(look, (x, key, value), poisoned, tuple(layer.parameters()))


@in_both_precisions
@hiding
@pytest.mark.parametrize("kind", [*SCORES, "several heads"])
@given(seeds, poisons)
@some
def test_hidden_inputs_influence_no_output(
    dtype: torch.dtype, visible: Tensor, kind: str, seed: int, poison: float
) -> None:
    layer: Any = MultiHeadAttention(WIDTH, HEADS) if kind == "several heads" else projecting(kind)
    randomise(layer.to(dtype), seed)
    query, inputs = normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))

    def look(query: Tensor, inputs: Tensor) -> Tensor:
        found = layer(query, layer.key_values(inputs), visible)
        return found if isinstance(found, Tensor) else found.context

    poisoned = inputs.masked_fill(is_hidden(visible).squeeze(1), poison)
    # Not of the projections: their gradient is a product with the hidden input itself.
    assert_equally_felt(look, (query, inputs), (query, poisoned), ())


@in_both_precisions
@given(seeds, poisons)
@some
def test_poison_reaches_exactly_the_queries_that_see_it(dtype: torch.dtype, seed: int, poison: float) -> None:
    layer = MultiHeadAttention(WIDTH, HEADS)
    randomise(layer.to(dtype), seed)
    (x,) = normal(seed, dtype, (BATCH, KEYS, WIDTH))
    positions = torch.arange(KEYS)
    clean = layer.key_values(x)
    poisoned = KeyValues.from_tensors(
        clean.key, torch.cat([clean.value[:, :, :-1], clean.value[:, :, -1:] + poison], dim=2)
    )
    found, expected = (layer(x, looked_at, causal(positions, positions)) for looked_at in (poisoned, clean))
    assert_same(found[:, :-1], expected[:, :-1])
    assert not found[:, -1].isfinite().any()


@in_both_precisions
@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("kind", [*SCORES, "several heads"])
@given(seeds)
@some
def test_nothing_visible_gives_zero_context_and_finite_gradients(
    dtype: torch.dtype, is_recorded: bool, kind: str, seed: int
) -> None:
    layer: Any = MultiHeadAttention(WIDTH, HEADS) if kind == "several heads" else projecting(kind)
    randomise(layer.to(dtype), seed)
    query, inputs = (
        leaf.requires_grad_() for leaf in normal(seed, dtype, (BATCH, QUERIES, WIDTH), (BATCH, KEYS, WIDTH))
    )
    with watching(layer, is_recorded):
        found = layer(query, layer.key_values(inputs), NOTHING)
    if kind == "several heads":  # a context of zero leaves the output layer's bias
        assert torch.equal(found[0], layer.output.bias.expand_as(found[0]))
    else:
        found = found.context
        assert (found[0] == 0).all()
    leaves = [query, inputs, *layer.parameters()]
    of_query, of_inputs, *others = torch.autograd.grad(found.sum(), leaves)
    assert (of_query[0] == 0).all()
    assert (of_inputs[0] == 0).all()
    assert all(gradient.isfinite().all() for gradient in (of_query, of_inputs, *others))


def normal(seed: int, dtype: torch.dtype, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def projecting(score: str) -> AttentionLayer:
    return AttentionLayer(WIDTH, WIDTH, score=score, key_width=WIDTH, value_width=7)


def is_hidden(visible: Tensor) -> Tensor:
    """Which keys no query of a row sees, as a column (B, 1, K, 1) to lay over keys or values."""
    hidden = ~visible.any(dim=2)[..., None].expand(BATCH, 1, KEYS, 1)
    assert hidden.any()
    return hidden


def poison_some(tensor: Tensor, visible: Tensor, poison: float) -> Tensor:
    """Every other entry of what is hidden is poison."""
    every_other = torch.arange(tensor.shape[-1]) % 2 == 0
    return tensor.masked_fill(is_hidden(visible) & every_other, poison)


def watching(layer: nn.Module, is_recorded: bool) -> AbstractContextManager[Any]:
    return record_attention(layer, details=True) if is_recorded else nullcontext()


def assert_equally_felt(
    compute: Compute, clean: tuple[Tensor, ...], poisoned: tuple[Tensor, ...], parameters: tuple[Tensor, ...]
) -> None:
    """The same output and the same gradients of every input and parameter, whether from the clean or the poisoned."""
    for actual, expected in zip(felt(compute, poisoned, parameters), felt(compute, clean, parameters), strict=True):
        assert actual.isfinite().all()
        assert_same(actual, expected)


def felt(compute: Compute, inputs: tuple[Tensor, ...], parameters: tuple[Tensor, ...]) -> list[Tensor]:
    leaves = [one.clone().requires_grad_() for one in inputs]
    output = compute(*leaves)
    loss = (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sum()
    gradients = torch.autograd.grad(loss, [*leaves, *parameters], allow_unused=True)
    return [output.detach(), *(gradient for gradient in gradients if gradient is not None)]


def assert_same(actual: Tensor, expected: Tensor) -> None:
    tolerance = TOLERANCES[expected.dtype]
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)

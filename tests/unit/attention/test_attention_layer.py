import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention.attention_layer import AttentionLayer
from regard.attention.key_value_cache import KeyValues
from regard.attention.scores import SCORES
from regard.attention.visibility import real_keys

BATCH, QUERIES, KEYS, QUERY_WIDTH, INPUTS, KEY_WIDTH, VALUE_WIDTH = 2, 3, 7, 5, 11, 13, 17


def layer_of(score: str, *, key: int | None = KEY_WIDTH, value: int | None = VALUE_WIDTH) -> AttentionLayer:
    torch.manual_seed(len(score))
    asking = (key or INPUTS) if SCORES[score].needs_equal_widths else QUERY_WIDTH
    return AttentionLayer(asking, INPUTS, score=score, key_width=key, value_width=value)


def queries_for(layer: AttentionLayer, score: str) -> Tensor:
    asking = layer.key.out_features if SCORES[score].needs_equal_widths else QUERY_WIDTH
    return torch.randn(BATCH, QUERIES, asking)


@pytest.mark.parametrize("score", SCORES)
def test_keys_have_width_dk_and_contexts_width_dv(score: str) -> None:
    layer = layer_of(score)
    key_values = layer.key_values(torch.randn(BATCH, KEYS, INPUTS))
    context, weights = layer(queries_for(layer, score), key_values)
    assert layer.key.weight.shape == (KEY_WIDTH, INPUTS)
    assert key_values.value.shape == (BATCH, 1, KEYS, VALUE_WIDTH)
    assert context.shape == (BATCH, QUERIES, VALUE_WIDTH)
    assert weights.shape == (BATCH, QUERIES, KEYS)


def test_without_widths_inputs_are_keys_and_values() -> None:
    layer, inputs = layer_of("dot", key=None, value=None), torch.randn(BATCH, KEYS, INPUTS)
    key_values = layer.key_values(inputs)
    assert torch.equal(key_values.key[:, 0], inputs)
    assert torch.equal(key_values.value[:, 0], inputs)
    assert not list(layer.parameters())


@pytest.mark.parametrize("score", SCORES)
def test_batched_queries_equal_single_queries(score: str) -> None:
    layer = layer_of(score)
    query, key_values = queries_for(layer, score), layer.key_values(torch.randn(BATCH, KEYS, INPUTS))
    together = layer(query, key_values)
    for index in range(QUERIES):
        alone = layer(query[:, index : index + 1], key_values)
        assert_close(together.context[:, index], alone.context[:, 0])
        assert_close(together.weights[:, index], alone.weights[:, 0])


@pytest.mark.parametrize("poison", [math.nan, math.inf])
@pytest.mark.parametrize("score", SCORES)
def test_hidden_nan_input_changes_nothing(score: str, poison: float) -> None:
    layer = layer_of(score)
    query, inputs = queries_for(layer, score), torch.randn(BATCH, KEYS, INPUTS)
    is_real = torch.ones(BATCH, KEYS, dtype=torch.bool)
    is_real[1, 4:] = False
    expected = layer(query, layer.key_values(inputs), real_keys(is_real))
    inputs[1, 4:] = poison
    found = layer(query, layer.key_values(inputs), real_keys(is_real))
    assert_close(found.context, expected.context)
    assert_close(found.weights, expected.weights)


@pytest.mark.parametrize("score", SCORES)
def test_a_visible_input_that_is_no_number_shows(score: str) -> None:
    layer = layer_of(score)
    inputs = torch.randn(BATCH, KEYS, INPUTS)
    inputs[1, 4, 2] = math.nan
    context, _ = layer(queries_for(layer, score), layer.key_values(inputs))
    assert context[0].isfinite().all()
    assert context[1].isnan().all()


@pytest.mark.parametrize("score", SCORES)
def test_hidden_nan_key_leaves_gradients_unchanged(score: str) -> None:
    layer = layer_of(score)
    with torch.no_grad():
        query, clean = queries_for(layer, score), layer.key_values(torch.randn(BATCH, KEYS, INPUTS))
    is_real = torch.arange(KEYS) < torch.tensor([KEYS, 4])[:, None]
    foul_key = clean.key.clone()
    foul_key[1, :, 4:] = math.nan

    def gradient(key_values: KeyValues) -> Tensor:
        asking = query.clone().requires_grad_()
        (layer(asking, key_values, real_keys(is_real)).context ** 2).sum().backward()
        assert asking.grad is not None
        return asking.grad

    assert_close(gradient(KeyValues.from_tensors(foul_key, clean.value)), gradient(clean))


@pytest.mark.parametrize("score", SCORES)
def test_visible_nan_key_shows_despite_finite_value(score: str) -> None:
    layer = layer_of(score)
    clean = layer.key_values(torch.randn(BATCH, KEYS, INPUTS))
    foul_key = clean.key.clone()
    foul_key[1, 0, 2, 0] = math.inf
    context, _ = layer(queries_for(layer, score), KeyValues.from_tensors(foul_key, clean.value))
    assert context[0].isfinite().all()
    assert context[1].isnan().all()

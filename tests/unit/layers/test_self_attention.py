import pytest
import torch
from torch.testing import assert_close

from regard.attention.key_value_cache import KeyValues
from regard.config import TransformerStackConfig
from regard.layers.transformer_block import SSRU, BlockOptions, SelfAttention, causal_visibility

BATCH, LENGTH, WIDTH = 3, 7, 10
SIZES = TransformerStackConfig(width=WIDTH, heads=2)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def test_ssru_stepwise_equals_parallel() -> None:
    mixer, x = SSRU(SIZES, BlockOptions()), torch.randn(BATCH, LENGTH, WIDTH)
    whole, last = mixer(x, None, None, torch.arange(LENGTH))
    cell, steps = None, []
    for step, new in enumerate(x.split(1, dim=1)):
        found, cell = mixer(new, cell, None, torch.tensor([step]))
        steps.append(found)
    assert_close(torch.cat(steps, dim=1), whole)
    assert_close(cell, last)


def test_ssru_keeps_one_vector_at_any_length() -> None:
    mixer = SSRU(SIZES, BlockOptions())
    for length in (1, 50):
        _, cell = mixer(torch.randn(BATCH, length, WIDTH), None, None, torch.arange(length))
        assert cell.shape == (BATCH, WIDTH)


def test_ssru_never_sees_the_future() -> None:
    mixer, x = SSRU(SIZES, BlockOptions()), torch.randn(BATCH, LENGTH, WIDTH)
    changed = x.clone()
    changed[:, 4] += 1.0
    found, expected = (mixer(each, None, None, torch.arange(LENGTH))[0] for each in (changed, x))
    assert torch.equal(found[:, :4], expected[:, :4])
    assert not torch.equal(found[:, 4:], expected[:, 4:])


def test_self_attention_keeps_all_keys_and_values() -> None:
    mixer, x = SelfAttention(SIZES, BlockOptions()), torch.randn(BATCH, LENGTH, WIDTH)
    whole = mixer.attention.key_values(x)
    _, past = mixer(x[:, :4], None, causal_visibility(torch.arange(4), 4), torch.arange(4))
    _, past = mixer(x[:, 4:], past, causal_visibility(torch.arange(4, 7), 7), torch.arange(4, 7))
    assert isinstance(past, KeyValues)
    assert_close(past.key, whole.key)
    assert_close(past.value, whole.value)

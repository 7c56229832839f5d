"""The properties of a good position encoding, each measured, and every encoding of the registry."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from transformers.models.t5.modeling_t5 import T5Attention

from regard.config import TransformerStackConfig, TransformerStyle
from regard.errors import RegardError
from regard.layers.positions import (
    POSITION_ENCODINGS,
    LearnedPositions,
    RelativePositions,
    SinusoidalPositions,
    angles,
    apply_rotary,
    make_positions,
    relative_buckets,
    sinusoidal,
)

SIZES = TransformerStackConfig(width=6, heads=2)


def nearest(encoding: Tensor) -> float:
    """The smallest distance between any two rows."""
    closest = math.inf
    for start in range(0, len(encoding), 500):
        distance = torch.cdist(encoding[start : start + 500], encoding)
        distance[torch.arange(len(distance)), torch.arange(start, start + len(distance))] = math.inf  # to itself
        closest = min(closest, distance.min().item())
    return closest


# --- four properties -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [16, 64])
def test_each_of_5000_positions_is_unique(width: int) -> None:
    encoding = sinusoidal(torch.arange(5_000), width).float()
    neighbours = (encoding[1] - encoding[0]).norm().item()
    assert neighbours > 1.0
    assert nearest(encoding) == pytest.approx(neighbours, abs=1e-3)  # no two are closer than neighbours are


@pytest.mark.parametrize("steps", [1, 2, 7, 100, 1_000])
def test_distance_depends_on_steps_alone(steps: int) -> None:
    encoding = sinusoidal(torch.arange(5_000), 64)
    distance = (encoding[steps:] - encoding[:-steps]).norm(dim=-1)
    assert distance.max() - distance.min() < 1e-6
    assert distance.min() > 1.0


@given(one=st.integers(1, 200), other=st.integers(1, 200))
def test_encoding_is_independent_of_sentence_length(one: int, other: int) -> None:
    short, long = sorted([one, other])
    encoding = sinusoidal(torch.arange(long), 16)
    assert torch.equal(encoding[:short], sinusoidal(torch.arange(short), 16))


def test_longer_sentences_stay_bounded_and_unique() -> None:
    encoding = sinusoidal(torch.arange(10_000), 64)
    assert encoding.abs().max() <= 1.0
    assert nearest(encoding.float()) > 1.0
    added = SinusoidalPositions(64)(torch.zeros(1, 10_000, 64), torch.arange(10_000))
    assert_close(added[0], encoding.float())


def test_encoding_is_deterministic() -> None:
    positions = torch.arange(1_000)
    encoding = sinusoidal(positions, 64)
    assert torch.equal(encoding, sinusoidal(positions, 64))
    for position in (0, 1, 17, 999):
        assert torch.equal(encoding[position], sinusoidal(torch.tensor([position]), 64)[0])
    assert not list(SinusoidalPositions(64).parameters())


# --- sinusoidal ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_entries_are_those_of_the_formula(width: int) -> None:
    encoding = sinusoidal(torch.arange(50), width)
    for t in (0, 1, 7, 49):
        for i in range(width):
            angle = t / 10_000 ** (2 * (i // 2) / width)
            assert encoding[t, i].item() == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-12)


def test_positions_are_added_in_embedding_precision() -> None:
    x = torch.randn(2, 3, 8).bfloat16()
    added = SinusoidalPositions(8)(x, torch.tensor([4, 5, 6]))
    assert added.dtype == torch.bfloat16
    assert torch.equal(added, x + sinusoidal(torch.tensor([4, 5, 6]), 8).bfloat16())


# --- rotary ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 10_000))
def test_scores_of_turned_vectors_depend_on_distance_alone(query_at: int, key_at: int, shift: int) -> None:
    generator = torch.Generator().manual_seed(31 * query_at + key_at)
    query, key = torch.randn(2, 1, 1, 1, 16, generator=generator, dtype=torch.float64)

    def score(offset: int) -> float:
        turned_query = apply_rotary(query, torch.tensor([query_at + offset]))
        return (turned_query * apply_rotary(key, torch.tensor([key_at + offset]))).sum().item()

    assert score(shift) == pytest.approx(score(0), abs=1e-9)


def test_scores_of_turned_vectors_do_depend_on_distance() -> None:
    vector = torch.ones(1, 1, 1, 16)
    scores = [(vector * apply_rotary(vector, torch.tensor([far]))).sum().item() for far in range(4)]
    assert all(later < earlier - 0.1 for earlier, later in pairwise(scores))


def test_turning_keeps_norms_and_leaves_position_zero_alone() -> None:
    x = torch.randn(2, 3, 7, 10)
    turned = apply_rotary(x, torch.arange(7))
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert not torch.allclose(turned[:, :, 1], x[:, :, 1], atol=0.1)


def test_each_pair_is_turned_by_its_own_angle() -> None:
    x, positions = torch.randn(1, 1, 5, 6, dtype=torch.float64), torch.arange(3, 8)
    as_complex = torch.complex(x[..., :3], x[..., 3:]) * torch.exp(1j * angles(positions, 6))
    assert_close(apply_rotary(x, positions), torch.cat([as_complex.real, as_complex.imag], dim=-1))


# --- relative --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_causal", [False, True])
@given(buckets=st.integers(4, 40), farther=st.integers(1, 200))
def test_buckets_are_those_of_t5(is_causal: bool, buckets: int, farther: int) -> None:
    offsets, longest = torch.arange(-300, 301)[None], buckets // 2 + farther
    found = relative_buckets(offsets, buckets=buckets, max_distance=longest, is_causal=is_causal)
    options = {"bidirectional": not is_causal, "num_buckets": buckets, "max_distance": longest}
    assert torch.equal(found, T5Attention._relative_position_bucket(offsets, **options))


@pytest.mark.parametrize("is_causal", [False, True])
def test_bias_of_steps_is_that_of_whole(is_causal: bool) -> None:
    made = RelativePositions(
        6, TransformerStyle(relative_buckets=8, relative_max_distance=9), heads=3, is_causal=is_causal
    )
    whole = made.position_bias(torch.arange(20), 20)
    assert whole.shape == (1, 3, 20, 20)
    for step in range(20):
        assert torch.equal(made.position_bias(torch.tensor([step]), step + 1), whole[:, :, step : step + 1, : step + 1])
    assert torch.equal(whole[..., 2:, 2:], whole[..., :-2, :-2])  # it depends on the distance alone
    assert (torch.equal(whole, whole.transpose(2, 3))) is False


# --- learned, and none -----------------------------------------------------------------------------------------------


def test_learned_positions_add_the_vector_of_each_position() -> None:
    module = LearnedPositions(5, TransformerStyle(max_position_embeddings=7))
    x = torch.randn(2, 3, 5)
    assert torch.equal(module(x, torch.tensor([4, 5, 6])), x + module.weight[4:7])


def test_position_past_the_maximum_is_an_explained_error() -> None:
    module = LearnedPositions(5, TransformerStyle(max_position_embeddings=7))
    with pytest.raises(RegardError, match=r"8 positions.*7 learned positions.*shorter input"):
        module(torch.randn(2, 3, 5), torch.tensor([5, 6, 7]))


@pytest.mark.parametrize("name", POSITION_ENCODINGS)
def test_every_encoding_adds_or_rotates_as_declared(name: str) -> None:
    made, x = make_positions(TransformerStyle(positions=name), SIZES, is_causal=False), torch.randn(2, 3, 6)
    added = made.encoding(torch.arange(3))
    assert made.name == name
    assert torch.equal(made(x, torch.arange(3)), x if added is None else x + added.float())
    assert (added is None) == (name in ("rotary", "relative", "none"))
    assert (made.rotate is not None) == (name == "rotary")
    assert (made.position_bias(torch.arange(3), 3) is not None) == (name == "relative")


def test_unknown_encoding_is_an_error_with_choices() -> None:
    with pytest.raises(ValueError, match=r"'alibi'.*sinusoidal, learned, rotary, relative, none"):
        make_positions(TransformerStyle(positions="alibi"), SIZES, is_causal=False)


def test_rotary_base_changes_the_angles() -> None:
    style, x = TransformerStyle(positions="rotary", rotary_base=500.0), torch.randn(1, 2, 4, 6)
    made = make_positions(style, SIZES, is_causal=False)
    as_complex = torch.complex(x[..., :3], x[..., 3:])
    turned = as_complex * torch.exp(1j * torch.arange(4)[:, None] / 500 ** (torch.arange(3) / 3))
    assert made.rotate is not None
    assert_close(made.rotate(x, torch.arange(4)), torch.cat([turned.real, turned.imag], dim=-1))

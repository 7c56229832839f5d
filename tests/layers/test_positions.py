"""The four wishes of a position encoding (note 004), each with its figure, and the other ways to tell a position."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from regard.errors import RegardError
from regard.layers.positions import Learned, Sinusoidal, Unplaced, angles, make_positions, rotate, sinusoidal

either_layout = pytest.mark.parametrize("layout", ["interleaved", "halves"])


def nearest(encoding: Tensor) -> float:
    """The smallest distance between any two rows."""
    closest = math.inf
    for start in range(0, len(encoding), 500):
        distance = torch.cdist(encoding[start : start + 500], encoding)
        distance[torch.arange(len(distance)), torch.arange(start, start + len(distance))] = math.inf  # to itself
        closest = min(closest, distance.min().item())
    return closest


# --- the four wishes -------------------------------------------------------------------------------------------------


@either_layout
@pytest.mark.parametrize("width", [16, 64])
def test_wish_1_each_of_5000_positions_has_an_encoding_of_its_own(width: int, layout: str) -> None:
    encoding = sinusoidal(torch.arange(5_000), width, layout=layout).float()
    neighbours = (encoding[1] - encoding[0]).norm().item()
    assert neighbours > 1.0
    assert nearest(encoding) == pytest.approx(neighbours, abs=1e-3)  # no two are closer than neighbours are


@either_layout
@pytest.mark.parametrize("steps", [1, 2, 7, 100, 1_000])
def test_wish_2_the_distance_between_positions_depends_on_the_steps_between_them(steps: int, layout: str) -> None:
    encoding = sinusoidal(torch.arange(5_000), 64, layout=layout)
    distance = (encoding[steps:] - encoding[:-steps]).norm(dim=-1)
    assert distance.max() - distance.min() < 1e-6
    assert distance.min() > 1.0


@either_layout
@given(one=st.integers(1, 200), other=st.integers(1, 200))
def test_wish_2_an_encoding_does_not_depend_on_the_length_of_the_sentence(one: int, other: int, layout: str) -> None:
    short, long = sorted([one, other])
    encoding = sinusoidal(torch.arange(long), 16, layout=layout)
    assert torch.equal(encoding[:short], sinusoidal(torch.arange(short), 16, layout=layout))


@either_layout
def test_wish_3_sentences_ten_times_as_long_stay_within_the_same_bounds_and_unique(layout: str) -> None:
    encoding = sinusoidal(torch.arange(10_000), 64, layout=layout)
    assert encoding.abs().max() <= 1.0
    assert nearest(encoding.float()) > 1.0
    added = Sinusoidal(64, layout=layout)(torch.zeros(1, 10_000, 64), torch.arange(10_000))
    assert_close(added[0], encoding.float())


@either_layout
def test_wish_4_the_same_position_always_has_the_same_encoding(layout: str) -> None:
    positions = torch.arange(1_000)
    encoding = sinusoidal(positions, 64, layout=layout)
    assert torch.equal(encoding, sinusoidal(positions, 64, layout=layout))
    for position in (0, 1, 17, 999):
        assert torch.equal(encoding[position], sinusoidal(torch.tensor([position]), 64, layout=layout)[0])
    assert not list(Sinusoidal(64, layout=layout).parameters())


# --- sinusoidal ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_entries_are_those_of_the_formula(width: int) -> None:
    encoding = sinusoidal(torch.arange(50), width)
    for t in (0, 1, 7, 49):
        for i in range(width):
            angle = t / 10_000 ** (2 * (i // 2) / width)
            assert encoding[t, i].item() == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-12)


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_halves_are_the_sines_and_then_the_cosines(width: int) -> None:
    alternating = sinusoidal(torch.arange(50), width)
    halves = sinusoidal(torch.arange(50), width, layout="halves")
    assert torch.equal(halves, torch.cat([alternating[:, 0::2], alternating[:, 1::2]], dim=-1))


def test_positions_are_added_in_the_precision_of_the_embeddings() -> None:
    x = torch.randn(2, 3, 8).bfloat16()
    added = Sinusoidal(8)(x, torch.tensor([4, 5, 6]))
    assert added.dtype == torch.bfloat16
    assert torch.equal(added, x + sinusoidal(torch.tensor([4, 5, 6]), 8).bfloat16())


# --- rotary ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 10_000))
def test_scores_of_turned_vectors_depend_on_distance_alone(query_at: int, key_at: int, shift: int) -> None:
    generator = torch.Generator().manual_seed(31 * query_at + key_at)
    query, key = torch.randn(2, 1, 1, 1, 16, generator=generator, dtype=torch.float64)

    def score(offset: int) -> float:
        turned_query = rotate(query, torch.tensor([query_at + offset]))
        return (turned_query * rotate(key, torch.tensor([key_at + offset]))).sum().item()

    assert score(shift) == pytest.approx(score(0), abs=1e-9)


def test_scores_of_turned_vectors_do_depend_on_distance() -> None:
    vector = torch.ones(1, 1, 1, 16)
    scores = [(vector * rotate(vector, torch.tensor([far]))).sum().item() for far in range(4)]
    assert all(later < earlier - 0.1 for earlier, later in pairwise(scores))


def test_turning_keeps_norms_and_leaves_position_zero_alone() -> None:
    x = torch.randn(2, 3, 7, 10)
    turned = rotate(x, torch.arange(7))
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[:, :, 0], x[:, :, 0])
    assert not torch.allclose(turned[:, :, 1], x[:, :, 1], atol=0.1)


def test_each_pair_is_turned_by_its_own_angle() -> None:
    x, positions = torch.randn(1, 1, 5, 6, dtype=torch.float64), torch.arange(3, 8)
    as_complex = torch.complex(x[..., :3], x[..., 3:]) * torch.exp(1j * angles(positions, 6))
    assert_close(rotate(x, positions), torch.cat([as_complex.real, as_complex.imag], dim=-1))


# --- learned, and none -----------------------------------------------------------------------------------------------


def test_learned_positions_add_the_vector_of_each_position() -> None:
    module = Learned(5, maximum_length=7)
    x = torch.randn(2, 3, 5)
    assert torch.equal(module(x, torch.tensor([4, 5, 6])), x + module.weight[4:7])


def test_a_position_past_the_longest_length_is_an_error_that_says_what_to_do() -> None:
    module = Learned(5, maximum_length=7)
    with pytest.raises(RegardError, match=r"position 8 was asked for.*learned 7 positions.*shorter input"):
        module(torch.randn(2, 3, 5), torch.tensor([5, 6, 7]))


def test_unplaced_embeddings_are_left_as_they_are() -> None:
    x = torch.randn(2, 3, 5)
    assert torch.equal(Unplaced()(x, torch.arange(3)), x)


@pytest.mark.parametrize(
    ("name", "kind"), [("sinusoidal", Sinusoidal), ("learned", Learned), ("rotary", Unplaced), ("none", Unplaced)]
)
def test_every_name_makes_its_kind(name: str, kind: type) -> None:
    made = make_positions(name, 6, maximum_length=11, layout="halves")
    assert type(made) is kind
    if isinstance(made, Learned):
        assert made.weight.shape == (11, 6)
    if isinstance(made, Sinusoidal):
        assert (made.width, made.layout) == (6, "halves")

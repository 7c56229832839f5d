import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.attention.attend import softmax_over_visible
from regard.attention.visibility import causal, real_keys, window
from regard.layers.transformer_block import causal_visibility

places = st.lists(st.integers(0, 20), min_size=1, max_size=7)


@given(places, places)
def test_causal_sees_its_own_position_and_those_before(queries: list[int], keys: list[int]) -> None:
    visible = causal(torch.tensor(queries), torch.tensor(keys))
    assert visible.shape == (1, 1, len(queries), len(keys))
    assert visible[0, 0].tolist() == [[key <= query for key in keys] for query in queries]


@given(places, places, st.integers(0, 5))
def test_window_sees_its_radius_on_both_sides(queries: list[int], keys: list[int], radius: int) -> None:
    visible = window(torch.tensor(queries), torch.tensor(keys), radius=radius)
    assert visible.shape == (1, 1, len(queries), len(keys))
    expected = [[query - radius <= key <= query + radius for key in keys] for query in queries]
    assert visible[0, 0].tolist() == expected


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=3))
def test_every_query_sees_the_tokens_and_no_padding(is_real: list[list[bool]]) -> None:
    visible = real_keys(torch.tensor(is_real))
    assert visible.shape == (len(is_real), 1, 1, 5)
    assert visible[:, 0, 0].tolist() == is_real


@given(st.integers(1, 4), st.integers(1, 7), st.data())
def test_rules_combine_with_and(batch: int, length: int, data: st.DataObject) -> None:
    row = st.lists(st.booleans(), min_size=length, max_size=length)
    is_real = data.draw(st.lists(row, min_size=batch, max_size=batch))
    radius = data.draw(st.integers(0, length))
    positions = torch.arange(length)
    both = causal(positions, positions) & window(positions, positions, radius=radius) & real_keys(torch.tensor(is_real))
    assert both.shape == (batch, 1, length, length)
    for index, real in enumerate(is_real):
        expected = [[real[k] and q - radius <= k <= q for k in range(length)] for q in range(length)]
        assert both[index, 0].tolist() == expected


@given(st.integers(1, 5), st.integers(2, 5))
def test_several_newest_positions_follow_the_causal_rule(past: int, new: int) -> None:
    visible = causal_visibility(torch.arange(past, past + new), past + new)
    assert isinstance(visible, torch.Tensor)
    assert visible[0, 0].tolist() == [[key <= past + query for key in range(past + new)] for query in range(new)]


@given(st.integers(2, 9))
def test_causal_rule_of_whole_sequence_is_a_flag(length: int) -> None:
    assert causal_visibility(torch.arange(length), length) == "causal"


@given(st.integers(1, 9))
def test_single_newest_position_needs_no_mask(length: int) -> None:
    newest = torch.tensor([length - 1])
    assert causal_visibility(newest, length) is None
    assert causal(newest, torch.arange(length)).all()


@given(st.integers(1, 7))
def test_no_mask_means_everything_is_visible(length: int) -> None:
    scores = torch.randn(2, 3, length, length, generator=torch.Generator().manual_seed(length))
    everything = torch.ones(1, 1, length, length, dtype=torch.bool)
    assert torch.equal(softmax_over_visible(scores, None), softmax_over_visible(scores, everything))

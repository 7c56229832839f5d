"""All at once is one at a time: the law that covers caches, causal visibility, positions and the thread of states."""

import contextlib
from itertools import pairwise
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention.hooks import record_attention
from regard.models.interface import repeat_rows, select_rows
from tests.support.small_models import (
    GENERATORS,
    READERS,
    SEERS,
    Case,
    Small,
    cases,
    for_every,
    forced_logits,
    other_tokens,
    seeds,
)

few = settings(max_examples=2)  # of every kind in every precision: over a hundred in all
single = settings(max_examples=1)
choices_of_rows = st.sampled_from([[1, 0, 1], [1], [0, 0], [1, 0], [0]])


@for_every(GENERATORS)
@given(cases(shortest=2), st.data())
@few
def test_parallel_equals_stepwise_in_any_chunks(small: Small, case: Case, data: st.DataObject) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    length = target.shape[1]
    cuts = data.draw(st.sets(st.integers(1, length - 1), min_size=1))
    expected = forced_logits(model, source, target)
    with torch.no_grad():
        small.assert_same(logits_in_pieces(model, source, target, range(1, length)), expected)
        small.assert_same(logits_in_pieces(model, source, target, sorted(cuts)), expected)


@for_every(GENERATORS)
@given(cases(shortest=2))
@single
def test_gradients_are_equal_in_parallel_and_stepwise(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    together = forced_logits(model, source, target)
    stepwise = logits_in_pieces(model, source, target, range(1, target.shape[1]))
    small.assert_same(stepwise, together)
    for actual, expected in zip(gradients(model, stepwise), gradients(model, together), strict=True):
        assert (actual is None) == (expected is None)
        if actual is not None and expected is not None:
            small.assert_same(actual, expected)


@for_every(GENERATORS)
@given(cases(shortest=3))
@single
@torch.no_grad()
def test_two_continuations_of_one_state_are_independent(small: Small, case: Case) -> None:
    model, source, one = small.build(case.seed), small.source(case), case.target.tokens
    other = torch.cat([one[:, :2], other_tokens(one[:, 2:])], dim=1)
    memory = model.encode(source)
    # Two steps in, so that a cache has room for both continuations and is tempted to write them to one place.
    state = model.decode(one[:, 1:2], memory, model.decode(one[:, :1], memory, model.init_state(memory)).state).state
    heads, stepped = [state, state], [[], []]  # type: ignore[var-annotated]
    for step in range(2, one.shape[1]):
        for branch, target in enumerate((one, other)):
            decoded = model.decode(target[:, step : step + 1], memory, heads[branch])
            heads[branch] = decoded.state
            stepped[branch].append(decoded.logits)
    again = model.decode(one[:, 2:], memory, state).logits
    small.assert_same(torch.cat(stepped[0], dim=1), forced_logits(model, source, one)[:, 2:])
    small.assert_same(torch.cat(stepped[1], dim=1), forced_logits(model, source, other)[:, 2:])
    small.assert_same(again, forced_logits(model, source, one)[:, 2:])


# --- rows ------------------------------------------------------------------------------------------------------------


@for_every(GENERATORS)
@given(cases(shortest=2), choices_of_rows)
@single
@torch.no_grad()
def test_row_selection_commutes_with_stepping(small: Small, case: Case, choice: list[int]) -> None:
    model, target, rows = small.build(case.seed), case.target.tokens, torch.tensor(choice)
    memory = model.encode(small.source(case))
    state = model.decode(
        target[:, 1:2], memory, model.decode(target[:, :1], memory, model.init_state(memory)).state
    ).state
    chosen = model.decode(target[rows, 2:], select_rows(memory, rows), select_rows(state, rows))
    small.assert_same(chosen.logits, model.decode(target[:, 2:], memory, state).logits[rows])
    last_twice = torch.tensor([-1, -1]) % len(rows)
    assert_same_tree(select_rows(select_rows(state, rows), last_twice), select_rows(state, rows[last_twice]))
    assert_same_tree(select_rows(state, torch.arange(2)), state)


@for_every(GENERATORS)
@given(cases(), st.sampled_from([3, 1]))
@single
@torch.no_grad()
def test_repeated_rows_stand_side_by_side(small: Small, case: Case, times: int) -> None:
    model, target = small.build(case.seed), case.target.tokens
    memory = model.encode(small.source(case))
    state = model.decode(target, memory, model.init_state(memory)).state
    rows = torch.tensor([row for row in range(2) for _ in range(times)])
    for tree in (memory, state):
        repeated = repeat_rows(tree, times, batch=2, device=target.device)
        assert_same_tree(repeated, select_rows(tree, rows))


@for_every(GENERATORS)
@given(cases(shortest=2), st.sampled_from([3, 1]))
@single
@torch.no_grad()
def test_beams_side_by_side_share_a_memory_row(small: Small, case: Case, times: int) -> None:
    model = small.build(case.seed)
    memory = model.encode(small.source(case))
    tokens = case.target.tokens.flip(1).repeat_interleave(times, dim=0)
    tokens[::times] = case.target.tokens  # hypotheses that differ
    state = repeat_rows(model.init_state(memory), times, batch=2, device=tokens.device)
    shared = model.decode(tokens, memory, state)
    own = model.decode(tokens, repeat_rows(memory, times, batch=2, device=tokens.device), state)
    small.assert_same(shared.logits, own.logits)
    last = tokens[:, -1:]
    small.assert_same(
        model.decode(last, memory, shared.state).logits,
        model.decode(last, repeat_rows(memory, times, batch=2, device=tokens.device), own.state).logits,
    )


@for_every(GENERATORS)
@torch.no_grad()
def test_recording_never_folds_beams(small: Small) -> None:
    case = Case((3, 2), (3, 2), 0)
    model = small.build(case.seed)
    memory = model.encode(small.source(case))
    state = repeat_rows(model.init_state(memory), 3, batch=2, device=case.target.tokens.device)
    with record_attention(model) as recording, contextlib.suppress(ValueError):
        model.decode(case.target.tokens.repeat_interleave(3, dim=0), memory, state)
    assert all(len(layer["weights"]) == 6 for layer in recording.layers.values())  # its own past, at most


# --- recording -------------------------------------------------------------------------------------------------------


@for_every(GENERATORS)
@given(cases(shortest=2))
@single
@torch.no_grad()
def test_recording_changes_nothing_in_parallel_or_stepwise(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    expected = forced_logits(model, source, target)
    with record_attention(model, details=True) as at_once:
        small.assert_same(forced_logits(model, source, target), expected)
    with record_attention(model, details=True) as step_by_step:
        small.assert_same(logits_in_pieces(model, source, target, range(1, target.shape[1])), expected)
    assert at_once.layers.keys() == step_by_step.layers.keys()
    for name, layer in at_once.layers.items():
        for part, seen in layer.items():
            if part in ("scores", "position_bias"):  # of keys that did not exist yet there is none
                visible = layer["visible"]
                small.assert_same(step_by_step.layers[name][part][visible], seen[visible])
            else:
                small.assert_same(step_by_step.layers[name][part], seen)


@for_every(READERS + SEERS)
@given(cases())
@few
def test_recording_changes_nothing_in_a_one_pass_model(small: Small, case: Case) -> None:
    model = small.build(case.seed)
    fed = small.source(case)
    expected = model(fed)
    with record_attention(model):
        small.assert_same(model(fed), expected)


@for_every([name for name in GENERATORS if name.startswith("transformer-pre")])
@given(seeds)
@single
def test_unrecorded_model_keeps_no_weights(small: Small, seed: int) -> None:
    watched, other = small.build(seed), torch.nn.Linear(2, 3)
    case = Case((2, 3), (3, 2), seed)
    with record_attention(other) as recording:
        forced_logits(watched, small.source(case), case.target.tokens)
    assert not recording.layers


def logits_in_pieces(model: Any, source: Any, target: Tensor, cuts: Any) -> Tensor:
    """Logits of a target that is decoded piece by piece, each piece beginning where one of the cuts is."""
    memory = model.encode(source)
    state, logits = model.init_state(memory), []
    for start, end in pairwise([0, *cuts, target.shape[1]]):
        decoded = model.decode(target[:, start:end], memory, state)
        state = decoded.state
        logits.append(decoded.logits)
    return torch.cat(logits, dim=1)


def gradients(model: Any, logits: Tensor) -> tuple[Tensor | None, ...]:
    """Of a loss that no symmetry of the logits can cancel."""
    loss = (logits * torch.linspace(-1, 1, logits.numel(), dtype=logits.dtype).view_as(logits)).sum()
    return torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)


def assert_same_tree(actual: Any, expected: Any) -> None:
    """The same kind of state with exactly the same numbers, wherever they are kept."""
    assert type(actual) is type(expected)
    if isinstance(expected, Tensor):
        assert torch.equal(actual, expected)
    elif isinstance(expected, tuple):
        for one, other in zip(actual, expected, strict=True):
            assert_same_tree(one, other)
    elif hasattr(expected, "buffer"):  # keys and values may be in a larger buffer or in one of their own
        assert_same_tree((actual.key, actual.value, actual.length), (expected.key, expected.value, expected.length))
    elif hasattr(expected, "__dataclass_fields__"):
        assert_same_tree(tuple(vars(actual).values()), tuple(vars(expected).values()))
    else:
        assert actual == expected

"""Torch's RNN, GRU and LSTM with the same weights say the same; ours differs in that states are batch first."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close

from regard.config import RecurrentLayersConfig
from regard.layers.recurrent import RecurrentLayers, RecurrentState
from tests.support.copied_weights import randomise_weights, recurrent_from_torch

BATCH, LENGTH, INPUTS, WIDTH, LAYERS = 3, 7, 5, 11, 2
LENGTHS = (4, 7, 1)
TOLERANCE = {"atol": 1e-5, "rtol": 0.0}

TORCHS_OWN = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
every_cell = pytest.mark.parametrize("cell", list(TORCHS_OWN))
either_direction = pytest.mark.parametrize("bidirectional", [False, True], ids=["forward", "bidirectional"])


def pair(cell: str, *, bidirectional: bool = False) -> tuple[RecurrentLayers, nn.RNNBase]:
    """Ours and torch's, with the same weights; WIDTH is that of one direction."""
    theirs = TORCHS_OWN[cell](INPUTS, WIDTH, LAYERS, batch_first=True, bidirectional=bidirectional)
    randomise_weights(theirs, seed=len(cell))
    sizes = RecurrentLayersConfig(layers=LAYERS, width=WIDTH * (2 if bidirectional else 1))
    ours = RecurrentLayers(cell, INPUTS, sizes, bidirectional=bidirectional)
    recurrent_from_torch(ours, theirs)
    return ours, theirs


def batch_first(last: Tensor, directions: int) -> Tensor:
    """(layers and directions, batch, width) as (batch, layers, both directions side by side), place by place."""
    joined = [
        torch.cat([last[layer * directions + direction] for direction in range(directions)], dim=-1)
        for layer in range(LAYERS)
    ]
    return torch.stack(joined, dim=1)


def state_of(last: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor | None]:
    return (last, None) if isinstance(last, Tensor) else last


@every_cell
@either_direction
def test_outputs_and_last_states_equal_torchs(cell: str, bidirectional: bool) -> None:
    ours, theirs = pair(cell, bidirectional=bidirectional)
    x = torch.randn(BATCH, LENGTH, INPUTS)
    expected, last = theirs(x)
    found, state = ours(x)
    hidden, memory = state_of(last)
    assert_close(found, expected, **TOLERANCE)
    assert_close(state.hidden, batch_first(hidden, ours.directions), **TOLERANCE)
    assert (state.cell is None) == (memory is None)
    if memory is not None:
        assert_close(state.cell, batch_first(memory, ours.directions), **TOLERANCE)


@every_cell
@either_direction
def test_padded_rows_equal_torchs_packed_ones(cell: str, bidirectional: bool) -> None:
    ours, theirs = pair(cell, bidirectional=bidirectional)
    x = torch.randn(BATCH, LENGTH, INPUTS)
    packed, last = theirs(pack_padded_sequence(x, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    found, state = ours(x, lengths=LENGTHS)
    assert_close(found, expected, **TOLERANCE)
    assert_close(state.hidden, batch_first(state_of(last)[0], ours.directions), **TOLERANCE)


@every_cell
@either_direction
def test_a_padded_row_equals_that_row_alone(cell: str, bidirectional: bool) -> None:
    ours, _ = pair(cell, bidirectional=bidirectional)
    x = torch.randn(BATCH, LENGTH, INPUTS)
    found, state = ours(x, lengths=LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone, last = ours(x[row : row + 1, :length])
        assert_close(found[row, :length], alone[0], **TOLERANCE)
        assert_close(state.hidden[row], last.hidden[0], **TOLERANCE)
        assert not found[row, length:].any()


@every_cell
def test_stepwise_equals_parallel(cell: str) -> None:
    ours, theirs = pair(cell)
    x = torch.randn(BATCH, LENGTH, INPUTS)
    state: RecurrentState | None = None
    steps = []
    for step in x.split(1, dim=1):
        found, state = ours(step, state)
        steps.append(found)
    expected, last = theirs(x)
    assert state is not None
    assert_close(torch.cat(steps, dim=1), expected, **TOLERANCE)
    assert_close(state.hidden, batch_first(state_of(last)[0], 1), **TOLERANCE)
    assert_close(state.last_layer, expected[:, -1], **TOLERANCE)

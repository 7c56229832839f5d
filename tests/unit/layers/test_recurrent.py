"""What torch does not have: batch-first states of several layers, and the bridge. See also tests/references."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import RecurrentLayersConfig
from regard.layers.recurrent import CELLS, Bridge, RecurrentLayers, RecurrentState

BATCH, LENGTH, INPUTS = 3, 5, 7

every_cell = pytest.mark.parametrize("cell", list(CELLS))


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@every_cell
@pytest.mark.parametrize("bidirectional", [False, True])
def test_outputs_and_states_have_the_configured_width(cell: str, bidirectional: bool) -> None:
    layer = RecurrentLayers(cell, INPUTS, RecurrentLayersConfig(layers=2, width=22), bidirectional=bidirectional)
    outputs, state = layer(torch.randn(BATCH, LENGTH, INPUTS))
    assert outputs.shape == (BATCH, LENGTH, 22)
    assert state.hidden.shape == (BATCH, 2, 22)
    assert (state.cell is not None) == (cell == "lstm")


@every_cell
def test_state_rows_are_batch_rows(cell: str) -> None:
    layer = RecurrentLayers(cell, INPUTS, RecurrentLayersConfig(layers=2, width=11))
    x, more = torch.randn(BATCH, LENGTH, INPUTS), torch.randn(BATCH, 1, INPUTS)
    order = torch.tensor([2, 0, 1])
    _, state = layer(x)
    chosen = RecurrentState(state.hidden[order], None if state.cell is None else state.cell[order])
    assert_close(layer(more[order], chosen)[0], layer(more, state)[0][order])


@every_cell
def test_dropout_is_between_layers_only(cell: str) -> None:
    x = torch.randn(BATCH, LENGTH, INPUTS)
    one = RecurrentLayers(cell, INPUTS, RecurrentLayersConfig(layers=1, width=11), dropout=0.5).train()
    two = RecurrentLayers(cell, INPUTS, RecurrentLayersConfig(layers=2, width=11), dropout=0.5).train()
    assert torch.equal(one(x)[0], one(x)[0])
    assert not torch.equal(two(x)[0], two(x)[0])
    assert torch.equal(two.eval()(x)[0], two(x)[0])


def state_of(sizes: RecurrentLayersConfig, *, has_cell: bool = True) -> RecurrentState:
    shape = (BATCH, sizes.layers, sizes.width)
    return RecurrentState(torch.randn(shape), torch.randn(shape) if has_cell else None)


def test_bridge_of_equal_sizes_passes_the_state() -> None:
    sizes = RecurrentLayersConfig(layers=2, width=5)
    bridge, state = Bridge(sizes, RecurrentLayersConfig(layers=2, width=5)), state_of(sizes)
    assert bridge(state) is state
    assert not list(bridge.parameters())


@pytest.mark.parametrize(
    "decoder", [RecurrentLayersConfig(layers=3, width=5), RecurrentLayersConfig(layers=2, width=7)]
)
@pytest.mark.parametrize("has_cell", [True, False])
def test_bridge_of_unequal_sizes_gives_decoder_shape(decoder: RecurrentLayersConfig, has_cell: bool) -> None:
    encoder = RecurrentLayersConfig(layers=2, width=5)
    bridge, state = Bridge(encoder, decoder), state_of(encoder, has_cell=has_cell)
    crossed = bridge(state)
    assert crossed.hidden.shape == (BATCH, decoder.layers, decoder.width)
    assert bridge.layer is not None
    assert_close(crossed.hidden.flatten(1), torch.tanh(bridge.layer(state.hidden.flatten(1))))
    assert (crossed.cell is not None) == has_cell
    if crossed.cell is not None:
        assert_close(crossed.cell.flatten(1), torch.tanh(bridge.layer(state.cell.flatten(1))))


def test_the_top_is_the_last_layers_hidden_state() -> None:
    state = state_of(RecurrentLayersConfig(layers=3, width=5))
    assert torch.equal(state.last_layer, state.hidden[:, 2])


@every_cell
@pytest.mark.parametrize("layers", [1, 2])
def test_a_single_step_is_torchs_own(cell: str, layers: int) -> None:
    """Values and gradients; one layer takes its step by the cell alone, two take it as torch does."""
    layer = RecurrentLayers(cell, INPUTS, RecurrentLayersConfig(layers=layers, width=6))
    theirs = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[cell](
        INPUTS, 6, layers, batch_first=True
    )
    theirs.load_state_dict(layer.rnn.state_dict())
    x, first = torch.randn(BATCH, 1, INPUTS), [torch.randn(BATCH, layers, 6) for _ in range(1 + (cell == "lstm"))]
    outputs, state = layer(x, RecurrentState(first[0], first[1] if cell == "lstm" else None))
    layer_first = [part.transpose(0, 1).contiguous() for part in first]
    expected, last = theirs(x, tuple(layer_first) if cell == "lstm" else layer_first[0])
    last = last if cell == "lstm" else (last,)
    assert_close(outputs, expected)
    for own, their in zip((state.hidden, state.cell), last, strict=False):
        assert_close(own, their.transpose(0, 1))
    (outputs.sum() + state.hidden.square().sum()).backward()
    (expected.sum() + last[0].square().sum()).backward()
    for name, parameter in theirs.named_parameters():
        assert_close(layer.rnn.get_parameter(name).grad, parameter.grad)

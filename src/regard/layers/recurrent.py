"""Recurrent layers: RNN, GRU and LSTM, the bridge from encoder to decoder, and the initial state of a captioner.

Everything is batch first: the rows of a state are the rows of the batch, so a beam can select them. To add a cell,
write a class with its `name` and `formula`, list it in `CELLS`, and add its name to `CellType` in config.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.attention.hooks import edit, has_edits
from regard.config import RecurrentLayersConfig


class StepwiseRNN(nn.RNNBase):
    """A recurrent layer that runs a single step by its cell function: torch's layers are made for whole sequences.

    At width 256 an LSTM step with one row takes a third of the time, and a training step, forward and backward, half.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    cell: Callable[..., Tensor | tuple[Tensor, Tensor]]  # torch's function: input, state, then the four weights

    def forward(self, x: Tensor | PackedSequence, state: Any = None) -> Any:
        is_step = isinstance(x, Tensor) and x.shape[1] == 1 and state is not None
        is_step = is_step and self.num_layers == 1 and not self.bidirectional
        run: Callable[..., Any] = self._step if is_step else super().forward
        device = x.device if isinstance(x, Tensor) else x.data.device
        is_cpu_autocast = device.type == "cpu" and torch.is_autocast_enabled("cpu")
        if not is_cpu_autocast or (not is_step and self._supports_bfloat16_sequences()):
            return run(x, state)
        with torch.autocast("cpu", enabled=False):  # a step in bfloat16 would keep rounded weights for the gradient
            if isinstance(state, tuple):
                return run(x.float(), tuple(part.float() for part in state))
            return run(x.float(), None if state is None else state.float())

    def _step(self, x: Tensor, state: Any) -> Any:
        before = state[0] if isinstance(state, Tensor) else tuple(part[0] for part in state)  # there is one layer
        after = self.cell(x.squeeze(1), before, *self.all_weights[0])
        if isinstance(after, Tensor):
            return after.unsqueeze(1), after.unsqueeze(0)
        return after[0].unsqueeze(1), (after[0].unsqueeze(0), after[1].unsqueeze(0))

    def _supports_bfloat16_sequences(self) -> bool:
        """Whether torch runs sequences in bfloat16 on this CPU: its LSTM fails without AVX-512."""
        return not isinstance(self, nn.LSTM) or bool(torch.cpu.get_capabilities().get("avx512_bw", False))


class RNN(StepwiseRNN, nn.RNN):
    """The simple recurrent network (Elman, 1990)."""

    name = "rnn"
    formula = "h_t = tanh(W x_t + U h_{t-1} + b)"
    cell = staticmethod(torch.rnn_tanh_cell)


class GRU(StepwiseRNN, nn.GRU):
    """The gated recurrent unit (Cho et al., 2014)."""

    name = "gru"
    formula = "h_t = (1 - z_t) n_t + z_t h_{t-1},  n_t = tanh(W x_t + r_t (U h_{t-1} + b))"
    cell = staticmethod(torch.gru_cell)


class LSTM(StepwiseRNN, nn.LSTM):
    """The long short-term memory (Hochreiter and Schmidhuber, 1997)."""

    name = "lstm"
    formula = "h_t = o_t tanh(c_t),  c_t = f_t c_{t-1} + i_t tanh(W x_t + U h_{t-1} + b)"
    cell = staticmethod(torch.lstm_cell)


CELLS = {cell.name: cell for cell in (RNN, GRU, LSTM)}


@dataclass(frozen=True)
class RecurrentState:
    """The hidden state of each layer and, for an LSTM, its cell; and how many positions a decoder has read."""

    hidden: Float[Tensor, "B L W"]
    cell: Float[Tensor, "B L W"] | None
    length: int = 0

    @property
    def last_layer(self) -> Float[Tensor, "B W"]:
        """The hidden state of the last layer."""
        return self.hidden[:, -1]

    def next_positions(self, count: int) -> range:
        """The positions of the next tokens."""
        return range(self.length, self.length + count)


class RecurrentLayers(nn.Module):
    """A stack of RNN, GRU or LSTM layers, in one direction or two."""

    def __init__(
        self,
        cell: str,
        input_width: int,
        sizes: RecurrentLayersConfig,
        *,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.rnn = CELLS[cell](
            input_width,
            sizes.width // self.directions,
            sizes.layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if sizes.layers > 1 else 0.0,
        )

    def forward(
        self,
        x: Float[Tensor, "B T input_width"],
        state: RecurrentState | None = None,
        *,
        lengths: tuple[int, ...] | None = None,
    ) -> tuple[Float[Tensor, "B T W"], RecurrentState]:
        """The last layer's state at each position, and the final states of all layers; `lengths` excludes padding."""
        packed = x if lengths is None else pack_padded_sequence(x, torch.tensor(lengths), True, False)
        outputs, last = self.rnn(packed, None if state is None else _layer_first(state))
        if lengths is not None:
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        length = 0 if state is None else state.length + x.shape[1]  # an encoder has no state to start from
        if isinstance(last, Tensor):
            return outputs, RecurrentState(self._concatenate_directions(last), None, length)
        hidden, cell = map(self._concatenate_directions, last)
        return outputs, RecurrentState(hidden, cell, length)

    def _concatenate_directions(self, last: Float[Tensor, "LD B W"]) -> Float[Tensor, "B L DW"]:
        """Batch first, with both directions of a layer side by side."""
        layers = last.shape[0] // self.directions
        return last.view(layers, self.directions, *last.shape[1:]).permute(2, 0, 1, 3).flatten(2)


def _layer_first(state: RecurrentState) -> Tensor | tuple[Tensor, Tensor]:
    """A state as torch's layers take it."""
    hidden = state.hidden.transpose(0, 1).contiguous()
    return hidden if state.cell is None else (hidden, state.cell.transpose(0, 1).contiguous())


class InitialState(nn.Module):
    """The initial state of a decoder, computed from one vector: h_0 = tanh(W z), and likewise an LSTM's cell."""

    def __init__(self, input_width: int, cell: str, decoder: RecurrentLayersConfig) -> None:
        super().__init__()
        self.shape = (decoder.layers, decoder.width)
        self.hidden = nn.Linear(input_width, decoder.layers * decoder.width)
        self.cell = nn.Linear(input_width, decoder.layers * decoder.width) if cell == "lstm" else None

    def forward(self, z: Float[Tensor, "B input_width"]) -> RecurrentState:
        hidden = torch.tanh(self.hidden(z)).view(-1, *self.shape)
        return RecurrentState(hidden, None if self.cell is None else torch.tanh(self.cell(z)).view(-1, *self.shape))


class Bridge(nn.Module):
    """From the encoder's final state to the decoder's initial state: unchanged if the sizes agree, else projected.

    The cell of an LSTM goes through the same layer as its hidden state: both summarise the same source.
    """

    def __init__(self, encoder: RecurrentLayersConfig, decoder: RecurrentLayersConfig) -> None:
        super().__init__()
        self.shape = (decoder.layers, decoder.width)
        self.layer = (
            None if encoder == decoder else nn.Linear(encoder.layers * encoder.width, decoder.layers * decoder.width)
        )

    def forward(self, last: RecurrentState) -> RecurrentState:
        if self.layer is None:
            return last
        return RecurrentState(self._project(last.hidden), None if last.cell is None else self._project(last.cell))

    def _project(self, state: Float[Tensor, "B L W"]) -> Float[Tensor, "B layers width"]:
        return torch.tanh(self.layer(state.flatten(1))).view(-1, *self.shape)  # type: ignore[misc]


def edit_last_state(model: nn.Module, last: RecurrentState) -> RecurrentState:
    """The last state of an encoder, after the edits of the model's memory, to which it is one vector for a source."""
    if not has_edits(model):
        return last
    parts = [last.hidden] if last.cell is None else [last.hidden, last.cell]
    layers = torch.cat(parts, dim=1)
    edited = edit(model, "memory", layers.flatten(1).unsqueeze(1)).view_as(layers)
    hidden, *cell = edited.chunk(len(parts), dim=1)
    return RecurrentState(hidden, cell[0] if cell else None, last.length)


def repeat_for_beams(embedded: Float[Tensor, "N T E"], context: Float[Tensor, "B C"]) -> Float[Tensor, "N T C"]:
    """The context of its source for every token of every hypothesis."""
    rows, length, _ = embedded.shape
    return context[:, None, None].expand(-1, rows // len(context), length, -1).reshape(rows, length, -1)

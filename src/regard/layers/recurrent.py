"""Recurrent layers, batch first throughout: a state's rows are the batch's rows, so that a beam can choose them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.config import RecurrentStack


class SingleSteps(nn.RNNBase):
    """A recurrent layer that takes a single step by its cell alone: torch's own way is made for whole sequences.

    At width 256 an LSTM's step with one row takes a third of the time so, and a step in training, back and forth, half.
    """

    cell: Callable[..., Tensor | tuple[Tensor, Tensor]]  # as torch has it: input, state, then the four weights

    def forward(self, x: Tensor | PackedSequence, state: Any = None) -> Any:
        is_step = isinstance(x, Tensor) and x.shape[1] == 1 and state is not None
        is_step = is_step and self.num_layers == 1 and not self.bidirectional
        takes: Callable[..., Any] = self._step if is_step else super().forward
        if not _is_rounded_on_a_processor(x) or (not is_step and self._has_narrow_sequences()):
            return takes(x, state)
        with torch.autocast("cpu", enabled=False):
            return takes(x.float(), _in_float32(state))

    def _step(self, x: Tensor, state: Any) -> Any:
        """By the cell; in float32 on a processor, for rounded weights would be kept for the gradient at every step."""
        before = state[0] if isinstance(state, Tensor) else tuple(part[0] for part in state)  # of the one layer
        after = self.cell(x.squeeze(1), before, *self.all_weights[0])
        if isinstance(after, Tensor):
            return after.unsqueeze(1), after.unsqueeze(0)
        return after[0].unsqueeze(1), (after[0].unsqueeze(0), after[1].unsqueeze(0))

    def _has_narrow_sequences(self) -> bool:
        """Whether torch takes sequences in bfloat16 on this processor: its LSTM fails where there is no AVX-512."""
        return not isinstance(self, nn.LSTM) or bool(torch.cpu.get_capabilities().get("avx512_bw", False))


def _is_rounded_on_a_processor(x: Tensor | PackedSequence) -> bool:
    device = x.device if isinstance(x, Tensor) else x.data.device
    return device.type == "cpu" and torch.is_autocast_enabled("cpu")


def _in_float32(state: Any) -> Any:
    if state is None or isinstance(state, Tensor):
        return state if state is None else state.float()
    return tuple(part.float() for part in state)


class PlainRecurrence(SingleSteps, nn.RNN):
    """h_t = tanh(W x_t + U h_{t-1} + b)."""

    cell = staticmethod(torch.rnn_tanh_cell)


class GatedRecurrence(SingleSteps, nn.GRU):
    """The gated recurrent unit (Cho et al., 2014)."""

    cell = staticmethod(torch.gru_cell)


class LongShortTermMemory(SingleSteps, nn.LSTM):
    """The LSTM (Hochreiter and Schmidhuber, 1997)."""

    cell = staticmethod(torch.lstm_cell)


CELLS = {"rnn": PlainRecurrence, "gru": GatedRecurrence, "lstm": LongShortTermMemory}


@dataclass(frozen=True)
class RecurrentState:
    """Each layer's hidden state and, for an LSTM, its cell."""

    hidden: Float[Tensor, "B L W"]
    cell: Float[Tensor, "B L W"] | None

    @property
    def top(self) -> Float[Tensor, "B W"]:
        """The last layer's hidden state."""
        return self.hidden[:, -1]


class Recurrent(nn.Module):
    """An RNN, GRU or LSTM of several layers, in one direction or in two."""

    def __init__(
        self, cell: str, inputs: int, sizes: RecurrentStack, *, bidirectional: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.rnn = CELLS[cell](
            inputs,
            sizes.width // self.directions,
            sizes.layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if sizes.layers > 1 else 0.0,
        )

    def forward(
        self,
        x: Float[Tensor, "B T inputs"],
        state: RecurrentState | None = None,
        *,
        lengths: tuple[int, ...] | None = None,
    ) -> tuple[Float[Tensor, "B T W"], RecurrentState]:
        """The top layer's state at each position, and all layers' last states; with lengths, padding is never read."""
        packed = x if lengths is None else pack_padded_sequence(x, torch.tensor(lengths), True, False)
        outputs, last = self.rnn(packed, None if state is None else self._to_torch(state))
        if lengths is not None:
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        return outputs, self._from_torch(last)

    def _to_torch(self, state: RecurrentState) -> Tensor | tuple[Tensor, Tensor]:
        hidden = state.hidden.transpose(0, 1).contiguous()  # torch keeps states layer first
        return hidden if state.cell is None else (hidden, state.cell.transpose(0, 1).contiguous())

    def _from_torch(self, last: Tensor | tuple[Tensor, Tensor]) -> RecurrentState:
        if isinstance(last, Tensor):
            return RecurrentState(self._joined(last), None)
        return RecurrentState(self._joined(last[0]), self._joined(last[1]))

    def _joined(self, last: Float[Tensor, "LD B W"]) -> Float[Tensor, "B L DW"]:
        """Both directions of a layer side by side."""
        layers = last.shape[0] // self.directions
        return last.view(layers, self.directions, *last.shape[1:]).permute(2, 0, 1, 3).flatten(2)


class FirstState(nn.Module):
    """What a decoder begins with, made from one vector: h_0 = f(z), and an LSTM's cell likewise."""

    def __init__(self, inputs: int, cell: str, decoder: RecurrentStack) -> None:
        super().__init__()
        self.shape = (decoder.layers, decoder.width)
        self.hidden = nn.Linear(inputs, decoder.layers * decoder.width)
        self.cell = nn.Linear(inputs, decoder.layers * decoder.width) if cell == "lstm" else None

    def forward(self, z: Float[Tensor, "B inputs"]) -> RecurrentState:
        hidden = torch.tanh(self.hidden(z)).view(-1, *self.shape)
        return RecurrentState(hidden, None if self.cell is None else torch.tanh(self.cell(z)).view(-1, *self.shape))


class Bridge(nn.Module):
    """From the encoder's last state to the decoder's first: handed over where the sizes agree, else through a layer.

    An LSTM's cell goes through the same layer as its hidden state: both are summaries of the same source.
    """

    def __init__(self, encoder: RecurrentStack, decoder: RecurrentStack) -> None:
        super().__init__()
        self.shape = (decoder.layers, decoder.width)
        self.layer = (
            None if encoder == decoder else nn.Linear(encoder.layers * encoder.width, decoder.layers * decoder.width)
        )

    def forward(self, last: RecurrentState) -> RecurrentState:
        if self.layer is None:
            return last
        return RecurrentState(self._across(last.hidden), None if last.cell is None else self._across(last.cell))

    def _across(self, state: Float[Tensor, "B L W"]) -> Float[Tensor, "B layers width"]:
        return torch.tanh(self.layer(state.flatten(1))).view(-1, *self.shape)  # type: ignore[misc]

r"""The RNN that attends: at every step the decoder looks back at all of the source.

    encoder    h_i: forward and backward states side by side
    previous   c_t = attend(s_{t-1}, h),   s_t = g(y_{t-1}, c_t, s_{t-1})         Bahdanau et al., 2015; notes 002, 004
    current    s_t = g(y_{t-1}, s_{t-1}),  c_t = attend(s_t, h)                   Luong et al., 2015; note 000
    both       joined_t = tanh(W [s_t; c_t]) goes to the output layer

With input feeding (Luong), "current" also reads the last joined_{t-1}, so that it knows what it has looked at.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.general import Attention, Visible
from regard.attention.key_values import KeyValues
from regard.attention.visibility import real_keys
from regard.batch import Padded
from regard.config import AttendingConfig
from regard.layers.dropout import Dropout
from regard.layers.embedding import TokenEmbedding, output_layer
from regard.layers.hypotheses import together
from regard.layers.recurrent import Bridge, Recurrent, RecurrentState
from regard.models.interface import Decoded


@dataclass(frozen=True)
class Annotations:
    """The encoder's states, ready to be looked at, and what the decoder begins with."""

    key_values: KeyValues
    visible: Visible
    first: RecurrentState


@dataclass(frozen=True)
class AttendingState:
    """The decoder's recurrent state and, with input feeding, what was joined before the last output."""

    recurrent: RecurrentState
    joined: Float[Tensor, "B W"] | None


class AttendingModel(nn.Module):
    """A bidirectional encoder, and a decoder that attends with any of the four scores in either wiring."""

    longest = None

    def __init__(self, config: AttendingConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        memory, width = config.encoder.width, config.decoder.width
        self.wiring, self.input_feeding = config.wiring, config.input_feeding
        self.source_embedding = TokenEmbedding(source_vocabulary, config.embedding)
        self.target_embedding = TokenEmbedding(target_vocabulary, config.embedding)
        self.encoder = Recurrent(
            config.cell, config.embedding, config.encoder, bidirectional=True, dropout=config.dropout
        )
        self.bridge = Bridge(config.encoder, config.decoder)
        fed = memory if config.wiring == "previous" else width if config.input_feeding else 0
        self.decoder = Recurrent(config.cell, config.embedding + fed, config.decoder, dropout=config.dropout)
        self.cross_attention = Attention(width, memory, score=config.score)
        self.join = nn.Linear(width + memory, width)
        self.output = nn.Linear(width, target_vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Padded) -> Annotations:
        embedded = self.dropout(self.source_embedding(source.tokens))
        states, last = self.encoder(embedded, lengths=source.lengths)
        visible = real_keys(source.is_real) if source.has_padding else None
        return Annotations(self.cross_attention.key_values(states), visible, self.bridge(last))

    def start(self, memory: Annotations) -> AttendingState:
        nothing = torch.zeros_like(memory.first.top) if self.input_feeding else None
        return AttendingState(memory.first, nothing)

    def decode(self, tokens: Int[Tensor, "B T"], memory: Annotations, state: AttendingState) -> Decoded:
        embedded = self.dropout(self.target_embedding(tokens))
        if self.wiring == "current" and not self.input_feeding:  # no step waits for the attention of the one before
            joined, state = self._step(embedded, memory, state)
        else:
            steps = []
            for embedded_token in embedded.split(1, dim=1):
                joined, state = self._step(embedded_token, memory, state)
                steps.append(joined)
            joined = torch.cat(steps, dim=1)
        return Decoded(self.dropout(joined), output_layer(self.output), state)

    def _step(
        self, embedded: Float[Tensor, "B T E"], memory: Annotations, state: AttendingState
    ) -> tuple[Float[Tensor, "B T W"], AttendingState]:
        if self.wiring == "previous":
            context = self._context(state.recurrent.top.unsqueeze(1), memory)
            hidden, recurrent = self.decoder(torch.cat([embedded, context], dim=-1), state.recurrent)
        else:
            if state.joined is not None:
                embedded = torch.cat([embedded, state.joined.unsqueeze(1)], dim=-1)
            hidden, recurrent = self.decoder(embedded, state.recurrent)
            context = self._context(hidden, memory)
        joined = torch.tanh(self.join(torch.cat([hidden, context], dim=-1)))
        return joined, AttendingState(recurrent, joined[:, -1] if self.input_feeding else None)

    def _context(self, asking: Float[Tensor, "B T W"], memory: Annotations) -> Float[Tensor, "B T M"]:
        queries = together(self.cross_attention, asking, memory.key_values)
        return self.cross_attention(queries, memory.key_values, memory.visible).context.view(*asking.shape[:2], -1)  # type: ignore[no-any-return]

r"""A captioner that attends: before every word the decoder looks at all places of the picture.

    eye       z_ij: features at each place of the grid                                   Xu et al., 2015; note 004
    look      e_tij = f_att(h_{t-1}, z_ij),  a_t = softmax(e_t),  c_t = sum_ij a_tij z_ij
    gate      c_t = sigmoid(W_g h_{t-1}) c_t                                             where the config has it
    decoder   h_0 = f(mean z),  h_t = g(y_{t-1}, c_t, h_{t-1})
    output    tanh(W [h_t; c_t]) goes to the output layer

Doubly stochastic attention adds sum_ij (1 - sum_t a_tij)^2 to the loss: every place should be looked at in its turn.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.general import Attention
from regard.attention.key_values import KeyValues
from regard.batch import Grid, Pictures
from regard.config import AttendingCaptionerConfig
from regard.layers.dropout import Dropout
from regard.layers.embedding import TokenEmbedding, output_layer
from regard.layers.eye import Eye
from regard.layers.grid import Places
from regard.layers.hypotheses import together
from regard.layers.recurrent import FirstState, Recurrent, RecurrentState
from regard.models.interface import Decoded
from regard.symbols import PADDING


@dataclass(frozen=True)
class Scene:
    """The places of the picture, ready to be looked at, and what the decoder begins with."""

    key_values: KeyValues
    first: RecurrentState


class AttendingCaptioner(nn.Module):
    """A recurrent decoder that looks at the grid with any of the four scores."""

    longest = None

    def __init__(self, config: AttendingCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        width = config.decoder.width
        self.doubly_stochastic = config.doubly_stochastic
        self.eye = Eye(config.eye)
        self.places = Places(self.eye.width, width, dropout=config.dropout)
        self.first = FirstState(width, config.cell, config.decoder)
        self.embedding = TokenEmbedding(vocabulary, config.embedding)
        self.picture_attention = Attention(width, width, score=config.score)
        self.gate = nn.Linear(width, width) if config.gate else None
        self.decoder = Recurrent(config.cell, config.embedding + width, config.decoder, dropout=config.dropout)
        self.join = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Pictures | Grid) -> Scene:
        places = self.places(self.eye(source))
        return Scene(self.picture_attention.key_values(places), self.first(places.mean(dim=1)))

    def start(self, memory: Scene) -> RecurrentState:
        return memory.first

    def decode(self, tokens: Int[Tensor, "B T"], memory: Scene, state: RecurrentState) -> Decoded:
        steps, looks = [], []
        for embedded in self.dropout(self.embedding(tokens)).split(1, dim=1):
            found, weights, state = self._step(embedded, memory, state)
            steps.append(found)
            looks.append(weights)
        joined = torch.tanh(self.join(torch.cat(steps, dim=1)))
        return Decoded(self.dropout(joined), output_layer(self.output), state, self._penalty(tokens, looks))

    def _step(
        self, embedded: Float[Tensor, "B 1 E"], memory: Scene, state: RecurrentState
    ) -> tuple[Float[Tensor, "B 1 HC"], Float[Tensor, "B 1 P"], RecurrentState]:
        """The new state beside what was looked at for it, how it was looked at, and the state in full."""
        asking = state.top.unsqueeze(1)
        found = self.picture_attention(together(self.picture_attention, asking, memory.key_values), memory.key_values)
        context, weights = (part.view(len(asking), 1, -1) for part in found)
        if self.gate is not None:
            context = torch.sigmoid(self.gate(asking)) * context
        hidden, state = self.decoder(torch.cat([embedded, context], dim=-1), state)
        return torch.cat([hidden, context], dim=-1), weights, state

    def _penalty(self, tokens: Int[Tensor, "B T"], looks: list[Float[Tensor, "B 1 P"]]) -> Float[Tensor, " B"] | None:
        """How far each place's weights over the real words are from one; nothing where nobody trains."""
        if not (self.training and self.doubly_stochastic):
            return None
        is_real = (tokens != PADDING).unsqueeze(-1)
        looked_at = (torch.cat(looks, dim=1) * is_real).sum(dim=1)  # (B, P)
        return self.doubly_stochastic * (1 - looked_at).square().sum(dim=1)

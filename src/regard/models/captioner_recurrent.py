r"""A captioner without attention: the whole picture must pass through one vector.

eye       z: the mean over the places of the grid          Vinyals et al., 2015
decoder   h_0 = f(z),   h_t = g(y_{t-1}, h_{t-1}, z)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.batch import Grid, Pictures
from regard.config import RecurrentCaptionerConfig
from regard.layers.dropout import Dropout
from regard.layers.embedding import TokenEmbedding, output_layer
from regard.layers.eye import Eye
from regard.layers.hypotheses import beside
from regard.layers.recurrent import FirstState, Recurrent, RecurrentState
from regard.models.interface import Decoded


@dataclass(frozen=True)
class Glance:
    """All that is known of the picture: one vector, and what the decoder begins with."""

    context: Float[Tensor, "B E"]
    first: RecurrentState


class RecurrentCaptioner(nn.Module):
    """The picture's vector is the decoder's first state, and is fed to it again at every step."""

    longest = None

    def __init__(self, config: RecurrentCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        self.eye = Eye(config.eye)
        self.summary = nn.Linear(self.eye.width, config.embedding)
        self.first = FirstState(config.embedding, config.cell, config.decoder)
        self.embedding = TokenEmbedding(vocabulary, config.embedding)
        self.decoder = Recurrent(config.cell, 2 * config.embedding, config.decoder, dropout=config.dropout)
        self.output = nn.Linear(config.decoder.width, vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Pictures | Grid) -> Glance:
        mean = self.eye(source).mean(dim=(2, 3))
        context = torch.tanh(self.summary(self.dropout(mean)))
        return Glance(context, self.first(context))

    def start(self, memory: Glance) -> RecurrentState:
        return memory.first

    def decode(self, tokens: Int[Tensor, "B T"], memory: Glance, state: RecurrentState) -> Decoded:
        embedded = self.dropout(self.embedding(tokens))
        hidden, state = self.decoder(torch.cat([embedded, beside(embedded, memory.context)], dim=-1), state)
        return Decoded(self.dropout(hidden), output_layer(self.output), state)

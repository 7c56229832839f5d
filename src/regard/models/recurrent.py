r"""The sequence-to-sequence RNN: the whole source must pass through one vector.

encoder   h_t = f(x_t, h_{t-1}),   context c = h_S          Sutskever et al., 2014; Cho et al., 2014
decoder   s_0 = c,   s_t = g(y_{t-1}, s_{t-1}, c)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.batch import Padded
from regard.config import RecurrentConfig
from regard.layers.dropout import Dropout
from regard.layers.embedding import TokenEmbedding, output_layer
from regard.layers.hypotheses import beside
from regard.layers.recurrent import Bridge, Recurrent, RecurrentState
from regard.models.interface import Decoded


@dataclass(frozen=True)
class Context:
    """All that is known of the source: the encoder's last state, and what the decoder begins with."""

    context: Float[Tensor, "B C"]
    first: RecurrentState


class RecurrentModel(nn.Module):
    """The context is the decoder's first state, and is fed to it again at every step."""

    longest = None

    def __init__(self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.source_embedding = TokenEmbedding(source_vocabulary, config.embedding)
        self.target_embedding = TokenEmbedding(target_vocabulary, config.embedding)
        self.encoder = Recurrent(config.cell, config.embedding, config.encoder, dropout=config.dropout)
        self.bridge = Bridge(config.encoder, config.decoder)
        inputs = config.embedding + config.encoder.width
        self.decoder = Recurrent(config.cell, inputs, config.decoder, dropout=config.dropout)
        self.output = nn.Linear(config.decoder.width, target_vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Padded) -> Context:
        embedded = self.dropout(self.source_embedding(source.tokens))
        _, last = self.encoder(embedded, lengths=source.lengths)
        return Context(last.top, self.bridge(last))

    def start(self, memory: Context) -> RecurrentState:
        return memory.first

    def decode(self, tokens: Int[Tensor, "B T"], memory: Context, state: RecurrentState) -> Decoded:
        embedded = self.dropout(self.target_embedding(tokens))
        hidden, state = self.decoder(torch.cat([embedded, beside(embedded, memory.context)], dim=-1), state)
        return Decoded(self.dropout(hidden), output_layer(self.output), state)

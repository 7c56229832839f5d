r"""The sequence-to-sequence RNN: one vector carries the whole source to the decoder.

encoder   h_t = f(x_t, h_{t-1}),   context c = h_S          Sutskever et al., 2014; Cho et al., 2014
decoder   s_0 = c,   s_t = g(y_{t-1}, s_{t-1}, c)
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.hooks import edit
from regard.batch import PaddedTokens
from regard.config import RNNConfig
from regard.cpu_speedups import Dropout
from regard.layers.embedding import OutputProjection, TokenEmbedding
from regard.layers.recurrent import Bridge, RecurrentLayers, RecurrentState, edit_last_state, repeat_for_beams
from regard.models.interface import DecoderOutput


@dataclass(frozen=True)
class FixedContext:
    """The last hidden state of the encoder, and the initial state of the decoder."""

    context: Float[Tensor, "B C"]
    initial_state: RecurrentState


class RNNModel(nn.Module):
    """The context is the decoder's initial state, and part of its input at every step."""

    max_positions = None

    def __init__(self, config: RNNConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.source_embedding = TokenEmbedding(source_vocabulary, config.embedding_width)
        self.target_embedding = TokenEmbedding(target_vocabulary, config.embedding_width)
        self.encoder = RecurrentLayers(config.cell, config.embedding_width, config.encoder, dropout=config.dropout)
        self.bridge = Bridge(config.encoder, config.decoder)
        inputs = config.embedding_width + config.encoder.width
        self.decoder = RecurrentLayers(config.cell, inputs, config.decoder, dropout=config.dropout)
        self.output = nn.Linear(config.decoder.width, target_vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: PaddedTokens) -> FixedContext:
        embedded = self.dropout(edit(self.source_embedding, "token", self.source_embedding(source.tokens)))
        last = edit_last_state(self, self.encoder(embedded, lengths=source.lengths)[1])
        return FixedContext(last.last_layer, self.bridge(last))

    def init_state(self, memory: FixedContext) -> RecurrentState:
        return memory.initial_state

    def decode(self, tokens: Int[Tensor, "B T"], memory: FixedContext, state: RecurrentState) -> DecoderOutput:
        token_vectors, positions = self.target_embedding(tokens), state.next_positions(tokens.shape[1])
        embedded = self.dropout(edit(self.target_embedding, "token", token_vectors, positions))
        hidden, state = self.decoder(torch.cat([embedded, repeat_for_beams(embedded, memory.context)], dim=-1), state)
        return DecoderOutput(self.dropout(hidden), OutputProjection.from_linear(self.output), state)

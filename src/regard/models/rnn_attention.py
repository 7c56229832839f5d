r"""The RNN with attention: at every step the decoder attends to all states of the encoder.

    encoder    h_i: forward and backward states side by side
    previous   c_t = attend(s_{t-1}, h),   s_t = g(y_{t-1}, c_t, s_{t-1})         Bahdanau et al., 2015
    current    s_t = g(y_{t-1}, s_{t-1}),  c_t = attend(s_t, h)                   Luong et al., 2015
    both       attentional_state_t = tanh(W [s_t; c_t]) goes to the output layer

With input feeding (Luong), "current" also takes attentional_state_{t-1} as input, which carries the earlier contexts.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.attend_with_score import Visible
from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import edit
from regard.attention.key_value_cache import KeyValues, fold_beams
from regard.attention.visibility import real_keys
from regard.batch import PaddedTokens
from regard.config import AttentionRNNConfig
from regard.cpu_speedups import Dropout
from regard.layers.embedding import OutputProjection, TokenEmbedding
from regard.layers.recurrent import Bridge, RecurrentLayers, RecurrentState
from regard.models.interface import DecoderOutput


@dataclass(frozen=True)
class EncoderStates:
    """The keys and values of the encoder's states, and the initial state of the decoder."""

    key_values: KeyValues
    visible: Visible
    initial_state: RecurrentState


@dataclass(frozen=True)
class AttentionRNNState:
    """The recurrent state of the decoder and, with input feeding, the last attentional state."""

    recurrent: RecurrentState
    attentional_state: Float[Tensor, "B W"] | None


class AttentionRNNModel(nn.Module):
    """A bidirectional encoder, and a decoder with any score; the query is its previous or its current state."""

    max_positions = None

    def __init__(self, config: AttentionRNNConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        memory, width = config.encoder.width, config.decoder.width
        self.query_state, self.input_feeding = config.query_state, config.input_feeding
        self.source_embedding = TokenEmbedding(source_vocabulary, config.embedding_width)
        self.target_embedding = TokenEmbedding(target_vocabulary, config.embedding_width)
        self.encoder = RecurrentLayers(
            config.cell, config.embedding_width, config.encoder, bidirectional=True, dropout=config.dropout
        )
        self.bridge = Bridge(config.encoder, config.decoder)
        fed_width = memory if config.query_state == "previous" else width if config.input_feeding else 0
        self.decoder = RecurrentLayers(
            config.cell, config.embedding_width + fed_width, config.decoder, dropout=config.dropout
        )
        self.cross_attention = AttentionLayer(width, memory, score=config.score)
        self.attentional_layer = nn.Linear(width + memory, width)
        self.output = nn.Linear(width, target_vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: PaddedTokens) -> EncoderStates:
        embedded = self.dropout(edit(self.source_embedding, "token", self.source_embedding(source.tokens)))
        states, last = self.encoder(embedded, lengths=source.lengths)
        states = edit(self, "memory", states)
        visible = real_keys(source.is_real) if source.has_padding else None
        return EncoderStates(self.cross_attention.key_values(states), visible, self.bridge(last))

    def init_state(self, memory: EncoderStates) -> AttentionRNNState:
        zeros = torch.zeros_like(memory.initial_state.last_layer) if self.input_feeding else None
        return AttentionRNNState(memory.initial_state, zeros)

    def decode(self, tokens: Int[Tensor, "B T"], memory: EncoderStates, state: AttentionRNNState) -> DecoderOutput:
        token_vectors, positions = self.target_embedding(tokens), state.recurrent.next_positions(tokens.shape[1])
        embedded = self.dropout(edit(self.target_embedding, "token", token_vectors, positions))
        if self.query_state == "current" and not self.input_feeding:  # no step depends on the context of the last one
            attentional_state, state = self._step(embedded, memory, state)
        else:
            steps = []
            for embedded_token in embedded.split(1, dim=1):
                attentional_state, state = self._step(embedded_token, memory, state)
                steps.append(attentional_state)
            attentional_state = torch.cat(steps, dim=1)
        return DecoderOutput(self.dropout(attentional_state), OutputProjection.from_linear(self.output), state)

    def _step(
        self, embedded: Float[Tensor, "B T E"], memory: EncoderStates, state: AttentionRNNState
    ) -> tuple[Float[Tensor, "B T W"], AttentionRNNState]:
        positions = state.recurrent.next_positions(embedded.shape[1])
        if self.query_state == "previous":
            context = self._context(state.recurrent.last_layer.unsqueeze(1), memory, positions)
            hidden, recurrent = self.decoder(torch.cat([embedded, context], dim=-1), state.recurrent)
        else:
            if state.attentional_state is not None:
                embedded = torch.cat([embedded, state.attentional_state.unsqueeze(1)], dim=-1)
            hidden, recurrent = self.decoder(embedded, state.recurrent)
            context = self._context(hidden, memory, positions)
        attentional_state = torch.tanh(self.attentional_layer(torch.cat([hidden, context], dim=-1)))
        return attentional_state, AttentionRNNState(recurrent, attentional_state[:, -1] if self.input_feeding else None)

    def _context(
        self, query: Float[Tensor, "B T W"], memory: EncoderStates, positions: range
    ) -> Float[Tensor, "B T M"]:
        queries = fold_beams(self.cross_attention, query, memory.key_values)
        attended = self.cross_attention(queries, memory.key_values, memory.visible, positions=positions)
        context: Tensor = attended.context
        return context.view(*query.shape[:2], -1)

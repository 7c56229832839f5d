r"""Image captioners: without attention, with attention, and a Transformer decoder.

    RNN               z: the mean over the cells of the grid                                    Vinyals et al., 2015
                      h_0 = f(z),  h_t = g(y_{t-1}, h_{t-1}, z)

    RNN, attention    z_ij: the features of each cell of the grid                               Xu et al., 2015
                      e_tij = f_att(h_{t-1}, z_ij),  a_t = softmax(e_t),  c_t = sum_ij a_tij z_ij
                      gated: c_t = sigmoid(W_g h_{t-1}) c_t
                      h_0 = f(mean z),  h_t = g(y_{t-1}, c_t, h_{t-1});  tanh(W [h_t; c_t]) goes to the output layer

    Transformer       decoder blocks with cross-attention to the cells of the grid

Doubly stochastic attention adds sum_ij (1 - sum_t a_tij)^2 to the loss, so that every cell is attended to at some step.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import edit
from regard.attention.key_value_cache import KeyValues, fold_beams
from regard.batch import ImageFeatures, Images
from regard.config import AttentionRNNCaptionerConfig, RNNCaptionerConfig, TransformerCaptionerConfig
from regard.cpu_speedups import Dropout
from regard.layers.embedding import OutputProjection, PositionedEmbedding, TokenEmbedding
from regard.layers.image_encoders import GridProjection, ImageEncoder
from regard.layers.positions import make_positions
from regard.layers.recurrent import InitialState, RecurrentLayers, RecurrentState, repeat_for_beams
from regard.layers.transformer_block import (
    BlockOptions,
    CrossAttentionMemory,
    DecoderCache,
    TransformerStack,
    causal_visibility,
    init_xavier,
)
from regard.models.interface import DecoderOutput
from regard.special_tokens import PADDING


@dataclass(frozen=True)
class ImageContext:
    """One vector for the image, and the initial state of the decoder."""

    context: Float[Tensor, "B E"]
    initial_state: RecurrentState


class RNNCaptioner(nn.Module):
    """The vector of the image gives the decoder's initial state, and is part of its input at every step."""

    max_positions = None

    def __init__(self, config: RNNCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        self.image_encoder = ImageEncoder(config.image_encoder, dropout=config.dropout)
        self.image_summary = nn.Linear(self.image_encoder.width, config.embedding_width)
        self.initial_state = InitialState(config.embedding_width, config.cell, config.decoder)
        self.embedding = TokenEmbedding(vocabulary, config.embedding_width)
        self.decoder = RecurrentLayers(config.cell, 2 * config.embedding_width, config.decoder, dropout=config.dropout)
        self.output = nn.Linear(config.decoder.width, vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Images | ImageFeatures) -> ImageContext:
        mean = self.image_encoder(source).mean(dim=(2, 3))
        context = edit(self, "memory", torch.tanh(self.image_summary(self.dropout(mean))).unsqueeze(1)).squeeze(1)
        return ImageContext(context, self.initial_state(context))

    def init_state(self, memory: ImageContext) -> RecurrentState:
        return memory.initial_state

    def decode(self, tokens: Int[Tensor, "B T"], memory: ImageContext, state: RecurrentState) -> DecoderOutput:
        token_vectors, positions = self.embedding(tokens), state.next_positions(tokens.shape[1])
        embedded = self.dropout(edit(self.embedding, "token", token_vectors, positions))
        hidden, state = self.decoder(torch.cat([embedded, repeat_for_beams(embedded, memory.context)], dim=-1), state)
        return DecoderOutput(self.dropout(hidden), OutputProjection.from_linear(self.output), state)


@dataclass(frozen=True)
class ImageMemory:
    """The keys and values of the grid cells, and the initial state of the decoder."""

    key_values: KeyValues
    initial_state: RecurrentState


class AttentionRNNCaptioner(nn.Module):
    """A recurrent decoder that attends to the grid with any score; a gate scales the context."""

    max_positions = None

    def __init__(self, config: AttentionRNNCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        width = config.decoder.width
        self.doubly_stochastic = config.doubly_stochastic
        self.image_encoder = ImageEncoder(config.image_encoder, dropout=config.dropout)
        self.grid_projection = GridProjection(self.image_encoder.width, width, dropout=config.dropout)
        self.initial_state = InitialState(width, config.cell, config.decoder)
        self.embedding = TokenEmbedding(vocabulary, config.embedding_width)
        self.image_attention = AttentionLayer(width, width, score=config.score)
        self.gate = nn.Linear(width, width)
        self.decoder = RecurrentLayers(
            config.cell, config.embedding_width + width, config.decoder, dropout=config.dropout
        )
        self.attentional_layer = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, vocabulary)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Images | ImageFeatures) -> ImageMemory:
        cells = edit(self, "memory", self.grid_projection(self.image_encoder(source)))
        return ImageMemory(self.image_attention.key_values(cells), self.initial_state(cells.mean(dim=1)))

    def init_state(self, memory: ImageMemory) -> RecurrentState:
        return memory.initial_state

    def decode(self, tokens: Int[Tensor, "B T"], memory: ImageMemory, state: RecurrentState) -> DecoderOutput:
        steps, step_weights = [], []
        token_vectors, positions = self.embedding(tokens), state.next_positions(tokens.shape[1])
        for embedded in self.dropout(edit(self.embedding, "token", token_vectors, positions)).split(1, dim=1):
            query = state.last_layer.unsqueeze(1)
            queries = fold_beams(self.image_attention, query, memory.key_values)
            attended = self.image_attention(queries, memory.key_values, positions=state.next_positions(1))
            context, weights = (part.view(len(query), 1, -1) for part in attended)
            context = torch.sigmoid(self.gate(query)) * context
            hidden, state = self.decoder(torch.cat([embedded, context], dim=-1), state)
            steps.append(torch.cat([hidden, context], dim=-1))
            step_weights.append(weights)
        attentional_state = torch.tanh(self.attentional_layer(torch.cat(steps, dim=1)))
        return DecoderOutput(
            self.dropout(attentional_state),
            OutputProjection.from_linear(self.output),
            state,
            self._doubly_stochastic_loss(tokens, step_weights),
        )

    def _doubly_stochastic_loss(
        self, tokens: Int[Tensor, "B T"], step_weights: list[Float[Tensor, "B 1 P"]]
    ) -> Float[Tensor, " B"] | None:
        """The squared distance from one of each cell's weights, summed over the tokens; None outside of training."""
        if not (self.training and self.doubly_stochastic):
            return None
        is_real = (tokens != PADDING).unsqueeze(-1)
        total_weights = (torch.cat(step_weights, dim=1) * is_real).sum(dim=1)  # (B, P)
        return self.doubly_stochastic * (1 - total_weights).square().sum(dim=1)


class TransformerCaptioner(nn.Module):
    """The Transformer's decoder, with the grid cells of an image as its memory."""

    def __init__(self, config: TransformerCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        width = config.decoder.width
        self.max_positions = config.max_positions
        self.image_encoder = ImageEncoder(config.image_encoder, dropout=config.dropout)
        self.grid_projection = GridProjection(self.image_encoder.width, width, dropout=config.dropout)
        positions = make_positions(config, config.decoder, is_causal=True)
        tokens = TokenEmbedding(vocabulary, width, scaled=True)
        self.embedding = PositionedEmbedding(tokens, positions, dropout=config.dropout)
        options = BlockOptions.from_style(config, positions)
        self.image_decoder = TransformerStack(config.decoder, options, memory_width=width)
        init_xavier(self)

    def encode(self, source: Images | ImageFeatures) -> CrossAttentionMemory:
        cells = edit(self, "memory", self.grid_projection(self.image_encoder(source)))
        return self.image_decoder.project_memory(cells, None)

    def init_state(self, memory: CrossAttentionMemory) -> DecoderCache:
        return DecoderCache.empty(len(memory.key_values))

    def decode(self, tokens: Int[Tensor, "B T"], memory: CrossAttentionMemory, state: DecoderCache) -> DecoderOutput:
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        embedded = self.embedding(tokens, positions)
        visible = causal_visibility(positions, length)
        hidden, cache = self.image_decoder(embedded, visible, positions, cache=state, memory=memory)
        return DecoderOutput(hidden, self.embedding.tokens.tied_projection(), cache)

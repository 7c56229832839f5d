"""The Transformer (Vaswani et al., 2017).

Encoder blocks attend to the whole source; decoder blocks attend to earlier positions, then to the encoder's last layer.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention.visibility import real_keys
from regard.batch import PaddedTokens
from regard.config import TransformerConfig
from regard.layers.embedding import OutputProjection, PositionedEmbedding, TokenEmbedding
from regard.layers.positions import make_positions
from regard.layers.transformer_block import (
    BlockOptions,
    CrossAttentionMemory,
    DecoderCache,
    TransformerStack,
    causal_visibility,
    init_xavier,
)
from regard.models.interface import DecoderOutput


class TransformerModel(nn.Module):
    """Encoder and decoder, of equal or unequal sizes; pre- or post-norm; self-attention or SSRU in the decoder."""

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        source = TokenEmbedding(source_vocabulary, config.encoder.width, scaled=True)
        target = source
        if not config.share_embeddings:
            target = TokenEmbedding(target_vocabulary, config.decoder.width, scaled=True)
        self.source_embedding = _positioned_embedding(source, config.encoder.width, config)
        self.target_embedding = _positioned_embedding(target, config.decoder.width, config)
        self.encoder = TransformerStack(config.encoder, _block_options(config, "self-attention", self.source_embedding))
        decoder_options = _block_options(config, config.decoder_autoregression, self.target_embedding)
        self.decoder = TransformerStack(config.decoder, decoder_options, memory_width=config.encoder.width)
        self.output = None if config.tie_word_embeddings else nn.Linear(config.decoder.width, target_vocabulary)
        init_xavier(self)

    def encode(self, source: PaddedTokens) -> CrossAttentionMemory:
        positions = torch.arange(source.tokens.shape[1], device=source.tokens.device)
        visible = real_keys(source.is_real) if source.has_padding else None
        encoded, _ = self.encoder(self.source_embedding(source.tokens, positions), visible, positions)
        return self.decoder.project_memory(encoded, visible)

    def init_state(self, memory: CrossAttentionMemory) -> DecoderCache:
        return DecoderCache.empty(len(memory.key_values))

    def decode(self, tokens: Int[Tensor, "B T"], memory: CrossAttentionMemory, state: DecoderCache) -> DecoderOutput:
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        visible = causal_visibility(positions, length)
        embedded = self.target_embedding(tokens, positions)
        hidden, cache = self.decoder(embedded, visible, positions, cache=state, memory=memory)
        tied = self.target_embedding.tokens.tied_projection()
        return DecoderOutput(hidden, tied if self.output is None else OutputProjection.from_linear(self.output), cache)


def _positioned_embedding(tokens: TokenEmbedding, width: int, config: TransformerConfig) -> PositionedEmbedding:
    positions = make_positions(config.positions, width, max_position_embeddings=config.max_position_embeddings)
    return PositionedEmbedding(tokens, positions, dropout=config.dropout)


def _block_options(config: TransformerConfig, autoregression: str, embedding: PositionedEmbedding) -> BlockOptions:
    return BlockOptions(
        norm=config.norm,
        activation=config.activation,
        autoregression=autoregression,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        rotate=embedding.positions.rotate,
    )

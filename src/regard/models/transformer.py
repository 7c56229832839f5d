"""The Transformer (Vaswani et al., 2017).

Encoder blocks attend to the whole source; decoder blocks attend to earlier positions, then to the encoder's last layer.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.hooks import edit
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

    output_mask: Float[Tensor, " V"] | None

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        reading = {"scaled": config.scale_embeddings, "zero_begin": config.zero_begin}
        source = TokenEmbedding(source_vocabulary, config.encoder.width, **reading)
        target = source
        if not config.share_embeddings:
            target = TokenEmbedding(target_vocabulary, config.decoder.width, **reading)
        source_positions = make_positions(config, config.encoder, is_causal=False)
        target_positions = make_positions(config, config.decoder, is_causal=True)
        self.source_embedding = PositionedEmbedding(source, source_positions, dropout=config.dropout)
        self.target_embedding = PositionedEmbedding(target, target_positions, dropout=config.dropout)
        self.encoder = TransformerStack(config.encoder, BlockOptions.from_style(config, source_positions))
        options = BlockOptions.from_style(config, target_positions, autoregression=config.decoder_autoregression)
        self.decoder = TransformerStack(config.decoder, options, memory_width=config.encoder.width)
        width, has_mask = config.decoder.width, config.output_mask
        self.output = None if config.tie_word_embeddings else nn.Linear(width, target_vocabulary, bias=not has_mask)
        has_bias = config.tie_word_embeddings and config.output_bias
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary)) if has_bias else None
        self.register_buffer("output_mask", torch.zeros(target_vocabulary) if has_mask else None)
        self.output_scale = width**-0.5 if config.scale_output else 1.0
        self.source_end = config.source_end
        init_xavier(self)

    def encode(self, source: PaddedTokens) -> CrossAttentionMemory:
        positions = torch.arange(source.tokens.shape[1], device=source.tokens.device)
        is_real = source.is_real
        if not self.source_end:
            is_real = is_real & is_real.roll(-1, dims=1)  # the last token of each row is END
            is_real[:, -1] = False
        visible = real_keys(is_real) if source.has_padding or not self.source_end else None
        encoded, _ = self.encoder(self.source_embedding(source.tokens, positions), visible, positions)
        return self.decoder.project_memory(edit(self, "memory", encoded, positions), visible)

    def init_state(self, memory: CrossAttentionMemory) -> DecoderCache:
        return DecoderCache.empty(len(memory.key_values))

    def decode(self, tokens: Int[Tensor, "B T"], memory: CrossAttentionMemory, state: DecoderCache) -> DecoderOutput:
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        visible = causal_visibility(positions, length)
        embedded = self.target_embedding(tokens, positions)
        hidden, cache = self.decoder(embedded, visible, positions, cache=state, memory=memory)
        tied = self.target_embedding.tokens.tied_projection(self.output_bias)
        projection = tied if self.output is None else OutputProjection.from_linear(self.output)
        if self.output_mask is not None:
            projection = OutputProjection(projection.weight, self.output_mask)
        return DecoderOutput(hidden if self.output_scale == 1.0 else hidden * self.output_scale, projection, cache)

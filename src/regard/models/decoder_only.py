"""A causal language model: the decoder alone (GPT: Radford et al., 2018). The prompt is a prefix."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.batch import PaddedTokens
from regard.config import DecoderOnlyConfig
from regard.layers.embedding import OutputProjection, PositionedEmbedding, TokenEmbedding
from regard.layers.positions import make_positions
from regard.layers.transformer_block import BlockOptions, DecoderCache, TransformerStack, causal_visibility, init_xavier
from regard.models.interface import DecoderOutput


@dataclass(frozen=True)
class EmptyMemory:
    """A memory without content: it has the rows of the batch, and no columns."""

    rows: Float[Tensor, "B 0"]


class DecoderOnlyModel(nn.Module):
    """Blocks of causal self-attention; the embedding table is the output layer, unless that has its own weights."""

    output_mask: Float[Tensor, " V"] | None

    def __init__(self, config: DecoderOnlyConfig, vocabulary: int) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        width = config.transformer.width
        positions = make_positions(config, config.transformer, is_causal=True)
        tokens = TokenEmbedding(vocabulary, width)
        self.embedding = PositionedEmbedding(tokens, positions, dropout=config.dropout)
        options = BlockOptions.from_style(config, positions)
        self.decoder = TransformerStack(config.transformer, options)
        self.output = None if config.tie_word_embeddings else nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("output_mask", torch.zeros(vocabulary) if config.output_mask else None)
        init_xavier(self)

    def encode(self, source: PaddedTokens) -> EmptyMemory:
        """A memory with as many rows as the source; its tokens are not used."""
        return EmptyMemory(self.embedding.tokens.weight.new_empty(source.tokens.shape[0], 0))

    def init_state(self, memory: EmptyMemory) -> DecoderCache:  # noqa: ARG002
        return DecoderCache.empty(len(self.decoder.blocks))

    def decode(self, tokens: Int[Tensor, "B T"], memory: EmptyMemory, state: DecoderCache) -> DecoderOutput:  # noqa: ARG002
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        visible = causal_visibility(positions, length)
        hidden, cache = self.decoder(self.embedding(tokens, positions), visible, positions, cache=state)
        weight = self.embedding.tokens.weight if self.output is None else self.output.weight
        return DecoderOutput(hidden, OutputProjection(weight, self.output_mask), cache)

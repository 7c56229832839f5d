"""A language model: the decoder alone. Its memory is empty: what it goes on from is a prefix of its own output."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.batch import Padded
from regard.config import DecoderOnlyConfig
from regard.layers.blocks import BlockStack, BlockStyle, Past, causal_newest, initialise
from regard.layers.embedding import PlacedEmbedding, TokenEmbedding
from regard.layers.positions import make_positions, rotate
from regard.models.interface import Decoded


@dataclass(frozen=True)
class Nothing:
    """A memory of nothing: it has the batch's rows, and no columns."""

    rows: Float[Tensor, "B 0"]


class DecoderOnlyModel(nn.Module):
    """Blocks of masked self-attention, with the embedding table as the output layer (GPT: Radford et al., 2018)."""

    def __init__(self, config: DecoderOnlyConfig, vocabulary: int) -> None:
        super().__init__()
        self.longest = config.maximum_length if config.positions == "learned" else None
        width = config.stack.width
        positions = make_positions(config.positions, width, maximum_length=config.maximum_length)
        tokens = TokenEmbedding(vocabulary, width)
        self.embedding = PlacedEmbedding(tokens, positions, dropout=config.dropout)
        turning = rotate if config.positions == "rotary" else None
        style = BlockStyle(norm=config.norm, activation=config.activation, dropout=config.dropout, rotate=turning)
        self.decoder = BlockStack(config.stack, style)
        initialise(self)

    def encode(self, source: Padded) -> Nothing:
        """Nothing of the source but how many rows it has."""
        return Nothing(self.embedding.tokens.weight.new_empty(source.tokens.shape[0], 0))

    def start(self, memory: Nothing) -> Past:  # noqa: ARG002
        return Past.empty(len(self.decoder.blocks))

    def decode(self, tokens: Int[Tensor, "B T"], memory: Nothing, state: Past) -> Decoded:  # noqa: ARG002
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        visible = causal_newest(positions, length)
        hidden, past = self.decoder(self.embedding(tokens, positions), visible, positions, past=state)
        return Decoded(hidden, self.embedding.tokens.output(), past)

"""A Transformer that describes pictures: decoder blocks that look at their own past, then at the places of the grid."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.batch import Grid, Pictures
from regard.config import TransformerCaptionerConfig
from regard.layers.blocks import BlockStack, BlockStyle, Past, Sight, causal_newest, initialise
from regard.layers.embedding import PlacedEmbedding, TokenEmbedding, output_layer
from regard.layers.eye import Eye
from regard.layers.grid import Places
from regard.layers.positions import make_positions, rotate
from regard.models.interface import Decoded


class TransformerCaptioner(nn.Module):
    """The Transformer's decoder, with the places of a picture in the place of an encoded sentence."""

    def __init__(self, config: TransformerCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        width = config.decoder.width
        self.longest = config.maximum_length if config.positions == "learned" else None
        self.eye = Eye(config.eye)
        self.places = Places(self.eye.width, width, dropout=config.dropout)
        positions = make_positions(config.positions, width, maximum_length=config.maximum_length)
        tokens = TokenEmbedding(vocabulary, width, scaled=True)
        self.embedding = PlacedEmbedding(tokens, positions, dropout=config.dropout)
        turning = rotate if config.positions == "rotary" else None
        style = BlockStyle(norm=config.norm, activation=config.activation, dropout=config.dropout, rotate=turning)
        self.picture_decoder = BlockStack(config.decoder, style, memory_width=width)
        self.output = None if config.tie_output else nn.Linear(width, vocabulary)
        initialise(self)

    def encode(self, source: Pictures | Grid) -> Sight:
        return self.picture_decoder.look_at(self.places(self.eye(source)), None)

    def start(self, memory: Sight) -> Past:
        return Past.empty(len(memory.key_values))

    def decode(self, tokens: Int[Tensor, "B T"], memory: Sight, state: Past) -> Decoded:
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        embedded = self.embedding(tokens, positions)
        visible = causal_newest(positions, length)
        hidden, past = self.picture_decoder(embedded, visible, positions, past=state, sight=memory)
        output = self.embedding.tokens.output() if self.output is None else output_layer(self.output)
        return Decoded(hidden, output, past)

"""The Transformer: attention and nothing else, every position at once (Vaswani et al., 2017).

Encoder blocks look at the whole source; decoder blocks look at their own past, then at the encoder's last layer.
"""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention.visibility import real_keys
from regard.batch import Padded
from regard.config import TransformerConfig
from regard.layers.blocks import BlockStack, BlockStyle, Past, Sight, causal_newest, initialise
from regard.layers.embedding import PlacedEmbedding, TokenEmbedding, output_layer
from regard.layers.positions import make_positions, rotate
from regard.models.interface import Decoded


class TransformerModel(nn.Module):
    """Encoder and decoder, of equal or unequal sizes; pre- or post-norm; attention or SSRU over the decoder's past."""

    def __init__(self, config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.longest = config.maximum_length if config.positions == "learned" else None
        source = TokenEmbedding(source_vocabulary, config.encoder.width, scaled=True)
        target = source
        if not config.share_embeddings:
            target = TokenEmbedding(target_vocabulary, config.decoder.width, scaled=True)
        self.source_embedding = _placed(source, config.encoder.width, config)
        self.target_embedding = _placed(target, config.decoder.width, config)
        self.encoder = BlockStack(config.encoder, _style(config, mixer="attention"))
        decoder_style = _style(config, mixer=config.mixer)
        self.decoder = BlockStack(config.decoder, decoder_style, memory_width=config.encoder.width)
        self.output = None if config.tie_output else nn.Linear(config.decoder.width, target_vocabulary)
        initialise(self)

    def encode(self, source: Padded) -> Sight:
        positions = torch.arange(source.tokens.shape[1], device=source.tokens.device)
        visible = real_keys(source.is_real) if source.has_padding else None
        encoded, _ = self.encoder(self.source_embedding(source.tokens, positions), visible, positions)
        return self.decoder.look_at(encoded, visible)

    def start(self, memory: Sight) -> Past:
        return Past.empty(len(memory.key_values))

    def decode(self, tokens: Int[Tensor, "B T"], memory: Sight, state: Past) -> Decoded:
        length = state.length + tokens.shape[1]
        positions = torch.arange(state.length, length, device=tokens.device)
        visible = causal_newest(positions, length)
        embedded = self.target_embedding(tokens, positions)
        hidden, past = self.decoder(embedded, visible, positions, past=state, sight=memory)
        output = self.target_embedding.tokens.output() if self.output is None else output_layer(self.output)
        return Decoded(hidden, output, past)


def _placed(tokens: TokenEmbedding, width: int, config: TransformerConfig) -> PlacedEmbedding:
    positions = make_positions(config.positions, width, maximum_length=config.maximum_length, layout=config.layout)
    return PlacedEmbedding(tokens, positions, dropout=config.dropout)


def _style(config: TransformerConfig, *, mixer: str) -> BlockStyle:
    return BlockStyle(
        norm=config.norm,
        activation=config.activation,
        mixer=mixer,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        inner_dropout=config.inner_dropout,
        rotate=rotate if config.positions == "rotary" else None,
    )

"""A reader: the encoder alone, with a head that names masked tokens or a class (BERT: Devlin et al., 2019)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.visibility import real_keys
from regard.batch import Padded
from regard.config import EncoderOnlyConfig
from regard.layers.blocks import BlockStack, BlockStyle, initialise
from regard.layers.dropout import Dropout
from regard.layers.embedding import Output, PlacedEmbedding, TokenEmbedding
from regard.layers.feed_forward import ACTIVATIONS
from regard.layers.positions import make_positions, rotate
from regard.models.interface import Decoded


class EncoderOnlyModel(nn.Module):
    """`encode` gives a vector for each token; calling the model gives what its head says of them."""

    def __init__(self, config: EncoderOnlyConfig, vocabulary: int) -> None:
        super().__init__()
        self.longest = config.maximum_length if config.positions == "learned" else None
        width = config.stack.width
        positions = make_positions(config.positions, width, maximum_length=config.maximum_length)
        self.embedding = PlacedEmbedding(TokenEmbedding(vocabulary, width), positions, dropout=0.0)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(config.dropout)
        turning = rotate if config.positions == "rotary" else None
        style = BlockStyle(norm=config.norm, activation=config.activation, dropout=config.dropout, rotate=turning)
        self.encoder = BlockStack(config.stack, style)
        self.head = ClassHead(width, config) if config.classes else MaskedTokenHead(self.embedding.tokens, config)
        initialise(self)

    def encode(self, source: Padded) -> Float[Tensor, "B T W"]:
        positions = torch.arange(source.tokens.shape[1], device=source.tokens.device)
        visible = real_keys(source.is_real) if source.has_padding else None
        embedded = self.dropout(self.norm(self.embedding(source.tokens, positions)))
        encoded, _ = self.encoder(embedded, visible, positions)
        return encoded  # type: ignore[no-any-return]

    def read(self, source: Padded) -> Decoded:
        """What may stand at each place, by the head that names tokens."""
        if not isinstance(self.head, MaskedTokenHead):
            raise ValueError("this model's head names classes, and no tokens")
        return Decoded(self.head.transformed(self.encode(source)), self.head.output(), state=None)

    def forward(self, source: Padded) -> Float[Tensor, "..."]:
        """Logits over the vocabulary for each token (B, T, V), or over the classes for each row (B, classes)."""
        logits: Tensor = self.head(self.encode(source))
        return logits


class MaskedTokenHead(nn.Module):
    """What token stands at each position: the embedding table is the output layer, with a bias of its own."""

    def __init__(self, tokens: TokenEmbedding, config: EncoderOnlyConfig) -> None:
        super().__init__()
        self.tokens = tokens
        self.transform = nn.Linear(config.stack.width, config.stack.width)
        self.activation = ACTIVATIONS[config.activation]()
        self.norm = nn.LayerNorm(config.stack.width)
        self.bias = nn.Parameter(torch.zeros(len(tokens.weight)))

    def transformed(self, encoded: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """What the output layer is applied to."""
        return self.norm(self.activation(self.transform(encoded)))  # type: ignore[no-any-return]

    def output(self) -> Output:
        return Output(self.tokens.weight, self.bias)

    def forward(self, encoded: Float[Tensor, "B T W"]) -> Float[Tensor, "B T V"]:
        return self.output()(self.transformed(encoded))


class ClassHead(nn.Module):
    """What class a row belongs to, read off its first token."""

    def __init__(self, width: int, config: EncoderOnlyConfig) -> None:
        super().__init__()
        self.pool = nn.Linear(width, width)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, config.classes)

    def forward(self, encoded: Float[Tensor, "B T W"]) -> Float[Tensor, "B classes"]:
        logits: Tensor = self.output(self.dropout(torch.tanh(self.pool(encoded[:, 0]))))
        return logits

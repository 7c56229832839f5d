"""The encoder alone, with a head that predicts masked tokens or a class (BERT: Devlin et al., 2019)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.hooks import edit
from regard.attention.visibility import real_keys
from regard.batch import PaddedTokens
from regard.config import EncoderOnlyConfig
from regard.cpu_speedups import Dropout
from regard.layers.embedding import OutputProjection, PositionedEmbedding, TokenEmbedding
from regard.layers.positions import make_positions
from regard.layers.transformer_block import ACTIVATIONS, BlockOptions, TransformerStack, init_xavier
from regard.models.interface import DecoderOutput


class EncoderOnlyModel(nn.Module):
    """`encode` returns a vector for each token; calling the model returns the logits of its head."""

    def __init__(self, config: EncoderOnlyConfig, vocabulary: int) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        width = config.transformer.width
        positions = make_positions(config, config.transformer, is_causal=False)
        self.embedding = PositionedEmbedding(TokenEmbedding(vocabulary, width), positions, dropout=0.0)
        self.norm = nn.LayerNorm(width, config.norm_epsilon)
        self.dropout = Dropout(config.dropout)
        options = BlockOptions.from_style(config, positions)
        self.encoder = TransformerStack(config.transformer, options)
        self.head: ClassHead | MaskedTokenHead | None = None
        if config.classes:
            self.head = ClassHead(width, config)
        elif config.masked_head:
            self.head = MaskedTokenHead(self.embedding.tokens, config)
        init_xavier(self)

    def encode(self, source: PaddedTokens) -> Float[Tensor, "B T W"]:
        positions = torch.arange(source.tokens.shape[1], device=source.tokens.device)
        visible = real_keys(source.is_real) if source.has_padding else None
        embedded = self.embedding(source.tokens, positions)
        normalised = self.dropout(edit(self, "norm", self.norm(embedded), without=embedded))
        return edit(self, "memory", self.encoder(normalised, visible, positions)[0], positions)

    def predict(self, source: PaddedTokens) -> DecoderOutput:
        """Predict the token at each position or, with a class head, the class of each row (at its one position).

        Without a head, the logits are the dot products of the hidden states with the tokens' vectors.
        """
        encoded = self.encode(source)
        match self.head:
            case MaskedTokenHead() as head:
                return DecoderOutput(head.transform_hidden(encoded), head.projection(), state=None)
            case ClassHead() as head:
                return DecoderOutput(head.pool(encoded, source), OutputProjection.from_linear(head.output), state=None)
        return DecoderOutput(encoded, self.embedding.tokens.tied_projection(), state=None)

    def forward(self, source: PaddedTokens) -> Float[Tensor, "..."]:
        """Logits over the vocabulary for each token (B, T, V), or over the classes for each row (B, classes)."""
        logits = self.predict(source).logits
        return logits[:, 0] if isinstance(self.head, ClassHead) else logits


class MaskedTokenHead(nn.Module):
    """Predicts the token at each position; the embedding table is the output layer, with its own bias."""

    def __init__(self, tokens: TokenEmbedding, config: EncoderOnlyConfig) -> None:
        super().__init__()
        self.tokens = tokens
        self.transform = nn.Linear(config.transformer.width, config.transformer.width)
        self.activation = ACTIVATIONS[config.activation]()
        self.norm = nn.LayerNorm(config.transformer.width, config.norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(len(tokens.weight)))

    def transform_hidden(self, encoded: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """The hidden states that the output layer is applied to."""
        hidden: Tensor = self.norm(self.activation(self.transform(encoded)))
        return hidden

    def projection(self) -> OutputProjection:
        return OutputProjection(self.tokens.weight, self.bias)


class ClassHead(nn.Module):
    """Predicts the class of a row from its first token, or from the mean of its tokens."""

    def __init__(self, width: int, config: EncoderOnlyConfig) -> None:
        super().__init__()
        self.pooling = config.pooling
        self.activation = torch.relu if config.pooler_activation == "relu" else torch.tanh
        self.dense = nn.Linear(width, width)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, config.classes)

    def pool(self, encoded: Float[Tensor, "B T W"], source: PaddedTokens) -> Float[Tensor, "B 1 W"]:
        """The hidden state of each row, to which the output layer is applied."""
        if self.pooling == "first":
            pooled = encoded[:, :1]
        else:
            is_real = source.is_real.unsqueeze(-1)
            pooled = (encoded * is_real).sum(dim=1, keepdim=True) / is_real.sum(dim=1, keepdim=True).clamp(min=1)
        hidden: Tensor = self.dropout(self.activation(self.dense(pooled)))
        return hidden

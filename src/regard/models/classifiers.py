r"""Classifiers of texts and of images, besides the encoder-only model with a class head.

    RNN, attention    h_i: forward and backward states side by side                             Yang et al., 2016
                      a = softmax(score(u, h)),  c = sum_i a_i h_i  with a learned query u;  logits = W c

    image             z_ij: the features of each cell of an image encoder's grid
                      c: their mean, or their sum weighted by attention with a learned query, or the vector of a class
                      token that attended to them (Vision Transformer);  logits = W c

`predict` returns one position for each row, whose output layer is over the classes, so that training, evaluation and
traces treat a class as they treat a token.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import edit
from regard.attention.visibility import real_keys
from regard.batch import ImageFeatures, Images, PaddedTokens
from regard.config import AttentionRNNClassifierConfig, ImageClassifierConfig
from regard.cpu_speedups import Dropout
from regard.layers.embedding import OutputProjection, TokenEmbedding
from regard.layers.image_encoders import ImageEncoder, flatten_grid
from regard.layers.recurrent import RecurrentLayers
from regard.models.interface import DecoderOutput


class AttentionPooling(nn.Module):
    """A sequence of vectors as one: the context of a learned query, the same for every input."""

    def __init__(self, width: int, score: str) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(width).div(width**0.5))
        self.cross_attention = AttentionLayer(width, width, score=score)

    def forward(
        self, vectors: Float[Tensor, "B T W"], visible: Bool[Tensor, "..."] | None = None
    ) -> Float[Tensor, "B 1 W"]:
        query = self.query.expand(len(vectors), 1, -1)
        context: Tensor = self.cross_attention(query, self.cross_attention.key_values(vectors), visible).context
        return context


class AttentionRNNClassifier(nn.Module):
    """A bidirectional RNN whose states are pooled by attention; the weights show the words behind a decision."""

    max_positions = None

    def __init__(self, config: AttentionRNNClassifierConfig, vocabulary: int) -> None:
        super().__init__()
        width = config.encoder.width
        self.source_embedding = TokenEmbedding(vocabulary, config.embedding_width)
        self.encoder = RecurrentLayers(
            config.cell, config.embedding_width, config.encoder, bidirectional=True, dropout=config.dropout
        )
        self.pooling = AttentionPooling(width, config.score)
        self.output = nn.Linear(width, config.classes)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: PaddedTokens) -> Float[Tensor, "B T W"]:
        embedded = self.dropout(edit(self.source_embedding, "token", self.source_embedding(source.tokens)))
        states, _ = self.encoder(embedded, lengths=source.lengths)
        return edit(self, "memory", states)

    def predict(self, source: PaddedTokens) -> DecoderOutput:
        """Predict the class of each row."""
        visible = real_keys(source.is_real) if source.has_padding else None
        pooled = self.pooling(self.encode(source), visible)
        return DecoderOutput(self.dropout(pooled), OutputProjection.from_linear(self.output), state=None)

    def forward(self, source: PaddedTokens) -> Float[Tensor, "B classes"]:
        return self.predict(source).logits[:, 0]


class ImageClassifier(nn.Module):
    """An image encoder whose grid is pooled into one vector."""

    max_positions = None

    def __init__(self, config: ImageClassifierConfig) -> None:
        super().__init__()
        self.image_encoder = ImageEncoder(config.image_encoder, dropout=config.dropout)
        width = self.image_encoder.width
        self.has_class_token = config.pooling == "first"
        self.image_pooling = AttentionPooling(width, config.score) if config.pooling == "attention" else None
        self.output = nn.Linear(width, config.classes)
        self.dropout = Dropout(config.dropout)

    def encode(self, source: Images | ImageFeatures) -> Float[Tensor, "B P W"]:
        if self.has_class_token and isinstance(source, Images):
            return edit(self, "memory", self.image_encoder.tokens(source))
        return edit(self, "memory", flatten_grid(self.image_encoder(source)))

    def predict(self, source: Images | ImageFeatures) -> DecoderOutput:
        """Predict the class of each image."""
        cells = self.encode(source)
        if self.has_class_token:
            pooled = cells[:, :1]
        else:
            pooled = cells.mean(dim=1, keepdim=True) if self.image_pooling is None else self.image_pooling(cells)
        return DecoderOutput(self.dropout(pooled), OutputProjection.from_linear(self.output), state=None)

    def forward(self, source: Images | ImageFeatures) -> Float[Tensor, "B classes"]:
        return self.predict(source).logits[:, 0]

"""Token embeddings, with positions or without, and the output projection, which may be the same table."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.hooks import edit
from regard.cpu_speedups import Dropout
from regard.layers.positions import PositionEncoding
from regard.special_tokens import BEGIN, PADDING


class OutputProjection(NamedTuple):
    """The output layer as tensors, so that a loss can apply it to some of the rows, or in parts."""

    weight: Float[Tensor, "V W"]
    bias: Float[Tensor, " V"] | None

    @classmethod
    def from_linear(cls, linear: nn.Linear) -> "OutputProjection":
        """An output layer with its own weights."""
        return cls(linear.weight, linear.bias)

    def __call__(self, hidden: Float[Tensor, "... W"]) -> Float[Tensor, "... V"]:
        return functional.linear(hidden, self.weight, self.bias)


class TokenEmbedding(nn.Module):
    """One vector for each token; `scaled` multiplies by the root of the width, as published.

    With `zero_begin` the vector of BEGIN is zero wherever it is read; as a row of a tied output layer it is trained.
    """

    def __init__(self, vocabulary: int, width: int, *, scaled: bool = False, zero_begin: bool = False) -> None:
        super().__init__()
        self.zero_begin = zero_begin
        self.scale = math.sqrt(width) if scaled else 1.0
        self.weight = nn.Parameter(torch.randn(vocabulary, width) / math.sqrt(width))
        with torch.no_grad():
            self.weight[PADDING] = 0.0

    def vectors(self, tokens: Int[Tensor, "... T"]) -> Float[Tensor, "... T W"]:
        """The rows of the table, before they are scaled."""
        rows = functional.embedding(tokens, self.weight, padding_idx=PADDING)
        return rows.masked_fill((tokens == BEGIN).unsqueeze(-1), 0.0) if self.zero_begin else rows

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T W"]:
        embedded = self.vectors(tokens)
        return embedded if self.scale == 1.0 else embedded * self.scale

    def tied_projection(self, bias: Float[Tensor, " V"] | None = None) -> OutputProjection:
        """The tied output layer: the dot product of a hidden state with every token's vector."""
        return OutputProjection(self.weight, bias)


class PositionedEmbedding(nn.Module):
    """Token embeddings with positions: the input of the first Transformer block."""

    def __init__(self, tokens: TokenEmbedding, positions: PositionEncoding, *, dropout: float) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B T"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        token_vectors = edit(self, "token", self.tokens(tokens), positions)
        positioned = edit(self, "position", self.positions(token_vectors, positions), without=token_vectors)
        embedded: Tensor = self.dropout(positioned)
        return embedded

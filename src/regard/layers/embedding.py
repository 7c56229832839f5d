"""Tokens as vectors, and the way back: the output layer may be the same table."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.layers.dropout import Dropout
from regard.layers.positions import Positions
from regard.symbols import PADDING


class Output(NamedTuple):
    """The output layer as its tensors, so that a loss may apply it to the rows it wants, in pieces it likes."""

    weight: Float[Tensor, "V W"]
    bias: Float[Tensor, " V"] | None

    def __call__(self, hidden: Float[Tensor, "... W"]) -> Float[Tensor, "... V"]:
        return functional.linear(hidden, self.weight, self.bias)


class TokenEmbedding(nn.Module):
    """A table of one vector for each token; `scaled` multiplies by the root of the width, as published."""

    def __init__(self, vocabulary: int, width: int, *, scaled: bool = False) -> None:
        super().__init__()
        self.scale = math.sqrt(width) if scaled else 1.0
        self.weight = nn.Parameter(torch.randn(vocabulary, width) / math.sqrt(width))
        with torch.no_grad():
            self.weight[PADDING] = 0.0

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T W"]:
        embedded = functional.embedding(tokens, self.weight, padding_idx=PADDING)
        return embedded if self.scale == 1.0 else embedded * self.scale

    def output(self) -> Output:
        """The tied output layer: a hidden state is compared with every token's vector."""
        return Output(self.weight, None)


class PlacedEmbedding(nn.Module):
    """Tokens with their positions: what enters the first block of a Transformer."""

    def __init__(self, tokens: TokenEmbedding, positions: Positions, *, dropout: float) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = positions
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Int[Tensor, "B T"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        embedded: Tensor = self.dropout(self.positions(self.tokens(tokens), positions))
        return embedded


def output_layer(linear: nn.Linear) -> Output:
    """An output layer of its own."""
    return Output(linear.weight, linear.bias)

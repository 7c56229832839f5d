"""Self-attention over a picture: every place of the grid looks at every other."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.multi_head import MultiHeadAttention


def flatten_grid(grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B P C"]:
    """The places of a grid as a sequence, row by row."""
    return grid.flatten(2).transpose(1, 2)


class GridSelfAttention(nn.Module):
    """A self-attention layer inside a convolutional network; it begins as if it were not there (Zhang et al., 2019)."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(channels, heads)
        self.norm = nn.LayerNorm(channels)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        places = self.norm(flatten_grid(grid))
        found: Tensor = self.self_attention(places, self.self_attention.key_values(places))
        return grid + self.gate * found.transpose(1, 2).reshape(grid.shape)

"""The places of a picture: as a sequence, with positions of their own, and looking at each other."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.multi_head import MultiHeadAttention
from regard.layers.dropout import Dropout
from regard.layers.positions import sinusoidal


def flatten_grid(grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B P C"]:
    """The places of a grid as a sequence, row by row."""
    return grid.flatten(2).transpose(1, 2)


def grid_positions(rows: int, columns: int, width: int) -> Float[Tensor, "P W"]:
    """For each place, row by row, the sinusoidal encoding of its row, and beside it that of its column."""
    row_width = width // 2
    of_rows = sinusoidal(torch.arange(rows), row_width).repeat_interleave(columns, dim=0)
    of_columns = sinusoidal(torch.arange(columns), width - row_width).repeat(rows, 1)
    return torch.cat([of_rows, of_columns], dim=1)


class Places(nn.Module):
    """The places of a grid brought to one width, each with its position: what a decoder looks at."""

    def __init__(self, channels: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(channels, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B P W"]:
        found = self.norm(self.project(self.dropout(flatten_grid(grid))))
        rows, columns = grid.shape[2:]
        placed: Tensor = found + grid_positions(rows, columns, found.shape[-1]).to(found)
        return placed


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

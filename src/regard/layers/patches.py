"""A Vision Transformer: a picture as a sequence of patches that look at each other (Dosovitskiy et al., 2021)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import PatchesEye
from regard.layers.blocks import BlockStack, BlockStyle
from regard.layers.dropout import Dropout
from regard.layers.grid import flatten_grid, grid_positions

COLOURS = 3


class PatchNetwork(nn.Module):
    """Each patch becomes one vector that knows its place, and passes through blocks of self-attention.

    Places are told by sines and cosines of row and column instead of a learned table, so that a picture of any size
    and shape can be looked at.
    """

    def __init__(self, config: PatchesEye) -> None:
        super().__init__()
        self.width = config.stack.width
        self.cut = nn.Conv2d(COLOURS, self.width, config.patch, stride=config.patch)
        self.dropout = Dropout(config.dropout)
        self.encoder = BlockStack(config.stack, BlockStyle(norm="pre", activation="gelu", dropout=config.dropout))

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        patches = self.cut(pixels)
        rows, columns = patches.shape[2:]
        placed = self.dropout(flatten_grid(patches) + grid_positions(rows, columns, self.width).to(patches))
        seen, _ = self.encoder(placed, None, torch.arange(rows * columns, device=pixels.device))
        grid: Tensor = seen.transpose(1, 2).unflatten(2, (rows, columns))
        return grid

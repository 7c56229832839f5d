"""A small residual network: from a picture to a grid of features, coarser and wider with every block."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from regard.config import ResidualEye
from regard.layers.convolution import ConvolutionBlock, convolution

COLOURS = 3


class ResidualNetwork(nn.Module):
    """Each block halves the grid and doubles the width (He et al., 2016); a plain convolution is the first.

    The last block's second convolution sees one place only, so that what is found at a place was seen close by: of
    64 pixels, 23 and not 39 on each side. Otherwise attention could look beside a thing and still know it.
    """

    def __init__(self, config: ResidualEye) -> None:
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        self.stem = convolution(COLOURS, widths[0], size=3, stride=2)
        blocks = [
            ConvolutionBlock(inputs, outputs, stride=2, second_size=1 if outputs == widths[-1] else 3)
            for inputs, outputs in itertools.pairwise(widths)
        ]
        self.blocks = nn.Sequential(*blocks)
        self.width = widths[-1]
        self.cell = 2**config.blocks  # pixels that a place stands for, on each side

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        """Channels lie last in memory: half as fast again on CPUs."""
        first = torch.relu(self.stem(self._centred(pixels).contiguous(memory_format=torch.channels_last)))
        grid: Tensor = self.blocks(first)
        return grid

    def _centred(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B 3 Y X"]:
        """The picture moved by half a cell, so that a place sees what lies around the middle of its own cell.

        A convolution of 3 x 3 with a stride of two has the even pixels in its middle, the one at the upper left of each
        four. One after the other, they would see half a cell too far up and to the left of where a map draws them.
        """
        half = self.cell // 2
        return functional.pad(pixels, (-half, half, -half, half))

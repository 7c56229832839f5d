"""A small residual network: from a picture to a grid of features, coarser and wider with every block."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ResidualEye
from regard.layers.convolution import ConvolutionBlock, convolution

COLOURS = 3


class ResidualNetwork(nn.Module):
    """Each block halves the grid and doubles the width (He et al., 2016); a plain convolution is the first.

    The last block's second convolution sees one place only, so that what is found at a place was seen close by: of
    64 pixels, 23 and not 39 on each side. Otherwise attention could look beside a thing and still know it.

    The last block looks ahead, so that a place sees what lies around the middle of its own cell: every block that does
    not has the upper left of each four in its middle, and all together would look half a cell too far up and left.
    """

    def __init__(self, config: ResidualEye) -> None:
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        self.entry = convolution(COLOURS, widths[0], size=3, stride=2)
        self.blocks = nn.Sequential(
            *(_block(*pair, is_last=pair[1] == widths[-1]) for pair in itertools.pairwise(widths))
        )
        self.width = widths[-1]

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        """Channels lie last in memory: half as fast again on CPUs."""
        first = torch.relu(self.entry(pixels.contiguous(memory_format=torch.channels_last)))
        grid: Tensor = self.blocks(first)
        return grid


def _block(inputs: int, outputs: int, *, is_last: bool) -> ConvolutionBlock:
    return ConvolutionBlock(inputs, outputs, stride=2, second_size=1 if is_last else 3, looks_ahead=is_last)

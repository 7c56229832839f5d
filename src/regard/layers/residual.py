"""A small residual network: from a picture to a grid of features, coarser and wider with every block."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.config import ResidualEye
from regard.layers.convolution import ConvolutionBlock

COLOURS = 3


class ResidualNetwork(nn.Module):
    """Each block halves the grid and doubles the width (He et al., 2016)."""

    def __init__(self, config: ResidualEye) -> None:
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        pairs = zip([COLOURS, *widths], widths, strict=False)
        self.blocks = nn.Sequential(*(ConvolutionBlock(inputs, outputs, stride=2) for inputs, outputs in pairs))
        self.width = widths[-1]

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        grid: Tensor = self.blocks(pixels)
        return grid

"""A convolutional classifier with a self-attention layer over its grid, so that far places of a picture can meet."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.batch import Pictures
from regard.config import ConvolutionalConfig
from regard.layers.convolution import ConvolutionBlock
from regard.layers.dropout import Dropout
from regard.layers.grid import GridSelfAttention


class ConvolutionalModel(nn.Module):
    """`encode` gives a grid of features; calling the model gives logits over the classes."""

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        pairs = zip([config.channels, *widths], widths, strict=False)
        self.blocks = nn.Sequential(*(ConvolutionBlock(inputs, outputs, stride=2) for inputs, outputs in pairs))
        self.attention = GridSelfAttention(widths[-1], config.heads) if config.heads else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(widths[-1], config.classes)

    def encode(self, source: Pictures) -> Float[Tensor, "B C Y X"]:
        grid: Tensor = self.attention(self.blocks(source.pixels))
        return grid

    def forward(self, source: Pictures) -> Float[Tensor, "B classes"]:
        logits: Tensor = self.output(self.dropout(self.encode(source).mean(dim=(2, 3))))
        return logits

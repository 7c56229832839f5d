"""A convolutional image classifier with a self-attention layer over its grid, which relates distant cells."""

from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from regard.batch import Images
from regard.config import CNNConfig
from regard.cpu import Dropout
from regard.layers.image_encoders import ConvolutionBlock, GridSelfAttention, edit_grid


class CNNClassifier(nn.Module):
    """`encode` returns a grid of features; calling the model returns logits over the classes."""

    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        pairs = pairwise([config.channels, *widths])
        self.blocks = nn.Sequential(*(ConvolutionBlock(inputs, outputs, stride=2) for inputs, outputs in pairs))
        self.attention = GridSelfAttention(widths[-1], config.heads) if config.heads else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(widths[-1], config.classes)

    def encode(self, source: Images) -> Float[Tensor, "B C Y X"]:
        grid: Tensor = self.attention(edit_grid(self, self.blocks(source.pixels)))
        return grid

    def forward(self, source: Images) -> Float[Tensor, "B classes"]:
        logits: Tensor = self.output(self.dropout(self.encode(source).mean(dim=(2, 3))))
        return logits

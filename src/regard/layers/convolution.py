"""A convolutional block with a residual connection."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class ConvolutionBlock(nn.Module):
    """Two 3 x 3 convolutions around a residual connection; a stride of two halves the grid."""

    def __init__(self, inputs: int, outputs: int, *, stride: int = 1) -> None:
        super().__init__()
        self.first = _convolution(inputs, outputs, size=3, stride=stride)
        self.second = _convolution(outputs, outputs, size=3, stride=1)
        is_same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if is_same else _convolution(inputs, outputs, size=1, stride=stride)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


def _convolution(inputs: int, outputs: int, *, size: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))

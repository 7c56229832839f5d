"""A convolutional block with a residual connection."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class ConvolutionBlock(nn.Module):
    """Two convolutions, the first of 3 x 3, around a residual connection; a stride of two halves the grid."""

    def __init__(self, inputs: int, outputs: int, *, stride: int = 1, second_size: int = 3) -> None:
        super().__init__()
        self.stride = stride
        self.first = convolution(inputs, outputs, size=3, stride=stride)
        self.second = convolution(outputs, outputs, size=second_size)
        is_same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if is_same else convolution(inputs, outputs, size=1)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        # Every second place is taken by a slice and not by a stride of the 1 x 1 convolution, the gradient of which
        # torch 2.13 ends in a crash on CPUs where channels lie last and are few.
        skipped = self.shortcut(x[..., :: self.stride, :: self.stride])
        return torch.relu(self.second(torch.relu(self.first(x))) + skipped)


def convolution(inputs: int, outputs: int, *, size: int, stride: int = 1) -> nn.Sequential:
    """A convolution and its normalisation over the batch."""
    filters = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(filters, nn.BatchNorm2d(outputs))

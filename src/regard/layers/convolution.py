"""A convolutional block with a residual connection."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class ConvolutionBlock(nn.Module):
    """Two convolutions, the first of 3 x 3, around a residual connection; a stride of two halves the grid.

    A place of the halved grid stands for four. The first convolution has the upper left of them in its middle or, where
    the block looks ahead, the lower right.
    """

    def __init__(
        self, inputs: int, outputs: int, *, stride: int = 1, second_size: int = 3, looks_ahead: bool = False
    ) -> None:
        super().__init__()
        self.stride = stride
        self.looks_ahead = looks_ahead
        self.first = convolution(inputs, outputs, size=3, stride=stride, padding=0 if looks_ahead else 1)
        self.second = convolution(outputs, outputs, size=second_size)
        is_same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if is_same else convolution(inputs, outputs, size=1)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        # Every second place is taken by a slice and not by a stride of the 1 x 1 convolution, the gradient of which
        # torch 2.13 ends in a crash on CPUs where channels lie last and are few.
        middles = x[..., :: self.stride, :: self.stride]
        if self.looks_ahead:
            x = functional.pad(x, (0, 2, 0, 2))  # below and right: the middles are the odd rows and columns
            middles = x[..., 1 : -1 : self.stride, 1 : -1 : self.stride]
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(middles))


def convolution(inputs: int, outputs: int, *, size: int, stride: int = 1, padding: int | None = None) -> nn.Sequential:
    """A convolution and its normalisation over the batch; unless told otherwise, it pads so that no place is lost."""
    filters = nn.Conv2d(
        inputs, outputs, size, stride=stride, padding=size // 2 if padding is None else padding, bias=False
    )
    return nn.Sequential(filters, nn.BatchNorm2d(outputs))

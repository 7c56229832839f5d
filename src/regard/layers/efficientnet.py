"""EfficientNet-Lite0: inverted residual blocks, without its classifying head (Tan and Le, 2019; Lite: Google, 2020).

Its parameters have the names of the published PyTorch weights, underscores and all, so that those load as they are. Two
things are as in the TensorFlow original they were trained in: how a strided convolution pads, and the constants of the
batch normalisation.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


class Stage(NamedTuple):
    """Blocks of one output width; the first of them has the stride, and the input of the stage before."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    outputs: int


STAGES = (
    Stage(blocks=1, kernel=3, stride=1, expansion=1, outputs=16),
    Stage(blocks=2, kernel=3, stride=2, expansion=6, outputs=24),
    Stage(blocks=2, kernel=5, stride=2, expansion=6, outputs=40),
    Stage(blocks=3, kernel=3, stride=2, expansion=6, outputs=80),
    Stage(blocks=3, kernel=5, stride=1, expansion=6, outputs=112),
    Stage(blocks=4, kernel=5, stride=2, expansion=6, outputs=192),
    Stage(blocks=1, kernel=3, stride=1, expansion=6, outputs=320),
)
STEM, HEAD = 32, 1280


class EfficientNetLite0(nn.Module):
    """From a picture to 1280 features at each place of a grid that is 32 times coarser."""

    width = HEAD

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = SamePaddedConvolution(3, STEM, 3, stride=2)
        self._bn0 = _normalisation(STEM)
        blocks, inputs = [], STEM
        for stage in STAGES:
            for index in range(stage.blocks):
                blocks.append(InvertedResidual(inputs, stage, stride=1 if index else stage.stride))
                inputs = stage.outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SamePaddedConvolution(inputs, HEAD, 1)
        self._bn1 = _normalisation(HEAD)

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B 1280 V U"]:
        x = functional.relu6(self._bn0(self._conv_stem(pixels)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x)))


class InvertedResidual(nn.Module):
    """Widen, look around within each channel, narrow again; a residual connection where the sizes agree."""

    def __init__(self, inputs: int, stage: Stage, *, stride: int) -> None:
        super().__init__()
        inner = inputs * stage.expansion
        self.widens = stage.expansion > 1
        self.is_residual = stride == 1 and inputs == stage.outputs
        if self.widens:
            self._expand_conv = SamePaddedConvolution(inputs, inner, 1)
            self._bn0 = _normalisation(inner)
        self._depthwise_conv = SamePaddedConvolution(inner, inner, stage.kernel, stride=stride, groups=inner)
        self._bn1 = _normalisation(inner)
        self._project_conv = SamePaddedConvolution(inner, stage.outputs, 1)
        self._bn2 = _normalisation(stage.outputs)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        wide = functional.relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        wide = functional.relu6(self._bn1(self._depthwise_conv(wide)))
        narrow: Tensor = self._bn2(self._project_conv(wide))
        return narrow + x if self.is_residual else narrow


class SamePaddedConvolution(nn.Conv2d):
    """A convolution without bias that pads as TensorFlow does: at a stride of two, more below and right than above."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride=stride, groups=groups, bias=False)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        (above, below), (left, right) = (self._padding(size) for size in x.shape[2:])
        return super().forward(functional.pad(x, (left, right, above, below)))

    def _padding(self, size: int) -> tuple[int, int]:
        kernel, stride = self.kernel_size[0], self.stride[0]
        places = -(-size // stride)
        missing = max(0, (places - 1) * stride + kernel - size)
        return missing // 2, missing - missing // 2


def _normalisation(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)

"""EfficientNet-Lite0: inverted residual blocks, without the classification head (Tan and Le, 2019; Lite: Google, 2020).

The parameters have the names of the published PyTorch weights, with their underscores, so those load unchanged. The
padding of strided convolutions and the constants of the batch normalisation are those of the TensorFlow original.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from regard.config import EfficientNetConfig


class Stage(NamedTuple):
    """Blocks with one output width; the first one has the stride and the input width of the stage before."""

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

STEM_CHANNELS, HEAD_CHANNELS = 32, 1280


class EfficientNetLite0(nn.Module):
    """From an image to 1280 features in each cell of a grid that is 32 times coarser."""

    width = HEAD_CHANNELS

    def __init__(self, config: EfficientNetConfig | None = None, *, dropout: float = 0.0) -> None:  # noqa: ARG002
        super().__init__()
        self._conv_stem = SamePaddedConvolution(3, STEM_CHANNELS, 3, stride=2)
        self._bn0 = _batch_norm(STEM_CHANNELS)
        blocks, inputs = [], STEM_CHANNELS
        for stage in STAGES:
            for index in range(stage.blocks):
                blocks.append(InvertedResidual(inputs, stage, stride=1 if index else stage.stride))
                inputs = stage.outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SamePaddedConvolution(inputs, HEAD_CHANNELS, 1)
        self._bn1 = _batch_norm(HEAD_CHANNELS)

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B 1280 V U"]:
        x = functional.relu6(self._bn0(self._conv_stem(pixels)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x)))


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, project; a residual connection if the sizes agree."""

    def __init__(self, inputs: int, stage: Stage, *, stride: int) -> None:
        super().__init__()
        inner = inputs * stage.expansion
        self.expands = stage.expansion > 1
        self.is_residual = stride == 1 and inputs == stage.outputs
        if self.expands:
            self._expand_conv = SamePaddedConvolution(inputs, inner, 1)
            self._bn0 = _batch_norm(inner)
        self._depthwise_conv = SamePaddedConvolution(inner, inner, stage.kernel, stride=stride, groups=inner)
        self._bn1 = _batch_norm(inner)
        self._project_conv = SamePaddedConvolution(inner, stage.outputs, 1)
        self._bn2 = _batch_norm(stage.outputs)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        expanded = functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        expanded = functional.relu6(self._bn1(self._depthwise_conv(expanded)))
        projected: Tensor = self._bn2(self._project_conv(expanded))
        return projected + x if self.is_residual else projected


class SamePaddedConvolution(nn.Conv2d):
    """A convolution without bias that pads like TensorFlow: at a stride of two, more below and right than above."""

    def __init__(self, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inputs, outputs, kernel, stride=stride, groups=groups, bias=False)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        kernel, stride = self.kernel_size[0], self.stride[0]
        padding = []
        for size in (x.shape[3], x.shape[2]):  # functional.pad takes the last axis first
            missing = max(0, (-(-size // stride) - 1) * stride + kernel - size)
            padding += [missing // 2, missing - missing // 2]
        return super().forward(functional.pad(x, padding))


def _batch_norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)

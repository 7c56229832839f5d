"""Image encoders: from images to a grid of features. A CNN, a small ResNet, EfficientNet-Lite0, a Vision Transformer.

Also their parts: convolution blocks, positions of grid cells, and self-attention over a grid. To add an encoder, add
its config to `ImageEncoderConfig` in config.py and its class to `IMAGE_ENCODERS` here.
"""

import itertools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.hooks import edit, has_edits
from regard.attention.multi_head import MultiHeadAttention
from regard.batch import ImageFeatures, Images
from regard.config import CNNConfig, EfficientNetConfig, ImageEncoderConfig, ResNetConfig, VisionTransformerConfig
from regard.cpu_speedups import Dropout
from regard.errors import RegardError
from regard.layers.efficientnet import EfficientNetLite0
from regard.layers.positions import sinusoidal
from regard.layers.transformer_block import BlockOptions, TransformerStack

RGB_CHANNELS = 3
PIXEL_MEAN, PIXEL_STD = 127.0, 128.0  # EfficientNet-Lite was trained on (pixel - 127) / 128


class ConvolutionBlock(nn.Module):
    """Two convolutions, the first of 3 x 3, around a residual connection; a stride of two halves the grid.

    A cell of the halved grid stands for four. The first convolution is centred on the upper left of them or, with
    `pad_after`, on the lower right.
    """

    def __init__(
        self, inputs: int, outputs: int, *, stride: int = 1, second_size: int = 3, pad_after: bool = False
    ) -> None:
        super().__init__()
        self.stride = stride
        self.pad_after = pad_after
        self.first = conv_batch_norm(inputs, outputs, size=3, stride=stride, padding=0 if pad_after else 1)
        self.second = conv_batch_norm(outputs, outputs, size=second_size)
        is_same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if is_same else conv_batch_norm(inputs, outputs, size=1)

    def forward(self, x: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B D V U"]:
        # A slice takes every second cell, not a stride of the 1 x 1 convolution: its gradient crashes in torch 2.13 on
        # CPUs if the memory format is channels-last and the channels are few.
        centers = x[..., :: self.stride, :: self.stride]
        if self.pad_after:
            x = functional.pad(x, (0, 2, 0, 2))  # below and right: the centers are the odd rows and columns
            centers = x[..., 1 : -1 : self.stride, 1 : -1 : self.stride]
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(centers))


def conv_batch_norm(
    inputs: int, outputs: int, *, size: int, stride: int = 1, padding: int | None = None
) -> nn.Sequential:
    """A convolution and batch normalisation; by default it pads so that the grid keeps its size."""
    filters = nn.Conv2d(
        inputs, outputs, size, stride=stride, padding=size // 2 if padding is None else padding, bias=False
    )
    return nn.Sequential(filters, nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """A convolution, then blocks that halve the grid and double the width (He et al., 2016).

    The second convolution of the last block is 1 x 1, so that the receptive field of a cell stays small: of 64 pixels,
    23 and not 39 on each side. Otherwise attention could point beside an object and still read its features.

    The last block pads after the grid, so that the receptive field is centred on the cell: every other block is centred
    on the upper left of each four cells, and all together would be half a cell too far up and left.
    """

    def __init__(self, config: ResNetConfig, *, dropout: float = 0.0) -> None:  # noqa: ARG002
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        self.stem = conv_batch_norm(RGB_CHANNELS, widths[0], size=3, stride=2)
        blocks = []
        for inputs, outputs in itertools.pairwise(widths):
            is_last = outputs == widths[-1]
            blocks.append(
                ConvolutionBlock(inputs, outputs, stride=2, second_size=1 if is_last else 3, pad_after=is_last)
            )
        self.blocks = nn.Sequential(*blocks)
        self.width = widths[-1]

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        # Channels-last is half as fast again on CPUs.
        features = torch.relu(self.stem(pixels.contiguous(memory_format=torch.channels_last)))
        grid: Tensor = self.blocks(features)
        return grid


def flatten_grid(grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B P C"]:
    """The cells of a grid as a sequence, row by row."""
    return grid.flatten(2).transpose(1, 2)


def edit_grid(layer: nn.Module, grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
    """The grid after the edits of its cells, which are the tokens of an image."""
    if not has_edits(layer):
        return grid
    return edit(layer, "token", flatten_grid(grid)).transpose(1, 2).reshape(grid.shape)


def grid_positions(rows: int, columns: int, width: int) -> Float[Tensor, "P W"]:
    """For each cell, row by row, the sinusoidal encodings of its row and of its column, side by side."""
    row_width = width // 2
    of_rows = sinusoidal(torch.arange(rows), row_width).repeat_interleave(columns, dim=0)
    of_columns = sinusoidal(torch.arange(columns), width - row_width).repeat(rows, 1)
    return torch.cat([of_rows, of_columns], dim=1)


class GridProjection(nn.Module):
    """The cells of a grid projected to one width, with their positions: the memory of a decoder."""

    def __init__(self, channels: int, width: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(channels, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B P W"]:
        output = self.norm(self.project(self.dropout(flatten_grid(grid))))
        rows, columns = grid.shape[2:]
        positioned = output + grid_positions(rows, columns, output.shape[-1]).to(output)
        return edit(self, "position", positioned, without=output)


class GridSelfAttention(nn.Module):
    """A self-attention layer inside a convolutional network; its gate starts at zero (Zhang et al., 2019)."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(channels, heads)
        self.norm = nn.LayerNorm(channels)
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, grid: Float[Tensor, "B C Y X"]) -> Float[Tensor, "B C Y X"]:
        flat = flatten_grid(grid)
        cells = edit(self, "norm", self.norm(flat), without=flat)
        output: Tensor = self.self_attention(cells, self.self_attention.key_values(cells))
        gated = self.gate * output.transpose(1, 2).reshape(grid.shape)
        return edit(self, "residual", grid + gated, without=gated)


class CNN(nn.Module):
    """Convolution blocks, then a self-attention layer over the grid, which relates distant cells."""

    def __init__(self, config: CNNConfig, *, dropout: float = 0.0) -> None:  # noqa: ARG002
        super().__init__()
        widths = [config.width * 2**block for block in range(config.blocks)]
        pairs = itertools.pairwise([RGB_CHANNELS, *widths])
        self.blocks = nn.Sequential(*(ConvolutionBlock(inputs, outputs, stride=2) for inputs, outputs in pairs))
        self.attention = GridSelfAttention(widths[-1], config.heads) if config.heads else nn.Identity()
        self.width = widths[-1]

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        grid: Tensor = self.attention(self.blocks(pixels))
        return grid


class VisionTransformer(nn.Module):
    """One vector for each patch, then Transformer blocks (Dosovitskiy et al., 2021).

    Positions are sines and cosines of row and column instead of a learned table, so images may have any size and shape.
    With a class token, as published, they are learned, and `tokens` returns its vector before those of the cells.
    """

    def __init__(self, config: VisionTransformerConfig, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = config.transformer.width
        self.patch_embedding = nn.Conv2d(RGB_CHANNELS, self.width, config.patch_size, stride=config.patch_size)
        self.dropout = Dropout(dropout)
        options = BlockOptions(
            norm="pre", activation=config.activation, norm_epsilon=config.norm_epsilon, dropout=dropout
        )
        self.encoder = TransformerStack(config.transformer, options)
        self.class_token = nn.Parameter(torch.zeros(self.width)) if config.class_token else None
        count = config.grid_size**2 + 1
        self.positions = nn.Parameter(torch.randn(count, self.width) * 0.02) if config.class_token else None

    def tokens(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B T W"]:
        """The vectors of the cells, row by row; before them, if there is one, that of the class token."""
        patches = self.patch_embedding(pixels)
        cells = flatten_grid(patches)
        if self.class_token is None or self.positions is None:
            rows, columns = patches.shape[2:]
            positions = grid_positions(rows, columns, self.width).to(patches)
        else:
            cells, positions = torch.cat([self.class_token.expand(len(cells), 1, -1), cells], dim=1), self.positions
        if len(positions) != cells.shape[1]:
            raise RegardError(
                f"the image has {cells.shape[1] - 1} patches, and this model has learned positions for "
                f"{len(positions) - 1}. Give images of the size that it was trained with."
            )
        positioned = self.dropout(edit(self, "position", cells + positions, without=cells))
        encoded: Tensor = self.encoder(positioned, None, torch.arange(cells.shape[1], device=pixels.device))[0]
        return encoded

    def forward(self, pixels: Float[Tensor, "B 3 Y X"]) -> Float[Tensor, "B W V U"]:
        size = self.patch_embedding.kernel_size
        rows, columns = (side // patch for side, patch in zip(pixels.shape[2:], size, strict=True))
        return self.tokens(pixels)[:, -rows * columns :].transpose(1, 2).unflatten(2, (rows, columns))  # type: ignore[no-untyped-call,no-any-return]


IMAGE_ENCODERS: dict[type, Any] = {
    CNNConfig: CNN,
    ResNetConfig: ResNet,
    EfficientNetConfig: EfficientNetLite0,
    VisionTransformerConfig: VisionTransformer,
}  # from a config to its network


class ImageEncoder(nn.Module):
    """The network that the config names. Features pass through, so a frozen network computes each image only once."""

    def __init__(self, config: ImageEncoderConfig, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.network: nn.Module = IMAGE_ENCODERS[type(config)](config, dropout=dropout)
        self.width: int = self.network.width
        self.pixel_mean: tuple[float, ...] = getattr(config, "pixel_mean", (PIXEL_MEAN,) * RGB_CHANNELS)
        self.pixel_std: tuple[float, ...] = getattr(config, "pixel_std", (PIXEL_STD,) * RGB_CHANNELS)
        self.is_frozen = isinstance(config, EfficientNetConfig) and config.frozen
        if self.is_frozen:
            self.network.requires_grad_(False)

    def forward(self, source: Images | ImageFeatures) -> Float[Tensor, "B W V U"]:
        if isinstance(source, ImageFeatures):
            return edit_grid(self, source.features)
        return edit_grid(self, self.network(self.normalised(source)))

    def tokens(self, source: Images) -> Float[Tensor, "B T W"]:
        """The vector of the class token, then those of the cells, row by row: of a Vision Transformer that has one."""
        return edit(self, "token", self.network.tokens(self.normalised(source)))  # type: ignore[operator]

    def normalised(self, source: Images) -> Float[Tensor, "B 3 Y X"]:
        """The pixels as the network was trained on them."""
        mean, std = (source.pixels.new_tensor(one).view(-1, 1, 1) for one in (self.pixel_mean, self.pixel_std))
        return (source.pixels - mean) / std

    def train(self, mode: bool = True) -> "ImageEncoder":
        """A frozen network stays in evaluation mode, so that its running statistics do not change either."""
        super().train(mode)
        if self.is_frozen:
            self.network.eval()
        return self

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.attention.hooks import record_attention
from regard.batch import ImageFeatures, Images
from regard.config import EfficientNetConfig, ResNetConfig, TransformerStackConfig, VisionTransformerConfig
from regard.layers.image_encoders import ImageEncoder

PATCHES = VisionTransformerConfig(
    image_size=12, patch_size=3, transformer=TransformerStackConfig(layers=2, width=10, heads=2, ffn_width=7)
)
EYES = [ResNetConfig(image_size=12, width=3, blocks=2), PATCHES, EfficientNetConfig(image_size=64)]


@pytest.mark.parametrize(
    ("config", "side"),
    [
        (ResNetConfig(image_size=65, blocks=3), 9),
        (EfficientNetConfig(image_size=225), 8),
        (VisionTransformerConfig(image_size=60, patch_size=6), 10),
    ],
    ids=["resnet", "efficientnet", "vit"],
)
def test_image_encoder_reports_its_grid_size(config: Any, side: int) -> None:
    eye = ImageEncoder(config).eval()
    assert config.grid_size == side
    assert eye(Images(torch.rand(1, 3, config.image_size, config.image_size))).shape == (1, eye.width, side, side)


@pytest.mark.parametrize("config", EYES, ids=["resnet", "vit", "efficientnet"])
def test_precomputed_features_pass_through(config: Any) -> None:
    eye = ImageEncoder(config).eval()
    seen = eye(Images(torch.rand(2, 3, config.image_size, config.image_size) * 255))
    assert torch.equal(eye(ImageFeatures(seen)), seen)


def test_pixels_are_scaled_so_mid_grey_is_zero() -> None:
    eye, given = ImageEncoder(PATCHES), []
    eye.network.register_forward_pre_hook(lambda _module, inputs: given.append(inputs[0]))
    eye(Images(torch.tensor([0.0, 127.0, 255.0]).repeat_interleave(144).view(1, 3, 12, 12)))
    assert_close(given[0][0, :, 0, 0], torch.tensor([-127 / 128, 0.0, 1.0]))


def test_frozen_encoder_keeps_weights_and_statistics() -> None:
    eye = ImageEncoder(EfficientNetConfig(image_size=32)).train()
    before = {name: tensor.clone() for name, tensor in eye.state_dict().items()}
    eye(Images(torch.rand(2, 3, 32, 32) * 255))
    assert not any(parameter.requires_grad for parameter in eye.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in eye.state_dict().items())
    thawed = ImageEncoder(EfficientNetConfig(image_size=32, frozen=False)).train()
    assert all(parameter.requires_grad for parameter in thawed.parameters())
    assert thawed.network.training


def test_distant_patches_interact_and_have_positions() -> None:
    torch.manual_seed(0)
    eye, pixels = ImageEncoder(PATCHES).eval(), torch.full((1, 3, 12, 12), 200.0)
    changed = pixels.clone()
    changed[:, :, 0, 0] = 0.0
    same, other = eye(Images(pixels)), eye(Images(changed))
    assert ((same - other).abs().amax(dim=1) > 1e-5).all()
    assert (same[0, :, 0, 1] - same[0, :, 1, 0]).abs().max() > 1e-3  # of equal patches, row and column still differ


def test_patch_attention_can_be_recorded() -> None:
    eye = ImageEncoder(PATCHES).eval()
    with record_attention(eye) as recording:
        eye(Images(torch.rand(1, 3, 12, 12)))
    assert [kept["weights"].shape for kept in recording.layers.values()] == [(1, 2, 16, 16)] * 2


def test_residual_network_cell_sees_23_pixels_around() -> None:
    torch.manual_seed(0)
    eye = ImageEncoder(ResNetConfig(image_size=64, width=8)).eval()
    pixels = (torch.rand(1, 3, 64, 64) * 255).requires_grad_(True)
    eye(Images(pixels))[0, :, 4, 4].sum().backward()
    seen = pixels.grad[0].abs().amax(dim=0) > 0  # type: ignore[index]
    rows, columns = (seen.any(dim=axis).nonzero().flatten().tolist() for axis in (1, 0))
    assert rows == columns
    assert 20 <= len(rows) <= 23
    assert min(rows) <= 32 <= max(rows)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_gradients_of_narrow_residual_networks_do_not_crash(width: int) -> None:
    """A 1 x 1 convolution with a stride did, for channels that lie last in memory and are few."""
    eye = ImageEncoder(ResNetConfig(image_size=64, width=width)).train()
    eye(Images(torch.rand(32, 3, 64, 64) * 255)).square().mean().backward()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in eye.parameters())


@pytest.mark.parametrize(("size", "blocks"), [(64, 3), (65, 3), (63, 2), (16, 5), (9, 4), (7, 1)])
def test_residual_network_sees_every_pixel(size: int, blocks: int) -> None:
    torch.manual_seed(0)
    eye = ImageEncoder(ResNetConfig(image_size=size, width=16, blocks=blocks)).eval()
    pixels = (torch.rand(1, 3, size, size) * 255).requires_grad_()
    (gradient,) = torch.autograd.grad(eye(Images(pixels)).sum(), pixels)
    assert (gradient.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize("blocks", [2, 3])
def test_residual_receptive_field_is_centred_on_its_cell(blocks: int) -> None:
    torch.manual_seed(0)
    eye = ImageEncoder(ResNetConfig(image_size=64, width=8, blocks=blocks)).eval()
    pixels = (torch.rand(1, 3, 64, 64) * 255).requires_grad_()
    seen, cell = eye(Images(pixels)), 2**blocks
    row, column = seen.shape[2] // 2, seen.shape[3] // 2 - 1
    (gradient,) = torch.autograd.grad(seen[0, :, row, column].sum(), pixels)
    for place, axis in ((row, 1), (column, 2)):
        matters = gradient[0].abs().sum(dim=(0, 3 - axis)).nonzero().flatten()  # the pixels that this place depends on
        assert float(matters.min() + matters.max()) / 2 == pytest.approx((place + 0.5) * cell - 0.5, abs=0.5)

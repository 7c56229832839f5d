import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.layers.image_encoders import ConvolutionBlock


@pytest.mark.parametrize(("stride", "expected"), [(1, (7, 10)), (2, (4, 5))])
def test_a_stride_of_two_halves_the_grid(stride: int, expected: tuple[int, int]) -> None:
    block = ConvolutionBlock(3, 5, stride=stride)
    assert block(torch.randn(2, 3, 7, 10)).shape == (2, 5, *expected)


def test_shortcut_of_equal_shape_is_identity() -> None:
    assert isinstance(ConvolutionBlock(3, 3).shortcut, nn.Identity)
    assert not isinstance(ConvolutionBlock(3, 5).shortcut, nn.Identity)
    assert not isinstance(ConvolutionBlock(3, 3, stride=2).shortcut, nn.Identity)


def test_convolution_output_is_added_to_the_shortcut() -> None:
    block, x = ConvolutionBlock(3, 3).eval(), torch.randn(2, 3, 7, 11)
    nn.init.zeros_(block.second[1].weight)
    nn.init.constant_(block.second[1].bias, 0.25)
    assert_close(block(x), torch.relu(x + 0.25))


def test_two_convolutions_of_three_see_five_pixels() -> None:
    torch.manual_seed(0)
    block, x = ConvolutionBlock(2, 2).eval(), torch.randn(1, 2, 9, 9)
    changed = x.clone()
    changed[:, :, 4, 4] += 10.0
    rows, columns = (block(x) != block(changed)).any(dim=1)[0].nonzero(as_tuple=True)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (2, 6, 2, 6)

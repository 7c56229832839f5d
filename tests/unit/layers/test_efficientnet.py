"""EfficientNet-Lite0 against what was published of it: its tensors, its padding, and what it sees in real pictures."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from regard.bundle import load_weights, read_tensors
from regard.cli import run
from regard.data.captions import read_captioned
from regard.data.images import load_image
from regard.layers.efficientnet import EfficientNetLite0, SamePaddedConvolution

FLICKR = Path(__file__).parents[3].parent / "shared" / "data" / "flickr8k"
DOGS = range(151, 269)  # of the thousand classes


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """The ImageNet weights, as `regard import` writes them."""
    out = tmp_path_factory.mktemp("weights") / "efficientnet"
    if run(["import", "efficientnet-lite0", "--out", str(out)]):
        pytest.skip("the published weights are not installed")
    return read_tensors((out / "model.safetensors").read_bytes(), out)


@pytest.fixture(scope="module")
def network(published: dict[str, Tensor]) -> EfficientNetLite0:
    network = EfficientNetLite0().eval()
    load_weights(
        network, {name: tensor for name, tensor in published.items() if "_fc" not in name}, origin="the package"
    )
    return network


@pytest.mark.parametrize(
    ("size", "kernel", "stride"), [(8, 3, 2), (9, 3, 2), (7, 5, 2), (6, 5, 1), (5, 1, 1), (4, 1, 2)]
)
def test_padding_is_tensorflows(size: int, kernel: int, stride: int) -> None:
    layer, x = SamePaddedConvolution(2, 3, kernel, stride=stride), torch.randn(1, 2, size, size)
    places = -(-size // stride)
    missing = max(0, (places - 1) * stride + kernel - size)
    before, after = missing // 2, missing - missing // 2
    expected = functional.conv2d(functional.pad(x, (before, after, before, after)), layer.weight, stride=stride)
    assert layer(x).shape == (1, 3, places, places)
    assert_close(layer(x), expected)


def test_a_grid_is_thirty_two_times_coarser(network: EfficientNetLite0) -> None:
    assert network(torch.zeros(1, 3, 224, 224)).shape == (1, 1280, 7, 7)
    assert network(torch.zeros(2, 3, 96, 65)).shape == (2, 1280, 3, 3)


@pytest.mark.skipif(not FLICKR.exists(), reason="Flickr8k is not beside the project")
@torch.inference_mode()
def test_it_classifies_a_dog_where_five_people_did(network: EfficientNetLite0, published: dict[str, Tensor]) -> None:
    captioned = read_captioned(FLICKR, split="dev")
    dogs = [one for one in captioned if all("dog" in caption.lower().split() for caption in one.captions)][:8]
    others = [one for one in captioned if not any("dog" in caption.lower() for caption in one.captions)][:8]
    pixels = torch.stack([torch.from_numpy(load_image(one.image, size=224)) for one in [*dogs, *others]]).float()
    features = network((pixels - 127) / 128).mean(dim=(2, 3))
    classes = functional.linear(features, published["_fc.weight"], published["_fc.bias"]).argmax(dim=1).tolist()
    assert sum(one in DOGS for one in classes[:8]) >= 6
    assert sum(one in DOGS for one in classes[8:]) <= 1

"""The eye of a captioner: from pictures to a grid of features, through whichever network the config names."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.batch import Grid, Pictures
from regard.config import EfficientNetEye, EyeConfig, PatchesEye, ResidualEye
from regard.layers.efficientnet import EfficientNetLite0
from regard.layers.patches import PatchNetwork
from regard.layers.residual import ResidualNetwork

MIDDLE, SPREAD = 127, 128  # EfficientNet-Lite was trained on (pixel - 127) / 128


class Eye(nn.Module):
    """Sees pictures; what it has seen already passes through, so that a frozen eye looks at each picture once."""

    def __init__(self, config: EyeConfig) -> None:
        super().__init__()
        self.network = _network(config)
        self.width: int = self.network.width
        self.is_frozen = isinstance(config, EfficientNetEye) and config.frozen
        if self.is_frozen:
            self.network.requires_grad_(False)

    def forward(self, source: Pictures | Grid) -> Float[Tensor, "B W V U"]:
        if isinstance(source, Grid):
            return source.features
        grid: Tensor = self.network((source.pixels - MIDDLE) / SPREAD)
        return grid

    def train(self, mode: bool = True) -> "Eye":
        """A frozen network stays as it is used: its running statistics are not to move either."""
        super().train(mode)
        if self.is_frozen:
            self.network.eval()
        return self


def _network(config: EyeConfig) -> ResidualNetwork | EfficientNetLite0 | PatchNetwork:
    match config:
        case ResidualEye():
            return ResidualNetwork(config)
        case EfficientNetEye():
            return EfficientNetLite0()
        case PatchesEye():
            return PatchNetwork(config)

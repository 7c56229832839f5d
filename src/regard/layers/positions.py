r"""Where a token stands, told to a model that would not know: attention by itself is blind to order.

    sinusoidal   angle(t, i) = t / 10000^(2i / W); sine and cosine of it added to the embedding    Vaswani et al., 2017
    learned      a table of one vector for each position
    rotary       queries and keys turned by the angle, so that scores depend on distance          Su et al., 2021

The four wishes of a position encoding: one for each position; the same distance between positions whatever the length;
longer sentences within the same bounds; always the same. `tests/layers/test_positions.py` measures each.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError

Turned = Float[Tensor, "B H T D"]


def angles(positions: Int[Tensor, " T"], width: int) -> Float[Tensor, "T half"]:
    """t / 10000^(2i / W) for every position t and every i below W / 2; in float64, where the device has it."""
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=_exact(positions)) / width
    return positions.to(exponents.dtype)[:, None] / 10_000**exponents


def sinusoidal(positions: Int[Tensor, " T"], width: int, *, layout: str = "interleaved") -> Float[Tensor, "T W"]:
    """Sines and cosines of the angles: alternating as published ("interleaved"), or all sines first ("halves")."""
    angle = angles(positions, width)
    if layout == "interleaved":
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width]
    return torch.cat([angle.sin(), angle[:, : width // 2].cos()], dim=-1)


def rotate(x: Turned, positions: Int[Tensor, " T"] | None) -> Turned:
    """Each pair of entries (i, i + D/2) turned by its angle: a dot product then sees only how far apart two are."""
    if positions is None:
        raise ValueError("rotary positions need the positions to turn by")
    angle = angles(positions, x.shape[-1])
    wide = torch.promote_types(x.dtype, torch.float32)  # narrower numbers are turned in float32, and rounded once
    sine, cosine = angle.sin().to(wide), angle.cos().to(wide)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1).to(x.dtype)


class Sinusoidal(nn.Module):
    """Adds the sinusoidal encoding; it has no parameters and no longest length."""

    def __init__(self, width: int, *, layout: str = "interleaved") -> None:
        super().__init__()
        self.width = width
        self.layout = layout

    def forward(self, x: Float[Tensor, "B T W"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        return x + sinusoidal(positions, self.width, layout=self.layout).to(x.dtype)


class Learned(nn.Module):
    """Adds a learned vector for each position, up to a longest length."""

    def __init__(self, width: int, *, maximum_length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(maximum_length, width) * 0.02)

    def forward(self, x: Float[Tensor, "B T W"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        last = int(positions[-1])
        if last >= len(self.weight):
            raise RegardError(
                f"position {last + 1} was asked for, and this model has learned {len(self.weight)} positions. Give it "
                "shorter input, or train one with a larger maximum_length or with sinusoidal positions."
            )
        return x + self.weight[positions]


class Unplaced(nn.Module):
    """Adds nothing: positions are told elsewhere (rotary), or not at all."""

    def forward(self, x: Float[Tensor, "B T W"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:  # noqa: ARG002
        return x


Positions = Sinusoidal | Learned | Unplaced


def make_positions(name: str, width: int, *, maximum_length: int, layout: str = "interleaved") -> Positions:
    """The module that adds positions of that kind to embeddings."""
    match name:
        case "sinusoidal":
            return Sinusoidal(width, layout=layout)
        case "learned":
            return Learned(width, maximum_length=maximum_length)
        case "rotary" | "none":
            return Unplaced()
        case _:
            raise ValueError(f"no positions are called {name!r}; there are sinusoidal, learned, rotary and none")


def _exact(positions: Tensor) -> torch.dtype:
    return torch.float32 if positions.device.type == "mps" else torch.float64  # MPS has no float64

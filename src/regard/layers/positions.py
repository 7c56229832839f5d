r"""Position encodings: attention by itself does not depend on the order of the tokens.

    sinusoidal   angle(t, i) = t / 10000^(2i / W); its sine and cosine are added to the embedding   Vaswani et al., 2017
    learned      a table with one vector for each position
    rotary       queries and keys are rotated by the angle, so scores depend on distance            Su et al., 2021
    none         no positions

A good encoding is different for each position, gives two positions the same distance in sentences of any length, stays
bounded in longer sentences, and is deterministic; tests/unit/layers/test_positions.py checks each property.

To add an encoding, write a class here with its `name` and `formula`, list it in `POSITION_ENCODINGS`, and add its name
to `PositionsName` in config.py.
"""

from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.multi_head import RotaryFunction
from regard.config import TransformerStyle
from regard.errors import RegardError

DEFAULTS = TransformerStyle()
Rotated = Float[Tensor, "B H T D"]


def angles(positions: Int[Tensor, " T"], width: int, base: float = 10_000.0) -> Float[Tensor, "T half"]:
    """t / base^(2i / W) for every position t and every i below W / 2; in float64 where the device supports it."""
    dtype = torch.float32 if positions.device.type == "mps" else torch.float64  # MPS has no float64
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=dtype) / width
    return positions.to(dtype)[:, None] / base**exponents


def sinusoidal(positions: Int[Tensor, " T"], width: int, base: float = 10_000.0) -> Float[Tensor, "T W"]:
    """Sines and cosines of the angles, alternating."""
    angle = angles(positions, width, base)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :width]


def apply_rotary(x: Rotated, positions: Int[Tensor, " T"] | None, base: float = 10_000.0) -> Rotated:
    """Each pair of entries (i, i + D/2) rotated by its angle: a dot product then depends only on the distance."""
    if positions is None:
        raise ValueError("rotary positions need the positions to rotate by")
    angle = angles(positions, x.shape[-1], base)
    dtype = torch.promote_types(x.dtype, torch.float32)  # narrower numbers are rotated in float32 and rounded once
    sine, cosine = angle.sin().to(dtype), angle.cos().to(dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1).to(x.dtype)


class PositionEncoding(nn.Module):
    """Base of all encodings: a vector that is added to the embedding, a rotation of queries and keys, or neither."""

    name: ClassVar[str]
    formula: ClassVar[str]
    rotate: RotaryFunction | None = None

    def __init__(self, width: int, style: TransformerStyle = DEFAULTS) -> None:  # noqa: ARG002  (some have options)
        super().__init__()
        self.width = width

    def encoding(self, positions: Int[Tensor, " T"]) -> Float[Tensor, "T W"] | None:  # noqa: ARG002
        """The vectors to add at these positions, if any."""
        return None

    def forward(self, x: Float[Tensor, "B T W"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        encoding = self.encoding(positions)
        return x if encoding is None else x + encoding.to(x.dtype)


class SinusoidalPositions(PositionEncoding):
    """Adds sines and cosines; no parameters, and no maximum length."""

    name = "sinusoidal"
    formula = "p(t, 2i) = sin(t / 10000^(2i/W)), p(t, 2i+1) = cos(t / 10000^(2i/W))"

    def __init__(self, width: int, style: TransformerStyle = DEFAULTS) -> None:
        super().__init__(width, style)
        self.base = style.sinusoidal_base

    def encoding(self, positions: Int[Tensor, " T"]) -> Float[Tensor, "T W"]:
        return sinusoidal(positions, self.width, self.base)


class LearnedPositions(PositionEncoding):
    """Adds a learned vector for each position, up to a maximum length."""

    name = "learned"
    formula = "p(t) = P[t]"

    def __init__(self, width: int, style: TransformerStyle = DEFAULTS) -> None:
        super().__init__(width, style)
        self.weight = nn.Parameter(torch.randn(style.max_position_embeddings, width) * 0.02)
        token_types = getattr(style, "token_types", 0)
        self.token_types = nn.Parameter(torch.zeros(token_types, width)) if token_types else None

    def encoding(self, positions: Int[Tensor, " T"]) -> Float[Tensor, "T W"]:
        last = int(positions[-1])
        if last >= len(self.weight):
            raise RegardError(
                f"the input has {last + 1} positions, and this model has {len(self.weight)} learned positions. Give it "
                "shorter input, or train one with a larger max_position_embeddings or with sinusoidal positions."
            )
        return self.weight[positions] if self.token_types is None else self.weight[positions] + self.token_types[0]


class RotaryPositions(PositionEncoding):
    """Rotates queries and keys; adds nothing to the embedding."""

    name = "rotary"
    formula = "q(t) = R(t) q, k(t) = R(t) k"

    def __init__(self, width: int, style: TransformerStyle = DEFAULTS) -> None:
        super().__init__(width, style)
        self.base = style.rotary_base
        self.rotate = partial(apply_rotary, base=self.base)


class NoPositions(PositionEncoding):
    """Adds nothing."""

    name = "none"
    formula = "p(t) = 0"


POSITION_ENCODINGS: dict[str, type[PositionEncoding]] = {
    encoding.name: encoding for encoding in (SinusoidalPositions, LearnedPositions, RotaryPositions, NoPositions)
}


def make_positions(style: TransformerStyle, width: int) -> PositionEncoding:
    """The position encoding that a config names."""
    if style.positions not in POSITION_ENCODINGS:
        raise ValueError(
            f"{style.positions!r} is not a position encoding; choose one of {', '.join(POSITION_ENCODINGS)}"
        )
    return POSITION_ENCODINGS[style.positions](width, style)

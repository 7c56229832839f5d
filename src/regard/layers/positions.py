r"""Position encodings: attention by itself does not depend on the order of the tokens.

    sinusoidal   angle(t, i) = t / 10000^(2i / W); its sine and cosine are added to the embedding   Vaswani et al., 2017
    learned      a table with one vector for each position
    rotary       queries and keys are rotated by the angle, so scores depend on distance            Su et al., 2021
    relative     a learned number for each head and bucket of distances is added to the score       Raffel et al., 2020
    none         no positions

A good encoding is different for each position, gives two positions the same distance in sentences of any length, stays
bounded in longer sentences, and is deterministic; tests/unit/layers/test_positions.py checks each property.

To add an encoding, write a class here with its `name` and `formula`, list it in `POSITION_ENCODINGS`, and add its name
to `PositionsName` in config.py.
"""

import math
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.attend_with_score import PositionBias
from regard.attention.multi_head import RotaryFunction
from regard.config import TransformerStackConfig, TransformerStyle
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


def relative_buckets(
    offsets: Int[Tensor, "Q K"], *, buckets: int, max_distance: int, is_causal: bool
) -> Int[Tensor, "Q K"]:
    """The bucket of each offset, key position - query position: one for each of the small distances, and for larger
    ones intervals that grow with the logarithm up to `max_distance`.

    Half of the buckets are for later keys; with `is_causal`, where no query attends to a later key, none.
    """
    side = torch.zeros_like(offsets)
    distance = (-offsets).clamp(min=0)
    if not is_causal:
        buckets //= 2
        side, distance = (offsets > 0) * buckets, offsets.abs()
    exact = buckets // 2
    growth = torch.log(distance.float() / exact) / math.log(max_distance / exact)  # -inf at a distance of 0: not used
    large = (exact + (growth.clamp(min=0) * (buckets - exact)).long()).clamp(max=buckets - 1)
    return side + torch.where(distance < exact, distance, large)


class PositionEncoding(nn.Module):
    """Base of all encodings: a vector that is added to the embedding, a rotation of queries and keys, a bias that is
    added to the scores, or none of these.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    rotate: RotaryFunction | None = None

    def __init__(
        self,
        width: int,
        style: TransformerStyle = DEFAULTS,  # noqa: ARG002  (some have options)
        *,
        heads: int = 1,  # noqa: ARG002
        is_causal: bool = False,  # noqa: ARG002
    ) -> None:
        super().__init__()
        self.width = width

    def encoding(self, positions: Int[Tensor, " T"]) -> Float[Tensor, "T W"] | None:  # noqa: ARG002
        """The vectors to add at these positions, if any."""
        return None

    def position_bias(self, positions: Int[Tensor, " Q"], keys: int) -> PositionBias:  # noqa: ARG002
        """What to add to the scores of queries at these positions and of the first `keys` keys, if anything."""
        return None

    def forward(self, x: Float[Tensor, "B T W"], positions: Int[Tensor, " T"]) -> Float[Tensor, "B T W"]:
        encoding = self.encoding(positions)
        return x if encoding is None else x + encoding.to(x.dtype)


class SinusoidalPositions(PositionEncoding):
    """Adds sines and cosines; no parameters, and no maximum length."""

    name = "sinusoidal"
    formula = "p(t, 2i) = sin(t / 10000^(2i/W)), p(t, 2i+1) = cos(t / 10000^(2i/W))"

    def __init__(
        self, width: int, style: TransformerStyle = DEFAULTS, *, heads: int = 1, is_causal: bool = False
    ) -> None:
        super().__init__(width, style, heads=heads, is_causal=is_causal)
        self.base = style.sinusoidal_base

    def encoding(self, positions: Int[Tensor, " T"]) -> Float[Tensor, "T W"]:
        return sinusoidal(positions, self.width, self.base)


class LearnedPositions(PositionEncoding):
    """Adds a learned vector for each position, up to a maximum length."""

    name = "learned"
    formula = "p(t) = P[t]"

    def __init__(
        self, width: int, style: TransformerStyle = DEFAULTS, *, heads: int = 1, is_causal: bool = False
    ) -> None:
        super().__init__(width, style, heads=heads, is_causal=is_causal)
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

    def __init__(
        self, width: int, style: TransformerStyle = DEFAULTS, *, heads: int = 1, is_causal: bool = False
    ) -> None:
        super().__init__(width, style, heads=heads, is_causal=is_causal)
        self.base = style.rotary_base
        self.rotate = partial(apply_rotary, base=self.base)


class RelativePositions(PositionEncoding):
    """Adds a learned bias to the scores, by the distance from query to key; the layers of a stack share it."""

    name = "relative"
    formula = "s(i, j) = q_i · k_j + b[bucket(j − i)]"

    def __init__(
        self, width: int, style: TransformerStyle = DEFAULTS, *, heads: int = 1, is_causal: bool = False
    ) -> None:
        super().__init__(width, style, heads=heads, is_causal=is_causal)
        self.weight = nn.Parameter(torch.randn(style.relative_buckets, heads) * 0.02)
        self.max_distance, self.is_causal = style.relative_max_distance, is_causal

    def position_bias(self, positions: Int[Tensor, " Q"], keys: int) -> Float[Tensor, "1 H Q K"]:
        offsets = torch.arange(keys, device=positions.device) - positions[:, None]
        buckets = relative_buckets(
            offsets, buckets=len(self.weight), max_distance=self.max_distance, is_causal=self.is_causal
        )
        return self.weight[buckets].permute(2, 0, 1).unsqueeze(0).contiguous()


class NoPositions(PositionEncoding):
    """Adds nothing."""

    name = "none"
    formula = "p(t) = 0"


POSITION_ENCODINGS: dict[str, type[PositionEncoding]] = {
    encoding.name: encoding
    for encoding in (SinusoidalPositions, LearnedPositions, RotaryPositions, RelativePositions, NoPositions)
}


def make_positions(style: TransformerStyle, sizes: TransformerStackConfig, *, is_causal: bool) -> PositionEncoding:
    """The position encoding that a config names, for one stack of blocks."""
    if style.positions not in POSITION_ENCODINGS:
        raise ValueError(
            f"{style.positions!r} is not a position encoding; choose one of {', '.join(POSITION_ENCODINGS)}"
        )
    return POSITION_ENCODINGS[style.positions](sizes.width, style, heads=sizes.heads, is_causal=is_causal)

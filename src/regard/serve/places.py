"""What a model knows of positions: the encoding as numbers, for the page to draw."""

from typing import Any, Literal

import msgspec
import torch

from regard.bundle import Bundle
from regard.layers.positions import Learned, angles, sinusoidal
from regard.models.lengths import longest_row


class PositionsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The encoding of each position; of rotary positions the sines and cosines of the angles."""

    kind: Literal["sinusoidal", "learned", "rotary", "none"]
    layout: Literal["interleaved", "halves"] | None
    width: int
    values: list[list[float]] | None
    longest: int | None = None  # how many positions a learned table has
    trained: int | None = None  # how many of them training can have reached; the others are as they were drawn


def positions_of(bundle: Bundle, length: int) -> PositionsAnswer:
    """What the model adds to its embeddings, or turns its queries and keys by, at each position."""
    config: Any = bundle.config.model
    stack: Any = getattr(config, "encoder", None) or getattr(config, "decoder", None) or getattr(config, "stack", None)
    width, places = getattr(stack, "width", 0), torch.arange(length)
    match getattr(config, "positions", "none"):
        case "sinusoidal":
            layout: Any = getattr(config, "layout", "interleaved")
            values = sinusoidal(places, width, layout=layout).tolist()
            return PositionsAnswer(kind="sinusoidal", layout=layout, width=width, values=values)
        case "learned":
            table = next(one for one in bundle.model.modules() if isinstance(one, Learned)).weight
            return PositionsAnswer(
                kind="learned",
                layout=None,
                width=width,
                values=table.detach()[:length].tolist(),
                longest=len(table),
                trained=longest_row(bundle.config) + 1,  # BEGIN or END has a position too
            )
        case "rotary":
            width //= stack.heads
            turned = angles(places, width)
            values = torch.cat([turned.sin(), turned.cos()], dim=-1).tolist()
            return PositionsAnswer(kind="rotary", layout="halves", width=width, values=values)
        case _:
            return PositionsAnswer(kind="none", layout=None, width=width, values=None)

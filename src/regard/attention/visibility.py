"""Who may look at whom, computed from positions: True means that the query may look at the key.

Each rule broadcasts to (B, H, Q, K), and rules combine with `&`. `None` stands for "everyone sees everything".
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def real_keys(is_real: Bool[Tensor, "B K"]) -> Bool[Tensor, "B 1 1 K"]:
    """Every query sees the keys that are tokens, and no padding."""
    return is_real[:, None, None, :]


def causal(query_positions: Int[Tensor, " Q"], key_positions: Int[Tensor, " K"]) -> Bool[Tensor, "1 1 Q K"]:
    """A query sees its own position and those before it."""
    return (key_positions <= query_positions[:, None])[None, None]


@dataclass(frozen=True)
class CausalFromStart:
    """The causal rule of a sequence from its first position on, told and not written down.

    A fused kernel can follow it as it is; written down it grows with the square of the length.
    """

    length: int
    device: torch.device

    def written(self) -> Bool[Tensor, "1 1 T T"]:
        """The same rule for every query and key."""
        positions = torch.arange(self.length, device=self.device)
        return causal(positions, positions)


def window(query: Int[Tensor, " Q"], key: Int[Tensor, " K"], *, radius: int) -> Bool[Tensor, "1 1 Q K"]:
    """A query at its position sees the keys at most `radius` away, on either side; a rule for models of your own."""
    return ((key - query[:, None]).abs() <= radius)[None, None]


Visible = Bool[Tensor, "..."] | CausalFromStart | None


def written(visible: Visible) -> Bool[Tensor, "..."] | None:
    """The rule for every query and key, where it was only told."""
    return visible.written() if isinstance(visible, CausalFromStart) else visible

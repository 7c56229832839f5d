r"""Several heads at once, each with its own W_Q, W_K, W_V of a part of the width; joined and multiplied by W_O.

head_h = attend(q_h . k_h / sqrt(D), v_h),   output = [head_1 ... head_H] W_O          Vaswani et al., 2017
"""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.general import Visible, look
from regard.attention.key_values import KeyValues
from regard.attention.recording import recording_of
from regard.attention.scores import scaled_dot

Positions = Int[Tensor, " T"] | None
Rotate = Callable[[Tensor, Positions], Tensor]  # turns (B, H, T, D) by its positions (T): rotary positions


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention in several heads. Whether of self or across depends on where the keys come from."""

    def __init__(
        self, width: int, heads: int, *, inputs: int | None = None, dropout: float = 0.0, rotate: Rotate | None = None
    ) -> None:
        super().__init__()
        self.heads, self.dropout, self.rotate = heads, dropout, rotate
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(inputs or width, width)
        self.value = nn.Linear(inputs or width, width)
        self.output = nn.Linear(width, width)

    def key_values(self, inputs: Float[Tensor, "B K inputs"], positions: Positions = None) -> KeyValues:
        """Keys and values of the inputs, to be looked at now or kept for later."""
        return KeyValues.of(self._turned(self._split(self.key(inputs)), positions), self._split(self.value(inputs)))

    def forward(
        self, x: Float[Tensor, "B Q W"], key_values: KeyValues, visible: Visible = None, *, positions: Positions = None
    ) -> Float[Tensor, "B Q W"]:
        """What each position of x finds when it looks at the keys that are visible to it."""
        query = self._turned(self._split(self.query(x)), positions)
        dropout = self.dropout if self.training else 0.0
        # The fused kernel keeps no weights, and lets a hidden NaN or Inf leak (0 * NaN).
        if recording_of(self) or not (visible is None or key_values.is_finite):
            context = look(self, scaled_dot, query, key_values, visible, dropout).context
        else:
            context = _fused(query, key_values, visible, dropout)
        return self.output(context.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]  # (B, H, Q, D) -> (B, Q, W)

    def _split(self, x: Float[Tensor, "B T W"]) -> Float[Tensor, "B H T D"]:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _turned(self, x: Float[Tensor, "B H T D"], positions: Positions) -> Float[Tensor, "B H T D"]:
        return x if self.rotate is None else self.rotate(x, positions)


def _fused(query: Float[Tensor, "B H Q D"], key_values: KeyValues, visible: Visible, dropout: float) -> Tensor:
    """What `look` computes, by torch's kernel: on a processor in float32, where its gradient is seven times as fast."""
    is_rounding = query.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    inputs = (query, key_values.key, key_values.value)
    query, key, value = (tensor.float() for tensor in inputs) if is_rounding else inputs
    mask, is_causal = (None, True) if isinstance(visible, str) else (visible, False)  # no table for the causal rule
    with torch.autocast("cpu", enabled=False) if is_rounding else nullcontext():
        return functional.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal)

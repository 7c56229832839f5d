r"""Multi-head attention: each head has its own W_Q, W_K, W_V of a part of the width; the heads are joined by W_O.

head_h = attend(q_h . k_h / sqrt(D), v_h),   output = [head_1 ... head_H] W_O          Vaswani et al., 2017

Without scaling, as in T5, the score is q_h . k_h. Relative positions add a bias to it    Raffel et al., 2020

With fewer heads of keys and values, groups of neighbouring heads use the same ones      Ainslie et al., 2023
"""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.attend_with_score import PositionBias, Visible, attend_with_score
from regard.attention.hooks import active_recording, edit, has_edits
from regard.attention.key_value_cache import KeyValues
from regard.attention.scores import DotScore, ScaledDotScore
from regard.attention.visibility import causal

Positions = Int[Tensor, " T"] | None
RotaryFunction = Callable[[Tensor, Positions], Tensor]  # rotates (B, H, T, D) by its positions (T)


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention with several heads: self- or cross-attention, depending on the keys.

    For example, self-attention:

        attention, x = regard.MultiHeadAttention(64, heads=4), torch.randn(1, 10, 64)
        output = attention(x, attention.key_values(x))
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_width: int | None = None,  # None: the width is divided among the heads; given, if heads were removed
        key_value_heads: int = 0,
        key_width: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        scaled: bool = True,  # the scores, by the root of a head's width
        rotate: RotaryFunction | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.dropout, self.rotate = heads, dropout, rotate
        self.key_value_heads = key_value_heads or heads
        head_width = head_width or width // heads
        projected_width = head_width * self.key_value_heads
        self.query = nn.Linear(width, heads * head_width, bias)
        self.key = nn.Linear(key_width or width, projected_width, bias)
        self.value = nn.Linear(key_width or width, projected_width, bias)
        self.output = nn.Linear(heads * head_width, width, bias)
        self.score = (ScaledDotScore if scaled else DotScore)(head_width, head_width)

    def key_values(self, inputs: Float[Tensor, "B K inputs"], positions: Positions = None) -> KeyValues:
        """Keys and values of the inputs, to attend to now or to cache."""
        key, value = (self._split(part(inputs), self.key_value_heads) for part in (self.key, self.value))
        key, group = self._rotated(key, positions), self.heads // self.key_value_heads
        if group > 1:
            key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
        return KeyValues.from_tensors(key, value)

    def forward(
        self,
        x: Float[Tensor, "B Q W"],
        key_values: KeyValues,
        visible: Visible = None,
        *,
        positions: Positions = None,
        position_bias: PositionBias = None,
    ) -> Float[Tensor, "B Q W"]:
        """The output of attention for each position of x, over the keys that are visible to it."""
        query = self._rotated(self._split(self.query(x), self.heads), positions)
        dropout = self.dropout if self.training else 0.0
        # The fused kernel returns no weights, and lets a masked NaN or Inf leak (0 * NaN).
        if active_recording(self) or has_edits(self) or not (visible is None or key_values.is_finite):
            context = attend_with_score(
                self, self.score, query, key_values, visible, dropout, positions, position_bias
            ).context
        else:
            scale = self.score.scale(query.shape[-1])
            context = fused_attention(query, key_values, visible, dropout, scale=scale, position_bias=position_bias)
        output: Tensor = self.output(context.transpose(1, 2).flatten(2))  # (B, H, Q, D) -> (B, Q, W)
        return output

    def _split(self, x: Float[Tensor, "B T W"], heads: int) -> Float[Tensor, "B H T D"]:
        return x.view(*x.shape[:2], heads, -1).transpose(1, 2)

    def _rotated(self, x: Float[Tensor, "B H N D"], positions: Positions) -> Float[Tensor, "B H N D"]:
        return x if self.rotate is None else edit(self, "rotary", self.rotate(x, positions), positions, without=x)


def fused_attention(
    query: Float[Tensor, "B H Q D"],
    key_values: KeyValues,
    visible: Visible,
    dropout: float = 0.0,
    *,
    scale: float,
    position_bias: PositionBias = None,
) -> Tensor:
    """`attend_with_score` by torch's fused kernel; in float32 on a CPU, where the gradient is seven times as fast."""
    is_autocast = query.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    inputs = (query, key_values.key, key_values.value)
    query, key, value = (tensor.float() for tensor in inputs) if is_autocast else inputs
    mask, is_causal = (None, True) if isinstance(visible, str) else (visible, False)  # the causal rule needs no mask
    if position_bias is not None:  # the kernel adds one mask of numbers: the bias, and -inf where no key is visible
        if is_causal:
            mask, is_causal = causal(*map(torch.arange, position_bias.shape[-2:])).to(query.device), False
        bias = position_bias.to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    with torch.autocast("cpu", enabled=False) if is_autocast else nullcontext():
        return functional.scaled_dot_product_attention(query, key, value, mask, dropout, is_causal, scale=scale)

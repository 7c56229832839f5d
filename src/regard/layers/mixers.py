r"""How a position of a Transformer layer learns of the others of its own sequence: by attention, or by recurrence.

    attention    attend(x W_Q, x W_K, x W_V)                                                       Vaswani et al., 2017
    SSRU         f_t = sigmoid(W_f x_t + b),  c_t = f_t c_{t-1} + (1 - f_t) W x_t,  relu(c_t)      Kim et al., 2019

Both take the past as a cache and give it back one step further, so that a block need not know which it has.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.general import Visible
from regard.attention.key_values import KeyValues
from regard.attention.multi_head import MultiHeadAttention, Rotate

Cache = KeyValues | Float[Tensor, "B W"]


class AttentionMixer(nn.Module):
    """Self-attention over the past and the new positions; the cache is the past's keys and values."""

    def __init__(self, width: int, heads: int, *, dropout: float = 0.0, rotate: Rotate | None = None) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, dropout=dropout, rotate=rotate)

    def forward(
        self, x: Float[Tensor, "B T W"], cache: Cache | None, visible: Visible, positions: Int[Tensor, " T"]
    ) -> tuple[Float[Tensor, "B T W"], Cache]:
        new = self.attention.key_values(x, positions)
        key_values = cache.extend(new) if isinstance(cache, KeyValues) else new
        return self.attention(x, key_values, visible, positions=positions), key_values


class RecurrentMixer(nn.Module):
    """The simpler simple recurrent unit: one step costs the same however long the past; the cache is one vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.forget = nn.Linear(width, width)
        self.candidate = nn.Linear(width, width, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        cache: Cache | None,
        visible: Visible,  # noqa: ARG002  (recurrence sees the past and nothing else)
        positions: Int[Tensor, " T"],  # noqa: ARG002
    ) -> tuple[Float[Tensor, "B T W"], Cache]:
        forget = torch.sigmoid(self.forget(x))
        added = (1 - forget) * self.candidate(x)
        cell = cache if isinstance(cache, Tensor) else torch.zeros_like(added[:, 0])
        cells = []
        for step in range(x.shape[1]):
            cell = forget[:, step] * cell + added[:, step]
            cells.append(cell)
        return torch.relu(torch.stack(cells, dim=1)), cell

r"""The context alone, for when nobody asks for the weights: the same numbers as `attend` gives, much faster.

Torch's fused kernel never writes the weights down, so that memory grows with the length and not with its square. On a
CPU it works on one row and one head at a time, and a sentence is over before that pays: short rows are products of all
rows and heads at once instead.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from regard.attention.general import Visible
from regard.attention.visibility import causal

SHORT = 32  # keys: up to here products of all rows at once were measured to be faster
STEP, LEAST = 8, 16  # keys: what a CPU works on at once, and what torch's softmax needs to do so


def fused_context(
    query: Float[Tensor, "B H Q D"],
    key: Float[Tensor, "B H K D"],
    value: Float[Tensor, "B H K E"],
    visible: Visible,
    *,
    dropout: float = 0.0,
) -> Float[Tensor, "B H Q E"]:
    """What each query finds among the keys that it may see; zeros where it sees none."""
    if not dropout and _is_short(query, key):
        seen = _as_table(query, key, visible)
        if bool(seen.any(dim=-1).all()):
            return _by_products(query, key, value, seen)
    is_causal = isinstance(visible, str)  # told to the kernel, not written as a table
    mask = None if isinstance(visible, str) else visible
    return functional.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=is_causal)


def _is_short(query: Tensor, key: Tensor) -> bool:
    is_plain = query.device.type == "cpu" and query.dtype in (torch.float32, torch.float64)
    return is_plain and query.shape[2] > 1 and key.shape[2] <= SHORT


def _as_table(query: Tensor, key: Tensor, visible: Visible) -> Bool[Tensor, "..."]:
    if isinstance(visible, str):
        return causal(torch.arange(query.shape[2]), torch.arange(key.shape[2]))
    return torch.ones(1, 1, 1, key.shape[2], dtype=torch.bool) if visible is None else visible


def _by_products(query: Tensor, key: Tensor, value: Tensor, visible: Bool[Tensor, "..."]) -> Tensor:
    """softmax(q . k / sqrt(D)) v, rows and heads side by side; what is not visible sets out from -inf."""
    rows, heads, queries, width = query.shape
    keys = max(LEAST, math.ceil(key.shape[2] / STEP) * STEP)
    more = keys - key.shape[2]  # keys that nobody sees, for speed alone
    key, value = (functional.pad(part, (0, 0, 0, more)).flatten(0, 1) for part in (key, value))
    outset = torch.where(functional.pad(visible, (0, more)), 0.0, float("-inf")).to(query.dtype)
    outset = outset.expand(rows, heads, queries, keys).flatten(0, 1)
    scores = torch.baddbmm(outset, query.flatten(0, 1), key.transpose(1, 2), alpha=1 / math.sqrt(width))
    return torch.bmm(scores.softmax(dim=-1), value).view(rows, heads, queries, -1)

"""Who may look at whom, computed from positions: True means that the query may look at the key.

Each rule broadcasts to (B, H, Q, K), and rules combine with `&`. `None` stands for "everyone sees everything".
"""

from jaxtyping import Bool, Int
from torch import Tensor


def real_keys(is_real: Bool[Tensor, "B K"]) -> Bool[Tensor, "B 1 1 K"]:
    """Every query sees the keys that are tokens, and no padding."""
    return is_real[:, None, None, :]


def causal(query_positions: Int[Tensor, " Q"], key_positions: Int[Tensor, " K"]) -> Bool[Tensor, "1 1 Q K"]:
    """A query sees its own position and those before it."""
    return (key_positions <= query_positions[:, None])[None, None]


def window(query: Int[Tensor, " Q"], key: Int[Tensor, " K"], *, radius: int) -> Bool[Tensor, "1 1 Q K"]:
    """A query at its position sees the keys at most `radius` away, on either side; a rule for models of your own."""
    return ((key - query[:, None]).abs() <= radius)[None, None]

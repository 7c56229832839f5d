"""Which keys a query may attend to, computed from positions: True means visible.

Each rule broadcasts to (B, H, Q, K), and rules combine with `&`. `None` means that every key is visible.
"""

from jaxtyping import Bool, Int
from torch import Tensor


def real_keys(is_real: Bool[Tensor, "B K"]) -> Bool[Tensor, "B 1 1 K"]:
    """Tokens are visible to every query; padding is not."""
    return is_real[:, None, None, :]


def causal(query_positions: Int[Tensor, " Q"], key_positions: Int[Tensor, " K"]) -> Bool[Tensor, "1 1 Q K"]:
    """The query's own position and all earlier ones are visible."""
    return (key_positions <= query_positions[:, None])[None, None]


def window(query: Int[Tensor, " Q"], key: Int[Tensor, " K"], *, radius: int) -> Bool[Tensor, "1 1 Q K"]:
    """Keys at most `radius` positions away are visible, on either side; for models of your own."""
    return ((key - query[:, None]).abs() <= radius)[None, None]

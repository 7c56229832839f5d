r"""From scores to a context: a softmax over what is visible, then a weighted sum of the values.

weights = softmax(scores),   context = sum_k weights_k value_k          Bahdanau et al., 2015
"""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


class Attended(NamedTuple):
    """The context of each query, and the weights it was summed with (before dropout)."""

    context: Float[Tensor, "... Q D"]
    weights: Float[Tensor, "... Q K"]


def attend(
    scores: Float[Tensor, "... Q K"],
    value: Float[Tensor, "... K D"],
    visible: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
) -> Attended:
    """Weights that sum to one over what is visible, and the sum of the values under them."""
    weights = softmax_over_visible(scores, visible)
    return Attended(weighted_sum(functional.dropout(weights, dropout), value), weights)


def softmax_over_visible(scores: Float[Tensor, "... Q K"], visible: Bool[Tensor, "..."] | None) -> Tensor:
    """Softmax over the visible scores; exactly zero elsewhere, and in the whole row where nothing is visible."""
    if visible is None:
        return scores.softmax(dim=-1)
    # A row of nothing but -inf would give 0/0: such a row gets harmless scores, and its weights are set to zero after.
    sees_nothing = ~visible.any(dim=-1, keepdim=True)
    visible_scores = scores.masked_fill(~visible, float("-inf")).masked_fill(sees_nothing, 0.0)
    return visible_scores.softmax(dim=-1).masked_fill(~visible, 0.0)


def weighted_sum(weights: Float[Tensor, "... Q K"], value: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q D"]:
    """sum_k weights_k value_k, where a weight of zero silences even NaN and Inf (0 * NaN would be NaN)."""
    if all_finite(value):
        return weights @ value
    finite = value.isfinite().all(dim=-1, keepdim=True)
    sees_nonfinite = weights @ (~finite).to(weights.dtype) > 0
    return (weights @ value.masked_fill(~finite, 0.0)).masked_fill(sees_nonfinite, float("nan"))


def all_finite(*tensors: Tensor) -> bool:
    """Whether there is no NaN and no Inf, by one sum over each tensor; a sum that overflows errs on the safe side."""
    return all(bool(tensor.detach().sum().isfinite()) for tensor in tensors)

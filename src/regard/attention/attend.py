r"""From scores to a context: a softmax over the visible keys, then a weighted sum of the values.

weights = softmax(scores),   context = sum_k weights_k value_k          Bahdanau et al., 2015
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


class AttentionOutput(NamedTuple):
    """The context of each query, and its weights (before dropout)."""

    context: Float[Tensor, "... Q D"]
    weights: Float[Tensor, "... Q K"]


def attend(
    scores: Float[Tensor, "... Q K"],
    value: Float[Tensor, "... K D"],
    visible: Bool[Tensor, "..."] | None = None,
    *,
    dropout: float = 0.0,
    is_finite: bool | None = None,  # whether all values are finite; None: checked here
) -> AttentionOutput:
    """Weights that sum to one over the visible keys, and the sum of the values under them.

    For example:

        query, key, value = torch.randn(3, 4, 8)
        output = regard.attend(query @ key.T / 8**0.5, value)
        print(output.context, output.weights)
    """
    weights = softmax_over_visible(scores, visible)
    return AttentionOutput(attended_values(weights, value, dropout=dropout, is_finite=is_finite), weights)


def softmax_over_visible(scores: Float[Tensor, "... Q K"], visible: Bool[Tensor, "..."] | None) -> Tensor:
    """Softmax over the visible scores; exactly zero elsewhere, and in the whole row if no key is visible."""
    if visible is None:
        return scores.softmax(dim=-1)
    # A row of nothing but -inf would give 0/0: such a row gets scores of zero, and its weights are set to zero below.
    is_fully_masked = ~visible.any(dim=-1, keepdim=True)
    visible_scores = scores.masked_fill(~visible, float("-inf")).masked_fill(is_fully_masked, 0.0)
    return visible_scores.softmax(dim=-1).masked_fill(~visible, 0.0)


def attended_values(
    weights: Float[Tensor, "... Q K"], value: Float[Tensor, "... K D"], *, dropout: float, is_finite: bool | None
) -> Float[Tensor, "... Q D"]:
    """The sum of the values under the weights, some of which dropout sets to zero."""
    dropped = functional.dropout(weights, dropout)
    is_finite = all_finite(value) if is_finite is None else is_finite
    return dropped @ value if is_finite else weighted_sum(dropped, value)


def weighted_sum(weights: Float[Tensor, "... Q K"], value: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q D"]:
    """sum_k weights_k value_k, where a weight of zero removes even NaN and Inf (0 * NaN would be NaN)."""
    finite = value.isfinite().all(dim=-1, keepdim=True)
    attends_nonfinite = weights @ (~finite).to(weights.dtype) > 0
    return (weights @ value.masked_fill(~finite, 0.0)).masked_fill(attends_nonfinite, float("nan"))


def all_finite(*tensors: Tensor) -> bool:
    """Whether there is no NaN, no Inf, and nothing so large that a product of two entries would be Inf."""
    return bool(torch.stack([tensor.detach().norm() for tensor in tensors]).isfinite().all())

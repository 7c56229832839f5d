r"""The general attention layer: M queries against N inputs, through any score.

    key = x W_k  (width D_k),   value = x W_v  (width D_v),   context = attend(score(query, key), value)

The RNN that attends is the case without W_k and W_v, where the inputs themselves are keys and values.
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.attend import Attended, attend
from regard.attention.key_values import KeyValues
from regard.attention.recording import recording_of
from regard.attention.scores import make_score
from regard.attention.visibility import causal

Visible = Bool[Tensor, "..."] | Literal["causal"] | None  # "causal": a whole sequence's rule, without its table


class Attention(nn.Module):
    """One head: looks at inputs through keys of width D_k, and takes values of width D_v from them."""

    def __init__(
        self, query: int, inputs: int, *, score: str, key: int | None = None, value: int | None = None
    ) -> None:
        super().__init__()
        self.key = nn.Identity() if key is None else nn.Linear(inputs, key)
        self.value = nn.Identity() if value is None else nn.Linear(inputs, value)
        self.score = make_score(score, query, key or inputs)

    def key_values(self, inputs: Float[Tensor, "B K inputs"]) -> KeyValues:
        """All that depends on the inputs alone, once for however many queries."""
        return KeyValues.of(self.score.prepare(self.key(inputs)).unsqueeze(1), self.value(inputs).unsqueeze(1))

    def forward(self, query: Float[Tensor, "B Q query"], key_values: KeyValues, visible: Visible = None) -> Attended:
        """The context of each query (B, Q, D_v), and its weights over the inputs (B, Q, K)."""
        context, weights = look(self, self.score, query.unsqueeze(1), key_values, visible)  # one head: (B, 1, Q, K)
        return Attended(context.squeeze(1), weights.squeeze(1))


def look(
    layer: nn.Module,
    score: Callable[[Tensor, Tensor], Tensor],
    query: Float[Tensor, "B H Q D"],
    key_values: KeyValues,
    visible: Visible,
    dropout: float = 0.0,
) -> Attended:
    """Attention step by step, each step offered to whoever records the layer."""
    key, value = key_values.key, key_values.value
    if not key_values.is_finite:  # a key that is NaN or Inf shows in its value, which `attend` knows how to silence
        finite = key.isfinite().all(dim=-1, keepdim=True)
        key, value = key.masked_fill(~finite, 0.0), value.masked_fill(~finite, float("nan"))
    scores = score(query, key)
    visible = causal(*map(torch.arange, scores.shape[-2:])).to(scores.device) if isinstance(visible, str) else visible
    context, weights = attend(scores, value, visible, dropout=dropout, is_finite=key_values.is_finite)
    if (recording := recording_of(layer)) is not None:
        seen = (torch.ones_like(scores, dtype=torch.bool) if visible is None else visible).expand_as(scores)
        more = {"query": query, "key": key, "value": value, "scores": scores, "visible": seen, "context": context}
        recording.keep(layer, weights=weights, **more)
    return Attended(context, weights)

r"""Attention with one head and any score.

    key = x W_k  (width D_k),   value = x W_v  (width D_v),   context = attend(score(query, key), value)

The RNN with attention uses it without W_k and W_v: the encoder states are keys and values.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.attend import AttentionOutput, attended_values, softmax_over_visible
from regard.attention.hooks import SequencePositions, active_recording, edit, has_edits
from regard.attention.key_value_cache import KeyValues
from regard.attention.scores import AttentionScore, make_score
from regard.attention.visibility import causal

Visible = Bool[Tensor, "..."] | Literal["causal"] | None  # "causal": the rule for a whole sequence, without its mask
PositionBias = Float[Tensor, "1 H Q K"] | None  # what relative positions add to the scores


class AttentionLayer(nn.Module):
    """One head: keys of width D_k and values of width D_v, both projected from the inputs."""

    def __init__(
        self,
        query_width: int,
        input_width: int,
        *,
        score: str,
        key_width: int | None = None,
        value_width: int | None = None,
    ) -> None:
        super().__init__()
        self.key = nn.Identity() if key_width is None else nn.Linear(input_width, key_width)
        self.value = nn.Identity() if value_width is None else nn.Linear(input_width, value_width)
        self.score = make_score(score, query_width, key_width or input_width)

    def key_values(self, inputs: Float[Tensor, "B K inputs"]) -> KeyValues:
        """Everything that depends on the inputs alone, computed once for any number of queries."""
        return KeyValues.from_tensors(
            self.score.project_keys(self.key(inputs)).unsqueeze(1), self.value(inputs).unsqueeze(1)
        )

    def forward(
        self,
        query: Float[Tensor, "B Q query"],
        key_values: KeyValues,
        visible: Visible = None,
        *,
        positions: SequencePositions = None,
    ) -> AttentionOutput:
        """The context of each query (B, Q, D_v), and its weights over the inputs (B, Q, K)."""
        context, weights = attend_with_score(
            self, self.score, query.unsqueeze(1), key_values, visible, positions=positions
        )
        return AttentionOutput(context.squeeze(1), weights.squeeze(1))  # one head: (B, 1, Q, K)


def attend_with_score(
    layer: nn.Module,
    score: AttentionScore,
    query: Float[Tensor, "B H Q D"],
    key_values: KeyValues,
    visible: Visible,
    dropout: float = 0.0,
    positions: SequencePositions = None,
    position_bias: PositionBias = None,
) -> AttentionOutput:
    """Attention step by step, each step open to the layer's edits and its recording, if there are any."""
    key, value = key_values.key, key_values.value
    if not key_values.is_finite:  # mark a key with NaN or Inf in its value, where `attend` can mask it
        finite = key.isfinite().all(dim=-1, keepdim=True)
        key, value = key.masked_fill(~finite, 0.0), value.masked_fill(~finite, float("nan"))
    scores = score(query, key)
    if has_edits(layer):
        scores = edit(layer, "scores", scores, positions, without=score.unscaled(query, key))
    if position_bias is not None:
        scores = edit(layer, "position_bias", scores + position_bias, positions, without=scores)
    visible = causal(*map(torch.arange, scores.shape[-2:])).to(scores.device) if isinstance(visible, str) else visible
    if has_edits(layer):
        all_visible = (torch.ones_like(scores, dtype=torch.bool) if visible is None else visible).expand_as(scores)
        visible = edit(layer, "visible", all_visible, positions)
    weights = edit(layer, "weights", softmax_over_visible(scores, visible), positions, visible=visible)
    context = attended_values(weights, value, dropout=dropout, is_finite=key_values.is_finite)
    context = edit(layer, "context", context, positions)
    if (recording := active_recording(layer)) is not None:
        all_visible = (torch.ones_like(scores, dtype=torch.bool) if visible is None else visible).expand_as(scores)
        recording.record(
            layer,
            weights=weights,
            query=query,
            key=key,
            value=value,
            scores=scores,
            visible=all_visible,
            context=context,
            **({} if position_bias is None else {"position_bias": position_bias.expand_as(scores)}),
        )
    return AttentionOutput(context, weights)

"""Attention from queries, keys and values, whose steps can be recorded and edited; for one head and for several."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.attend import AttentionOutput, attended_values, softmax_over_visible
from regard.attention.hooks import SequencePositions, active_recording, edit, has_edits
from regard.attention.key_value_cache import KeyValues
from regard.attention.scores import AttentionScore
from regard.attention.visibility import causal

Visible = Bool[Tensor, "..."] | Literal["causal"] | None  # "causal": the rule for a whole sequence, without its mask
PositionBias = Float[Tensor, "1 H Q K"] | None  # what relative positions add to the scores


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

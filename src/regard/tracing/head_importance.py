"""Which heads a token needs: its log-probability without a head - that with it, every head in one batch."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.attention.hooks import Edit, Place, apply_edits
from regard.errors import RegardError
from regard.models.interface import AttentionRole, DecoderOutput
from regard.tracing.edits import normalised_rows
from regard.tracing.model_parts import AttentionPart, ModelParts
from regard.tracing.pass_input import PassInput

RemovedHead = Literal["zero", "uniform"]


@dataclass(frozen=True)
class LayerImportance:
    """For each head of an attention, the change of a log-probability without it; negative: the head is needed."""

    name: str
    role: AttentionRole
    layer: int  # within its role
    changes: list[float]


@dataclass(frozen=True)
class HeadImportance:
    """How much the log-probability of a token (None: of the whole output) changes without each head."""

    position: int | None
    log_probability: float
    layers: list[LayerImportance]


@torch.inference_mode()
def head_importance(passed: PassInput, position: int | None = None, action: RemovedHead = "zero") -> HeadImportance:
    """The change of the log-probability of the token at a position (None: of all tokens) without each head."""
    parts = ModelParts(passed.model).attentions
    if not parts:
        raise RegardError("this model has no attention, so it has no heads to remove.")
    heads = [(part, head) for part in parts for head in range(part.heads)]
    with passed.interventions():
        decoded = passed.run()
        tokens = passed.expected_tokens(decoded.logits[0])
        if position is not None and not 0 <= position < len(tokens):
            raise RegardError(f"there is no position {position}; this pass has {len(tokens)}, counted from 0.")
        [base] = _token_scores(decoded, tokens, position)
        size = passed.rows_per_batch
        batches = [heads[start : start + size] for start in range(0, len(heads), size)]
        without = [score for batch in batches for score in _scores_without(passed, batch, tokens, position, action)]
    changes = iter([score - base for score in without])
    layers = [
        LayerImportance(part.name, part.role, part.layer, [next(changes) for _ in range(part.heads)]) for part in parts
    ]
    return HeadImportance(position, base, layers)


def _scores_without(
    passed: PassInput,
    heads: list[tuple[AttentionPart, int]],
    tokens: Tensor,
    position: int | None,
    action: RemovedHead,
) -> list[float]:
    """The score of one row for each head, which this row has not; the encoder runs once for all decoder heads."""
    is_encoder = [passed.target is None or part.role in ("encoder-self", "image-self") for part, _ in heads]
    encoder_rows = iter(range(1, sum(is_encoder) + 1))
    sentences = [next(encoder_rows) if own else 0 for own in is_encoder]
    site: Literal["context", "weights"] = "context" if action == "zero" else "weights"
    rows: dict[int, list[tuple[int, int]]] = {}
    for row, (part, head) in enumerate(heads):
        rows.setdefault(id(part.module), []).append((sentences[row] or row, head))
    modules = {id(part.module): part.module for part, _ in heads}
    with apply_edits([(modules[key], site, _remove_heads(own, action)) for key, own in rows.items()]):
        return _token_scores(passed.run(sentences), tokens, position)


def _remove_heads(rows_and_heads: list[tuple[int, int]], action: RemovedHead) -> Edit:
    rows, heads = (list(part) for part in zip(*rows_and_heads, strict=True))

    def edit(value: Tensor, place: Place) -> Tensor:
        value = value.clone()
        if action == "zero":
            value[rows, heads] = 0.0
        else:
            visible = torch.ones_like(value) if place.visible is None else place.visible.expand_as(value).to(value)
            value[rows, heads] = normalised_rows(visible)[rows, heads]
        return value

    return edit


def _token_scores(decoded: DecoderOutput, tokens: Tensor, position: int | None) -> list[float]:
    """Of each row the log-probability of the token at a position, or of all of them."""
    positions = slice(None) if position is None else slice(position, position + 1)
    log_probabilities = decoded.projection(decoded.hidden[:, positions]).cpu().double().log_softmax(dim=-1)
    expected = tokens[positions].cpu().expand(len(log_probabilities), -1).unsqueeze(-1)
    scores: list[float] = log_probabilities.gather(-1, expected).squeeze(-1).sum(dim=1).tolist()
    return scores

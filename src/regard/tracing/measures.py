"""What a part of a model does to its output, measured by running one pass again, with parts removed.

head importance   log p(token) without a head - log p(token): every head in one batch
value zeroing     how far the output of a layer moves without the value of a key          Mohebbi et al., 2023
logit lens        the output layer, applied to the output of every block                  nostalgebraist, 2020
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from regard.attention.hooks import ActiveEdits, Edit, Place, apply_edits, restored_edits
from regard.batch import ImageFeatures, Images, PaddedTokens
from regard.decoding.loop import forced_decode
from regard.errors import RegardError
from regard.layers.transformer_block import TransformerBlock
from regard.models.encoder_only import ClassHead, MaskedTokenHead
from regard.models.interface import AttentionRole, DecoderOutput, Source
from regard.special_tokens import END, MASK
from regard.tracing.edits import normalised_rows
from regard.tracing.interventions import captured_values
from regard.tracing.model_parts import AttentionPart, ModelParts

MAX_BATCH_TOKENS = 8192  # of one pass of a measure, those of source and target together

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


@dataclass(frozen=True, eq=False)
class PassInput:
    """All that is needed to run a pass again: a model, one source, its target, and the interventions at that time."""

    model: nn.Module
    source: Source
    target: list[int] | None  # None: a masked language model, which predicts its source, or a classifier
    edits: ActiveEdits | None
    chosen_class: int | None = None  # of a classifier: the class that it predicted

    @property
    def tokens(self) -> int:
        """The length of one row, source and target together."""
        return max(self.source.lengths) + len(self.target or ()) + 1

    @contextmanager
    def interventions(self) -> Iterator[None]:
        """The interventions of the pass, and no others."""
        with restored_edits(self.edits):
            yield

    def run(self, sentences: Sequence[int] = (0,)) -> DecoderOutput:
        """The pass for copies of its pair: as many targets as `sentences`, which give the copy of the source."""
        source = repeat_source(self.source, max(sentences) + 1)
        if self.target is not None:
            return forced_decode(self.model, source, [self.target] * len(sentences), sentences=list(sentences))  # type: ignore[arg-type]
        with torch.inference_mode():
            decoded: DecoderOutput = self.model.predict(source)  # type: ignore[operator]
            return replace(decoded, hidden=decoded.hidden[list(sentences)])

    def expected_tokens(self, logits: Tensor) -> Tensor:
        """The token of each position: of the target, or of the source, where a mask stands for its best token.

        A classifier has one position, whose token is the class.
        """
        if self.target is not None:
            return torch.tensor([*self.target, END], device=logits.device)
        if self.chosen_class is not None:
            return torch.tensor([self.chosen_class], device=logits.device)
        tokens = self.source.tokens[0]  # type: ignore[union-attr]
        return torch.where(tokens == MASK, logits.argmax(dim=-1), tokens)


def repeat_source(source: Source, times: int) -> Source:
    """One source as several equal rows."""
    if isinstance(source, PaddedTokens):
        tokens, is_real = (part.repeat(times, 1) for part in (source.tokens, source.is_real))
        return PaddedTokens(tokens, is_real, source.lengths * times)
    if isinstance(source, Images):
        return Images(source.pixels.repeat(times, 1, 1, 1))
    return ImageFeatures(source.features.repeat(times, 1, 1, 1))


# --- which head does this word need? ---------------------------------------------------------------------------------


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
        per_batch = max(1, MAX_BATCH_TOKENS // passed.tokens)
        batches = [heads[start : start + per_batch] for start in range(0, len(heads), per_batch)]
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
    log_probabilities = decoded.projection(decoded.hidden[:, positions]).double().log_softmax(dim=-1)
    expected = tokens[positions].expand(len(log_probabilities), -1).unsqueeze(-1)
    scores: list[float] = log_probabilities.gather(-1, expected).squeeze(-1).sum(dim=1).tolist()
    return scores


# --- value zeroing ---------------------------------------------------------------------------------------------------


@torch.inference_mode()
def value_zeroing(passed: PassInput, name: str, keys: int) -> NDArray[np.float32]:
    """For each query and key of an attention, how far the output moves (1 - cosine) without the value of the key.

    The output is that of the attention's block, or the input of the output layer for an RNN. Rows sum to one.
    """
    attention = passed.model.get_submodule(name)
    block: Any = passed.model.get_submodule(name.partition(".self_attention")[0].partition(".cross_attention")[0])
    per_batch = max(1, MAX_BATCH_TOKENS // passed.tokens)

    def outputs(removed: list[int]) -> Tensor:
        """The outputs (rows, queries, W) without the value of one key in each row; -1 removes none."""
        edits = [(attention, "weights", _remove_keys(removed))]
        with apply_edits(edits), captured_values([(block, "block")]) as captured:  # type: ignore[arg-type]
            decoded = passed.run(range(len(removed)))
        return captured[id(block), "block"][0] if isinstance(block, TransformerBlock) else decoded.hidden

    with passed.interventions():
        base = outputs([-1])
        batches = [list(range(start, min(start + per_batch, keys))) for start in range(0, keys, per_batch)]
        changed = torch.cat([outputs(batch) for batch in batches])
    distances = (1 - cosine_similarity(changed.double(), base.double(), dim=-1)).clamp(min=0).T  # (queries, keys)
    total = distances.sum(dim=-1, keepdim=True)
    return (distances / total.masked_fill(total == 0, 1.0)).float().cpu().numpy()


def _remove_keys(removed: list[int]) -> Edit:
    """A weight of zero without renormalising is a value of zero."""

    def edit(weights: Tensor, place: Place) -> Tensor:  # noqa: ARG001
        weights = weights.clone()
        for row, key in enumerate(removed):
            if key >= 0:
                weights[row, ..., key] = 0.0
        return weights

    return edit


# --- the logit lens --------------------------------------------------------------------------------------------------


@torch.inference_mode()
def logit_lens(passed: PassInput) -> list[tuple[str, DecoderOutput]]:
    """Every block's name, with its output as if it were that of the last block."""
    parts = ModelParts(passed.model)
    stack = parts.stacks.get("encoder" if passed.target is None else "decoder")
    if stack is None:
        raise RegardError("this model has no Transformer blocks whose outputs the output layer could read.")
    with passed.interventions(), captured_values([(block, "block") for block in stack.blocks]) as captured:
        decoded = passed.run()
    head = getattr(passed.model, "head", None)
    names = {id(module): name for name, module in parts.modules.items()}
    lens = []
    for block in stack.blocks:
        hidden = stack.norm(captured[id(block), "block"][0])
        if isinstance(head, MaskedTokenHead):
            hidden = head.transform_hidden(hidden)
        elif isinstance(head, ClassHead):
            hidden = head.pool(hidden, passed.source)  # type: ignore[arg-type]
        hidden = hidden * getattr(passed.model, "output_scale", 1.0)
        lens.append((names[id(block)], replace(decoded, hidden=hidden)))
    return lens

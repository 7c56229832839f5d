"""Remove many heads of a translator, and keep the rest as a smaller model.

    sensitivity    |d loss / d gate| of a gate on each head, for all heads in one backward pass     Michel et al., 2019
    prune          of the least sensitive heads, those go first without which the measured loss is lowest

A pruned model has smaller projections: the rows of W_Q, W_K, W_V and the columns of W_O of removed heads are gone. It
equals the model in which these heads are zero. The last head of an attention stays.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import torch
from jaxtyping import Float
from msgspec.structs import replace as replace_options
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.hooks import Edit, Place, apply_edits
from regard.batch import Batch
from regard.bundle import Bundle, new_bundle
from regard.config import DecodingConfig, TransformerConfig
from regard.errors import RegardError
from regard.inference.head_ablation import EvaluationSet, Head, Quality, heads_of
from regard.inference.translator import Translator
from regard.interventions import AttentionRole
from regard.tracing.interventions import intervene
from regard.tracing.model_parts import AttentionPart, ModelParts

SAMPLE_PAIRS = 256  # from which sensitivities are computed
BATCH_ROWS = 32
SHORTLIST = 8  # heads whose removal is tried, at least: a gradient is a poor guide among few heads
ROUND_SHARE = 0.1  # of the remaining heads are removed before their sensitivities are computed again


class PruningStep(msgspec.Struct, frozen=True):
    """The scores with so many heads removed."""

    removed: int
    quality: Quality


def sample_batches(bundle: Bundle, tests: EvaluationSet) -> Iterator[Batch]:
    """The first pairs of the sentences, in batches."""
    both, longest, device = bundle.tokenizers, bundle.max_source_tokens, next(bundle.model.parameters()).device
    sources = [both.source.encode(one)[:longest] for one in tests.sources[:SAMPLE_PAIRS]]
    targets = [both.target.encode(one)[:longest] for one in tests.references[:SAMPLE_PAIRS]]
    for start in range(0, len(sources), BATCH_ROWS):
        rows = slice(start, start + BATCH_ROWS)
        yield Batch.from_pairs(sources[rows], targets[rows], device=device)


def sentence_losses(model: Any, batch: Batch) -> Float[Tensor, " B"]:
    """The mean loss of the tokens of each sentence, under the edits that are active."""
    assert batch.inputs is not None  # noqa: S101  (for the type checker)
    memory = model.encode(batch.source)
    logits = model.decode(batch.inputs.tokens, memory, model.init_state(memory)).logits
    losses = functional.cross_entropy(logits.transpose(1, 2), batch.outputs.tokens, reduction="none")
    return (losses * batch.outputs.is_real).sum(dim=1) / batch.outputs.is_real.sum(dim=1)


@torch.inference_mode()
def loss_without(bundle: Bundle, tests: EvaluationSet, removed: Sequence[Head]) -> float:
    """The mean loss of the sample with these heads at zero."""
    with intervene(bundle, *[one.removed() for one in removed]):
        losses = [sentence_losses(bundle.model, batch) for batch in sample_batches(bundle, tests)]
    return float(torch.cat(losses).mean())


def sensitivities(bundle: Bundle, tests: EvaluationSet, removed: Sequence[Head] = ()) -> dict[Head, float]:
    """The mean of |d loss / d gate| over sentences, by head, with the removed heads at zero: Michel et al., 2019."""
    parts, sentences = ModelParts(bundle.model).attentions, 0
    totals = {part.name: torch.zeros(part.heads) for part in parts}
    for batch in sample_batches(bundle, tests):
        rows, device = len(batch.outputs.lengths), batch.outputs.device
        sentences += rows
        gates = {part.name: torch.ones(rows, part.heads, 1, 1, device=device, requires_grad=True) for part in parts}
        edits = [(part.module, "context", _gate(gates[part.name])) for part in parts]
        with intervene(bundle, *[one.removed() for one in removed]), apply_edits(edits):  # type: ignore[arg-type]
            loss = sentence_losses(bundle.model, batch).sum()
        gradients = torch.autograd.grad(loss, list(gates.values()), allow_unused=True)
        for name, gradient in zip(gates, gradients, strict=True):
            if gradient is not None:
                totals[name] += gradient.abs().sum(dim=0).flatten().cpu()
    return {
        Head(part.role, part.layer, head): float(value) / sentences
        for part in parts
        for head, value in enumerate(totals[part.name])
    }


def _gate(gate: Tensor) -> Edit:
    def edit(context: Tensor, place: Place) -> Tensor:  # noqa: ARG001
        return context * gate

    return edit


def prune_by_count(bundle: Bundle, tests: EvaluationSet, count: int, roles: Sequence[AttentionRole] = ()) -> list[Head]:
    """The `count` heads that are needed least."""
    removed: list[Head] = []
    while len(removed) < count:
        removed += _least_sensitive(bundle, tests, removed, roles, limit=count - len(removed))
    return removed


def prune_by_loss(
    translator: Translator,
    tests: EvaluationSet,
    max_loss: float,
    *,
    config: DecodingConfig | None = None,
    roles: Sequence[AttentionRole] = (),
) -> Iterator[tuple[PruningStep, list[Head]]]:
    """Every step with its removed heads, until BLEU falls by more than `max_loss`.

    The last step within the loss is the result. A step removes several heads; after the first one that loses too much,
    heads are removed one by one.
    """
    bundle, config = translator.require_bundle("pruning"), config or translator.config.decoding
    baseline = tests.measure(translator, config)
    yield PruningStep(0, baseline), []
    removed: list[Head] = []
    limit: int | None = None
    removable = count_removable(bundle, roles)
    while len(removed) < removable:
        candidates = removed + _least_sensitive(bundle, tests, removed, roles, limit=limit)
        with intervene(bundle, *[one.removed() for one in candidates]):
            quality = tests.measure(translator, config)
        is_within = baseline.bleu - quality.bleu <= max_loss
        yield PruningStep(len(candidates), quality), candidates
        if is_within:
            removed = candidates
        elif len(candidates) == len(removed) + 1:
            return
        else:
            limit = 1


def count_removable(bundle: Bundle, roles: Sequence[AttentionRole]) -> int:
    """How many heads can be removed: one of each attention stays."""
    heads = heads_of(bundle, roles)
    return len(heads) - len({(one.role, one.layer) for one in heads})


def _least_sensitive(
    bundle: Bundle, tests: EvaluationSet, removed: list[Head], roles: Sequence[AttentionRole], limit: int | None
) -> list[Head]:
    """The next heads to remove: a share of those that are left, or `limit`."""
    left = [one for one in heads_of(bundle, roles) if one not in removed]
    remaining = Counter((one.role, one.layer) for one in left)
    share = max(1, int(ROUND_SHARE * len(left)))
    chosen: list[Head] = []
    values = sensitivities(bundle, tests, removed)
    removable = [one for one in left if remaining[one.role, one.layer] > 1]
    shortlist = sorted(removable, key=lambda one: values[one])[: max(SHORTLIST, 2 * share)]
    losses = {one: loss_without(bundle, tests, [*removed, one]) for one in shortlist}
    for head in sorted(shortlist, key=lambda one: losses[one]):
        if len(chosen) < min(share, limit or share) and remaining[head.role, head.layer] > 1:
            remaining[head.role, head.layer] -= 1
            chosen.append(head)
    if not chosen:
        raise RegardError(
            f"{len(removed)} heads are removed, and each attention keeps its last head. Remove fewer heads."
        )
    return chosen


# --- a smaller model -------------------------------------------------------------------------------------------------


@torch.no_grad()
def without_heads(bundle: Bundle, removed: Sequence[Head]) -> Bundle:
    """A new bundle without these heads: smaller projections, and the heads of each layer in its config."""
    config = bundle.config.model
    if not isinstance(config, TransformerConfig) or config.encoder.key_value_heads or config.decoder.key_value_heads:
        raise RegardError("only a Transformer of encoder and decoder without grouped heads can be pruned.")
    if config.positions == "relative" and any(one.role != "cross" for one in removed):
        raise RegardError(
            'positions = "relative" has a bias for every head that all layers share, so that only heads of '
            "cross-attention can be pruned. Give --role cross."
        )
    parts = ModelParts(bundle.model).attentions
    kept = {
        part.name: [head for head in range(part.heads) if Head(part.role, part.layer, head) not in set(removed)]
        for part in parts
    }
    counts: dict[AttentionRole, list[int]] = {"encoder-self": [], "decoder-self": [], "cross": []}
    for part in parts:
        counts[part.role].append(len(kept[part.name]))
    encoder = replace_options(config.encoder, self_attention_heads=counts["encoder-self"])
    decoder = replace_options(
        config.decoder, self_attention_heads=counts["decoder-self"], cross_attention_heads=counts["cross"]
    )
    model_config = replace_options(config, encoder=encoder, decoder=decoder)
    pruned = new_bundle(replace_options(bundle.config, model=model_config), bundle.tokenizers)
    pruned.model.load_state_dict(_pruned_weights(bundle.model, parts, kept))
    pruned.model.eval()
    return pruned


def _pruned_weights(
    model: nn.Module, parts: Sequence[AttentionPart], kept: dict[str, list[int]]
) -> dict[str, Float[Tensor, "..."]]:
    """The weights of a model, with the rows of W_Q, W_K, W_V and the columns of W_O of the kept heads alone."""
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for part in parts:
        heads = torch.tensor(kept[part.name])
        for path in (f"{part.name}.{name}.{kind}" for name in ("query", "key", "value") for kind in ("weight", "bias")):
            if path in weights:
                weights[path] = _selected(weights[path], heads, part.heads, dim=0)
        output = f"{part.name}.output.weight"
        weights[output] = _selected(weights[output], heads, part.heads, dim=1)
    return weights


def _selected(tensor: Tensor, heads: Tensor, count: int, dim: int) -> Tensor:
    """The rows or columns of these heads."""
    by_head = tensor.unflatten(dim, (count, -1))  # type: ignore[no-untyped-call]
    selected: Tensor = by_head.index_select(dim, heads.to(tensor.device)).flatten(dim, dim + 1)
    return selected

"""Which heads does a translator need? Remove each head and measure; remove many and keep the rest as a smaller model.

    ablate_heads   BLEU, chrF and AER without each head, on a test set
    sensitivity    |d loss / d gate| of a gate on each head, for all heads in one backward pass     Michel et al., 2019
    prune          of the least sensitive heads, those go first without which the measured loss is lowest

A pruned model has smaller projections: the rows of W_Q, W_K, W_V and the columns of W_O of removed heads are gone. It
equals the model in which these heads are zero. The last head of an attention stays.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from regard.inference.translator import Translator
from regard.interventions import AttentionRole, HeadAction, HeadIntervention
from regard.metrics.alignment import GoldAlignment, alignment_error_rate
from regard.metrics.text import Tokenization, evaluate, language_by_script, tokenization_for
from regard.tracing.alignment import HeadSelection, align, score_heads
from regard.tracing.interventions import intervene
from regard.tracing.model_parts import AttentionPart, ModelParts

SAMPLE_PAIRS = 256  # from which sensitivities and means are computed
BATCH_ROWS = 32
SHORTLIST = 8  # heads whose removal is tried, at least: a gradient is a poor guide among few heads
ROUND_SHARE = 0.1  # of the remaining heads are removed before their sensitivities are computed again


@dataclass(frozen=True, order=True)
class Head:
    """A head by its address, counted from 0."""

    role: AttentionRole
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.role}.{self.layer + 1}.{self.head + 1}"

    def removed(self, action: HeadAction = "zero") -> HeadIntervention:
        """The intervention that removes it."""
        return HeadIntervention(role=self.role, layer=self.layer, head=self.head, action=action)


class Quality(msgspec.Struct, frozen=True):
    """The scores of a translator on a test set; the AER is that of the attention that aligns best before ablation."""

    bleu: float
    chrf: float
    aer: float | None = None


class HeadAblation(msgspec.Struct, frozen=True, kw_only=True):
    """The scores without one head; layer and head are counted from 1, as by commands."""

    role: AttentionRole
    layer: int
    head: int
    quality: Quality


class AblationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of the whole model, and those without each head, the most needed head first."""

    model: str
    action: HeadAction
    baseline: Quality
    alignment: str | None  # the attention whose AER is measured
    heads: list[HeadAblation]


class PruningStep(msgspec.Struct, frozen=True):
    """The scores with so many heads removed."""

    removed: int
    quality: Quality


@dataclass
class EvaluationSet:
    """Sources with references and, where they exist, gold links; scores of a translator on them."""

    sources: Sequence[str]
    references: Sequence[str]
    gold: Sequence[GoldAlignment] | None = None
    tokenize: Tokenization | None = None
    selection: HeadSelection | None = field(default=None, init=False)

    def measure(self, translator: Translator, config: DecodingConfig) -> Quality:
        """The scores as the model is now, with the interventions that are active."""
        outputs = [best.text for best, *_ in translator.translate_lines(self.sources, config, scores=False)]
        if self.tokenize is None:
            self.tokenize = tokenization_for(translator.languages[1] or language_by_script(self.references))
        scores = {
            one.name: one.value
            for one in evaluate(outputs, self.references, tokenize=self.tokenize, resamples=1, wanted=("BLEU", "chrF2"))
        }
        return Quality(scores["BLEU"], scores["chrF2"], self._aer(translator.require_bundle("alignments")))

    def _aer(self, bundle: Bundle) -> float | None:
        if not self.gold:
            return None
        if self.selection is None:
            self.selection = score_heads(bundle, self.sources, self.references, self.gold)[0].selection
        links = [one.links for one in align(bundle, self.sources, self.references, self.selection)]
        return alignment_error_rate(links, [one.sure for one in self.gold], [one.possible for one in self.gold]).aer


def heads_of(bundle: Bundle, roles: Sequence[AttentionRole] = ()) -> list[Head]:
    """Every head of the model, or those of some roles."""
    parts = [part for part in ModelParts(bundle.model).attentions if not roles or part.role in roles]
    heads = [Head(part.role, part.layer, head) for part in parts for head in range(part.heads)]
    if not heads:
        raise RegardError(
            f"this model has no {' or '.join(roles) or 'attention'} heads to remove. Choose another model."
        )
    return heads


# --- one head at a time ----------------------------------------------------------------------------------------------


def ablate_heads(
    translator: Translator,
    tests: EvaluationSet,
    *,
    config: DecodingConfig | None = None,
    action: HeadAction = "zero",
    roles: Sequence[AttentionRole] = (),
    progress: Callable[[int], object] | None = None,
) -> AblationReport:
    """The scores of the test set without each head: it is zero, its mean over a sample, or has uniform weights."""
    bundle, config = translator.require_bundle("ablations"), config or translator.config.decoding
    heads = heads_of(bundle, roles)
    baseline = tests.measure(translator, config)
    sample = list(tests.sources[:SAMPLE_PAIRS])
    ablations = []
    for head in heads:
        with intervene(bundle, head.removed(action), sample=sample):
            quality = tests.measure(translator, config)
        ablations.append(HeadAblation(role=head.role, layer=head.layer + 1, head=head.head + 1, quality=quality))
        if progress is not None:
            progress(1)
    ablations.sort(key=lambda one: one.quality.bleu)
    selection = None if tests.selection is None else str(tests.selection)
    return AblationReport(model=translator.name, action=action, baseline=baseline, alignment=selection, heads=ablations)


# --- many heads ------------------------------------------------------------------------------------------------------


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

"""`intervene(model, "cross.2.1=zero", ...)`: change what a model computes while a block runs.

An intervention is compiled to edits: functions that a layer applies to a value it exposes (`attention/hooks.py`). The
same edits act in a teacher-forced pass and in every step of the decode loop, because they are addressed by positions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from regard.attention.hooks import Edit, Place, Site, apply_edits
from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.decoding.loop import forced_decode, generate
from regard.errors import RegardError
from regard.interventions import (
    AnyIntervention,
    AttentionRole,
    CellIntervention,
    DecodeIntervention,
    GivenIntervention,
    HeadIntervention,
    HideIntervention,
    InterventionError,
    PatchIntervention,
    RowIntervention,
    WithoutIntervention,
    read_interventions,
)
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.interface import OnePassModel, Source, query_and_key_side
from regard.tracing import edits
from regard.tracing.model_parts import AttentionPart, ModelParts, stack_of, sublayer_of

if TYPE_CHECKING:
    from regard.tracing.trace import Trace

LayerEdit = tuple[nn.Module, Site, Edit]
HeadAddress = HeadIntervention | RowIntervention | CellIntervention
HeadMeans = Mapping[tuple[AttentionRole, int], Tensor]  # by role and layer: the mean context of each head (H, D)
SamplePair = tuple[Source, list[int]]  # a source of one row, and the tokens of its target
Sample = Sequence[SamplePair | str]


@contextmanager
def intervene(model: Any, *interventions: GivenIntervention, sample: Sample = ()) -> Iterator[None]:
    """Change what a model computes, in this thread, while the block runs.

    `model` is a module, a bundle, or an opened model such as a Translator. Blocks may be nested. A head with `=mean`
    gets its mean over the `sample`: texts, or sources with their target tokens. A stream must be read inside the block.
    `rows` of an intervention are those of one batch, so they are for modules and bundles: an opened model sorts its
    inputs into batches.
    docs/what-if.md lists all interventions. For example:

        translator = regard.load("en-fr")
        with regard.intervene(translator, "cross.2.4=zero"):
            print(translator.translate(["They live in a small white house."])[0].text)
    """
    if not interventions:
        yield
        return
    bundle = getattr(model, "bundle", model)
    module: nn.Module = bundle.model if isinstance(bundle, Bundle) else bundle
    if bundle is not None and not isinstance(module, nn.Module):
        raise RegardError(f"intervene takes an opened model, and got {type(model).__name__}. Open it with regard.load.")
    if not isinstance(module, nn.Module):
        raise RegardError(
            "this model was opened without its weights, and interventions need them. Open the model that the export "
            "was made from."
        )
    found = read_interventions(interventions)
    if bundle is not model and (limited := next((one for one in found if one.rows is not None), None)):
        raise InterventionError(
            limited,
            "has rows, and this model sorts its inputs into batches. Remove the rows and give it the inputs of one "
            "block alone, or run its bundle's model on a batch of your own.",
        )
    compiler = Compiler(module, bundle if isinstance(bundle, Bundle) else None, sample)
    with apply_edits(*compiler.compile(found)):
        yield


def check_positions(interventions: Iterable[AnyIntervention], trace: "Trace") -> None:
    """Raise if an intervention names a position that the source or target of a trace does not have."""
    lengths = {
        "source": len(trace.source.pieces),
        "image": len(trace.source.pieces),
        "target": len(trace.target.pieces),
    }
    for one in interventions:
        used: list[tuple[str, int]] = []
        if isinstance(one, HideIntervention):
            used = [(one.side, one.position)]
        elif isinstance(one, RowIntervention | CellIntervention):
            queries, keys = query_and_key_side(one.role)
            used = [] if one.query is None else [(queries, one.query)]
            named = [*one.keys, len(one.weights) - 1] if isinstance(one, RowIntervention) else [one.key]
            used += [(keys, key) for key in named]
        elif isinstance(one, PatchIntervention):
            own = query_and_key_side(one.role)[0] if one.role else "target" if one.stack == "decoder" else "source"
            used = [(own, one.position)]
        for side, position in used:
            if position >= lengths[side]:
                raise InterventionError(
                    one, f"names position {position + 1} of the {side}, which has {lengths[side]} tokens."
                )


# --- from interventions to edits -------------------------------------------------------------------------------------


class Compiler:
    """Compiles interventions for one model; an intervention that changes nothing in it is an error."""

    def __init__(self, model: nn.Module, bundle: Bundle | None, sample: Sample = ()) -> None:
        self.parts, self.bundle, self.sample = ModelParts(model), bundle, sample

    def compile(self, interventions: Sequence[AnyIntervention]) -> tuple[list[LayerEdit], dict[str, Any]]:
        """The edits in the order of the interventions, and the options of the decode loop."""
        compiled: list[LayerEdit] = []
        decoding: dict[str, Any] = {}
        for one in interventions:
            if isinstance(one, DecodeIntervention):
                decoding |= self._decoding(one)
            elif own := self._layer_edits(one):
                compiled += own
            else:
                raise InterventionError(
                    one, f"does not apply to this model: {self.parts.description}. Remove it, or choose another model."
                )
        return compiled, decoding

    def _layer_edits(self, one: AnyIntervention) -> list[LayerEdit]:
        match one:
            case HeadIntervention(action="zero"):
                zero = edits.set_context(one, torch.zeros(()))
                return [(part.module, "context", zero) for part in self._attentions(one)]
            case HeadIntervention(action="mean"):
                return self._mean_heads(one)
            case HeadIntervention() | RowIntervention() | CellIntervention():
                return [(part.module, "weights", edits.change_weights(one)) for part in self._attentions(one)]
            case HideIntervention():
                return self._hide(one)
            case WithoutIntervention():
                return self._without(one)
            case PatchIntervention():
                return self._patch(one)
        return []

    def _attentions(self, one: HeadAddress | PatchIntervention) -> list[AttentionPart]:
        """The attentions at an address that have its head."""
        parts = [part for part in self.parts.attentions if part.role == one.role]
        parts = [part for part in parts if one.layer in (None, part.layer)]
        return [part for part in parts if one.head is None or one.head < part.heads]

    def _mean_heads(self, one: HeadIntervention) -> list[LayerEdit]:
        parts = self._attentions(one)
        if not parts:
            return []
        if not self.sample:
            raise InterventionError(one, "needs a sample to take the mean over, and none was given.")
        pairs = [given for given in self.sample if not isinstance(given, str)]
        texts = [given for given in self.sample if isinstance(given, str)]
        means = head_means(self.parts.model, [*pairs, *self._read_texts(one, texts)])
        return [
            (part.module, "context", edits.set_context(one, means[part.role, part.layer].unsqueeze(1)))
            for part in parts
        ]

    def _hide(self, one: HideIntervention) -> list[LayerEdit]:
        attentions = [
            part
            for part in self.parts.attentions
            if query_and_key_side(part.role)[1] == one.side
            and one.role in (None, part.role)
            and one.layer in (None, part.layer)
        ]
        hidden: list[LayerEdit] = [(part.module, "visible", edits.hide_key(one)) for part in attentions]
        if one.role is None and one.side in self.parts.embeddings:
            hidden.append((self.parts.embeddings[one.side], "token", edits.zero_token(one)))
        return hidden

    def _without(self, one: WithoutIntervention) -> list[LayerEdit]:
        def fits(name: str) -> bool:
            """Whether a module is at the address; without one, every module is."""
            if one.stack is None:
                return True
            _, _, inside = name.partition("blocks.")
            number, _, sublayer = inside.partition(".")  # such as 1.cross_attention_residual
            return (
                stack_of(name) == one.stack
                and (one.layer is None or number == str(one.layer))
                and (one.sublayer is None or sublayer_of(sublayer) == one.sublayer)
            )

        remove = edits.remove(one)
        match one.part:
            case "scaling":
                scaled = [part for part in self.parts.attentions if part.module.score.name == "scaled_dot"]
                return [(part.module, "scores", remove) for part in scaled if fits(part.name)]
            case "causal-mask":
                masked = [part for part in self.parts.attentions if part.role == "decoder-self" and fits(part.name)]
                return [(part.module, "visible", edits.show_all(one)) for part in masked]
            case "positions":
                found = self.parts.positions() if one.layer is None else ()
                return [(module, site, remove) for stack, module, site in found if one.stack in (None, stack)]
            case "residual":
                return [(module, "residual", remove) for name, module in self.parts.residuals() if fits(name)]
            case "layer-norm":
                return [(module, "norm", remove) for name, module in self.parts.norms() if fits(name)]
            case "layer":
                stack = self.parts.stacks.get(one.stack) if one.stack else None
                blocks = [] if stack is None else list(stack.blocks)
                return [(block, "block", remove) for block in blocks[one.layer : (one.layer or 0) + 1]]

    def _patch(self, one: PatchIntervention) -> list[LayerEdit]:
        site: Site = "context" if one.site == "head" else "block" if one.site == "block" else "memory"
        modules: list[nn.Module] = []
        if one.site == "head":
            modules = [part.module for part in self._attentions(one)]
        elif one.site == "block" and one.stack in self.parts.stacks:
            modules = list(self.parts.stacks[one.stack].blocks)[one.layer : (one.layer or 0) + 1]
        elif one.site == "memory" and not isinstance(self.parts.model, DecoderOnlyModel):
            modules = [self.parts.model]
        if not modules:
            return []
        vector = torch.tensor(one.vector) if one.vector is not None else self._donor(one, modules[0], site)
        replace = edits.set_context if one.site == "head" else edits.set_position
        return [(modules[0], site, replace(one, vector))]

    def _donor(self, one: PatchIntervention, module: nn.Module, site: Site) -> Tensor:
        """The activation of another sentence."""
        [(source, target)] = self._read_texts(one, [one.text or ""], one.target)
        with captured_values([(module, site)]) as captured:
            run_pass(self.parts.model, source, target)
        value = torch.cat(captured[id(module), site], dim=-2)[0]  # (T, W), of a head (H, T, D)
        if one.from_position >= value.shape[-2]:
            raise InterventionError(
                one, f"takes position {one.from_position + 1} of the other text, which has {value.shape[-2]}."
            )
        return value[one.head, one.from_position] if one.site == "head" else value[one.from_position]

    def _read_texts(self, one: AnyIntervention, texts: Sequence[str], target: str | None = None) -> list[SamplePair]:
        """Each text as a source, with the tokens of the target, or else of the model's own translation."""
        if not texts:
            return []
        if self.bundle is None or "image" in self.parts.embeddings:
            raise InterventionError(one, "reads a text, and this model has no tokenizer for it. Give token rows.")
        tokenizers, model = self.bundle.tokenizers, self.parts.model
        device, longest = next(model.parameters()).device, self.bundle.max_source_tokens
        if isinstance(model, DecoderOnlyModel | OnePassModel):
            rows = [tokenizers.target.encode(text)[:longest] for text in texts]
            is_source = isinstance(model, OnePassModel)
            return [(encode_source_rows([row if is_source else []], device=device), row) for row in rows]
        sources = [encode_source_rows([tokenizers.source.encode(text)[:longest]], device=device) for text in texts]
        if target is not None:
            return [(source, tokenizers.target.encode(target)[:longest]) for source in sources]
        greedy = self.bundle.config.decoding.with_options(beam_size=1, nbest=1, do_sample=False)
        return [(source, generate(model, source, greedy)[0][0].tokens) for source in sources]  # type: ignore[arg-type]

    def _decoding(self, one: DecodeIntervention) -> dict[str, Any]:
        if not hasattr(self.parts.model, "init_state"):
            raise InterventionError(one, "does not apply to this model: it generates no sequence.")
        if isinstance(one.prefix, str):
            if self.bundle is None:
                raise InterventionError(one, "is a text, and this model has no tokenizer for it. Give its tokens.")
            return {"prefix": self.bundle.tokenizers.target.encode(one.prefix)}
        embedding: Any = self.parts.embeddings["target"]
        vocabulary = len(getattr(embedding, "tokens", embedding).weight)
        if any(token >= vocabulary for token in one.prefix or ()):
            raise InterventionError(one, f"has a token that the vocabulary of {vocabulary} tokens does not have.")
        options = {"temperature": one.temperature, "top_k": one.top_k, "prefix": one.prefix}
        return {name: value for name, value in options.items() if value is not None}


@contextmanager
def captured_values(sites: Sequence[tuple[nn.Module, Site]]) -> Iterator[dict[tuple[int, Site], list[Tensor]]]:
    """The values at these sites, by the id of the module and the site, one for each call."""
    captured: dict[tuple[int, Site], list[Tensor]] = {}

    def keep(key: tuple[int, Site]) -> Edit:
        def edit(value: Tensor, place: Place) -> Tensor:  # noqa: ARG001
            captured.setdefault(key, []).append(value.detach())
            return value

        return edit

    with apply_edits([(module, site, keep((id(module), site))) for module, site in sites]):
        yield captured


@torch.inference_mode()
def run_pass(model: nn.Module, source: Source, target: list[int]) -> None:
    """One pass, for what is captured in it; a masked language model and a classifier have no target."""
    if isinstance(model, OnePassModel):
        model.predict(source)
    else:
        forced_decode(model, source, [target], sentences=[0])  # type: ignore[arg-type]


@torch.inference_mode()
def head_means(model: nn.Module, sample: Sequence[SamplePair]) -> HeadMeans:
    """The mean context of every head over all positions of a sample."""
    parts = ModelParts(model).attentions
    totals: dict[tuple[AttentionRole, int], tuple[Tensor, int]] = {}
    for source, target in sample:  # one at a time: padding must not count
        with captured_values([(part.module, "context") for part in parts]) as captured:
            run_pass(model, source, target)
        for part in parts:
            context = torch.cat(captured[id(part.module), "context"], dim=-2)[0]  # (H, Q, D)
            total, count = totals.get((part.role, part.layer), (torch.zeros_like(context[:, 0]), 0))
            totals[part.role, part.layer] = (total + context.sum(dim=1), count + context.shape[1])
    return {address: total / count for address, (total, count) in totals.items()}

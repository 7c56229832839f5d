"""Which heads does a translator need? BLEU, chrF and AER without each head, on a test set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from regard.bundle import Bundle
from regard.config import DecodingConfig
from regard.errors import RegardError
from regard.inference.translator import Translator
from regard.interventions import AttentionRole, HeadAction, HeadIntervention
from regard.metrics.alignment import GoldAlignment, alignment_error_rate
from regard.metrics.text import Tokenization, evaluate, language_by_script, tokenization_for
from regard.tracing.alignment import HeadSelection, align, score_heads
from regard.tracing.interventions import intervene
from regard.tracing.model_parts import ModelParts

SAMPLE_PAIRS = 256  # from which the means of heads are computed


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

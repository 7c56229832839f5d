"""How much an export's translations differ from the model's own: quantization and a shortlist change some of them."""

from collections.abc import Sequence

import msgspec

from regard.data.pair_readers.text import Pair
from regard.inference.translator import Translator
from regard.metrics.text import Metric, Score, evaluate, tokenization_for

MAX_LINES = 1000  # more take long, and change little
BLEU_ONLY: tuple[Metric, ...] = ("BLEU",)


class ExportDifference(msgspec.Struct, frozen=True):
    """The translations of the same lines by an export and by its model in float32."""

    lines: int
    changed: int
    bleu_between: Score  # of the export's translations, with the model's as references
    bleu_of_export: Score | None  # against the references, if there are any
    bleu_of_model: Score | None

    def describe(self, name: str) -> str:
        """The difference as text; `name` is the export's quantization."""
        share = self.changed / self.lines
        text = f"{name} changes {self.changed:,} of {self.lines:,} lines ({share:.1%}) of the validation set.\n"
        text += f"BLEU of {name} against float32: {self.bleu_between.value:.2f}"
        if self.bleu_of_export and self.bleu_of_model:
            text += (
                f"; against the references: {self.bleu_of_export.value:.2f} in {name}, "
                f"{self.bleu_of_model.value:.2f} in float32"
            )
        return f"{text}\n({self.bleu_between.signature})"


def measure_export(export: Translator, model: Translator, pairs: Sequence[Pair]) -> ExportDifference:
    """Translate the sources with both, and compare; pairs without targets have no references."""
    pairs = pairs[:MAX_LINES]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    ours, theirs = ([one.text for one in each.translate(sources)] for each in (model, export))
    tokenize = tokenization_for(model.languages[1])

    def bleu(outputs: list[str], targets: list[str]) -> Score:
        [score] = evaluate(outputs, targets, tokenize=tokenize, resamples=1, wanted=BLEU_ONLY)
        return score

    has_references = any(references)
    return ExportDifference(
        lines=len(sources),
        changed=sum(one != other for one, other in zip(ours, theirs, strict=True)),
        bleu_between=bleu(theirs, ours),
        bleu_of_export=bleu(theirs, references) if has_references else None,
        bleu_of_model=bleu(ours, references) if has_references else None,
    )

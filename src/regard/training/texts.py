"""Text of one language to train on: a writer learns to go on with its lines, a reader to name what is taken out."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from regard.batch import Batch, Rows
from regard.bundle import Bundle
from regard.config import Config, EncoderOnlyConfig
from regard.data import read_texts, text_blocks
from regard.data.batching import Lengths
from regard.language.blanks import BLANK, take_out
from regard.tokens import Tokenizers
from regard.training.prepared import Prepared, Progress, Reading, prepare_text
from regard.training.probes import Probe, cloze_probes, writing_probes
from regard.training.validation import Validation, validate_cloze, validate_writing

LINES = Reading(read_texts, text_blocks, examples="lines", one_sided=True)


@dataclass(frozen=True)
class TextCorpus:
    """Lines of text, to be said word by word or, as a cloze, to be completed where tokens are taken out."""

    prepared: Prepared
    is_cloze: bool

    @property
    def tokenizers(self) -> Tokenizers:
        return self.prepared.tokenizers

    @property
    def fingerprint(self) -> str:
        return self.prepared.store.fingerprint

    @property
    def valid_fingerprint(self) -> str:
        return self.prepared.valid_fingerprint

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self.prepared.store.source_lengths, self.prepared.store.target_lengths

    @property
    def is_mixed(self) -> bool:
        return False

    @property
    def valid(self) -> list[str]:
        return [pair.target for pair in self.prepared.valid]

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        _, rows = self.prepared.rows(indices, config, epoch)
        if self.is_cloze:
            return Batch.cloze(*self._taken_out(rows, indices, config, epoch), device=device)
        return Batch.of([[] for _ in rows], rows, device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return (validate_cloze if self.is_cloze else validate_writing)(bundle, self.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return (cloze_probes if self.is_cloze else writing_probes)(bundle, given or self.valid, are_given=bool(given))

    def describe(self) -> str:
        return self.prepared.describe()

    def trial(self, model: Path) -> str:
        first, *rest = min(self.valid, key=len).split()
        command, text = ("fill", " ".join([BLANK, *rest])) if self.is_cloze else ("complete", first)
        return f"regard {command} {shlex.quote(str(model))} {shlex.quote(text)}"

    def _taken_out(self, rows: Rows, indices: Sequence[int], config: Config, epoch: int) -> tuple[Rows, Rows]:
        """Other tokens in each epoch; which ones follows from the seed, the epoch and the line alone."""
        options, vocabulary = config.training, self.tokenizers.target.size
        cut = []
        for index, row in zip(indices, rows, strict=True):
            chance = Random(f"{options.seed}:{epoch}:{index}:blanks")  # noqa: S311  (repeatable, not secret)
            cut.append(take_out(row, chance, share=options.blanks, vocabulary=vocabulary))
        return [given for given, _ in cut], [wanted for _, wanted in cut]


def prepare_texts(config: Config, run: Path, *, progress: Progress) -> TextCorpus:
    """The lines of a run, made on the first call and opened later; progress is told stage and count."""
    prepared = prepare_text(config, run, LINES, progress=progress)
    return TextCorpus(prepared, is_cloze=isinstance(config.model, EncoderOnlyConfig))

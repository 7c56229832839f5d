"""Sentence pairs to train on."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regard.batch import Batch, Rows
from regard.bundle import Bundle
from regard.config import Config
from regard.data import read_blocks, read_pairs
from regard.data.batching import Lengths
from regard.tokens import Tokenizers
from regard.training.prepared import Prepared, Progress, Reading, prepare_text
from regard.training.probes import Probe, pair_probes
from regard.training.validation import Validation, validate_pairs


@dataclass(frozen=True)
class PairCorpus:
    """Sentences and their translations."""

    prepared: Prepared

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

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[Rows, Rows]:
        """The sources and the targets of some pairs, as they are cut in an epoch."""
        return self.prepared.rows(indices, config, epoch)

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        return Batch.of(*self.rows(indices, config, epoch), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return validate_pairs(bundle, self.prepared.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return pair_probes(bundle, self.prepared.valid, given)

    def describe(self) -> str:
        return self.prepared.describe()

    def trial(self, model: Path) -> str:
        example = shlex.quote(min((pair.source for pair in self.prepared.valid), key=len))
        return f"echo {example} | regard translate {shlex.quote(str(model))}"


def prepare_pairs(config: Config, run: Path, *, progress: Progress) -> PairCorpus:
    """The pairs of a run, made on the first call and opened later; progress is told stage and count."""
    codes = config.data.languages
    reading = Reading(partial(read_pairs, languages=codes), partial(read_blocks, languages=codes))
    return PairCorpus(prepare_text(config, run, reading, progress=progress))

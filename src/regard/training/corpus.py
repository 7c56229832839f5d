"""The data of a run, whatever they are: examples that are drawn in an order that resumes, and tried at validations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from regard.batch import Batch
from regard.bundle import Bundle
from regard.config import CaptionerConfig, Config, LanguageConfig
from regard.data import Position, global_batches, slice_for_rank
from regard.data.batching import Lengths
from regard.errors import RegardError
from regard.models.lengths import learnt_positions
from regard.tokens import Tokenizers
from regard.training.captions import prepare_captions
from regard.training.distributed import ALONE, World
from regard.training.pairs import prepare_pairs
from regard.training.probes import Probe
from regard.training.texts import prepare_texts
from regard.training.validation import Validation


class Corpus(Protocol):
    """What a run is trained and validated on: sentence pairs, captioned pictures, or text of one language."""

    @property
    def tokenizers(self) -> Tokenizers: ...

    @property
    def fingerprint(self) -> str:
        """A text that changes when the examples do."""

    @property
    def valid_fingerprint(self) -> str:
        """A text that changes when the examples to validate on do."""

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """The tokens of each example's source and target; a picture has none."""

    @property
    def is_mixed(self) -> bool:
        """Whether examples come together as chance will have it, and not sorted by their lengths."""

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        """Some examples as they are seen in an epoch."""

    def validate(self, bundle: Bundle) -> Validation:
        """How good the model is on the examples that are kept for it."""

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        """The attention over a few examples: those given, or a few of the validation set."""

    def describe(self) -> str:
        """What there is to learn from, in words."""

    def trial(self, model: Path) -> str:
        """A command that tries the trained model."""


@dataclass(frozen=True)
class Drawn:
    """A rank's part of one global batch, in a part for each of its threads, and the position after it."""

    parts: list[Batch]
    epoch: int
    resume: Position
    share: float = 1.0  # 0: the batch has fewer pairs than there are ranks, and this is a stand-in that must not count

    @property
    def tokens(self) -> int:
        """Real target tokens that count."""
        return sum(sum(part.outputs.lengths) for part in self.parts) if self.share else 0


def prepare(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> Corpus:
    """The data of a run, made on the first call and opened later; progress is told stage and count."""
    prepare_kind, wanted = _kind(config)
    if not config.data.train:
        raise RegardError(f"data.train is empty. Name {wanted}.")
    if isinstance(config.model, CaptionerConfig) and not config.data.valid:
        raise RegardError("data.valid is empty. Name a file of captions, to validate on.")
    corpus = prepare_kind(config, run, progress=progress)
    _check_positions(corpus, config)
    return corpus


def _kind(config: Config) -> tuple[Callable[..., Corpus], str]:
    """How the data of such a model are prepared, and what they are."""
    if isinstance(config.model, CaptionerConfig):
        return prepare_captions, "a file of captions"
    if isinstance(config.model, LanguageConfig):
        return prepare_texts, "one or more files of plain text"
    return prepare_pairs, "a file of pairs, or a source and a target file"


def _check_positions(corpus: Corpus, config: Config) -> None:
    """A model that learns its positions has no more of them than it was built with."""
    positions, longest = learnt_positions(config.model), max(int(own.max(initial=0)) for own in corpus.lengths)
    if positions is not None and longest >= positions:
        raise RegardError(
            f"a training sentence has {longest} tokens, and the model is to learn {positions} positions, one of them "
            f"for BEGIN or END. Set data.maximum_length={positions - 1}, or model.maximum_length={longest + 1} or more."
        )


def batches(
    corpus: Corpus, config: Config, start: Position, *, device: str, world: World = ALONE, parts: int = 1
) -> Iterator[Drawn]:
    """A rank's parts of the endless sequence of batches, from a position on."""
    options = config.training
    order = global_batches(
        *corpus.lengths, batch_tokens=options.batch_tokens, seed=options.seed, start=start, is_mixed=corpus.is_mixed
    )
    for indices, epoch, resume in order:
        own = slice_for_rank(indices, world.rank, world.size)
        taken = own if len(own) else indices[:1]
        slices = [taken[part::parts].tolist() for part in range(min(parts, len(taken)))]
        made = [corpus.batch(one, config, epoch, device=device) for one in slices]
        yield Drawn(made, epoch, resume, share=1.0 if len(own) else 0.0)

"""The data of a run: pairs, or text of one language; `prepare_corpus` for every kind, and the batches of a rank.

The order of the batches follows from the seed and the epoch, so a run can be resumed at any batch.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.batch import Batch
from regard.bundle import Bundle
from regard.config import Config, EncoderOnlyConfig, ImageClassifierConfig, task_of
from regard.data.batch_order import CorpusWeight, EpochPosition, Lengths, global_batches, slice_for_rank
from regard.data.inspection import DataReport, InspectedCorpus, inspect_data
from regard.data.labelled_examples import HELD_OUT_LABELS, describe_labels, labelled_blocks, read_labelled_texts
from regard.data.pair_readers import read_blocks, read_pairs
from regard.data.pair_readers.text import monolingual_blocks, read_monolingual
from regard.errors import RegardError
from regard.inference.mask_filler import MASK_TEXT
from regard.tokenization.tokenizer import TokenizerPair
from regard.training.caption_corpus import prepare_captions
from regard.training.distributed import SINGLE_PROCESS, ProcessGroup
from regard.training.labelled_image_corpus import prepare_labelled_images
from regard.training.objective import mask_tokens
from regard.training.preprocessing import (
    CorpusFormat,
    PreparedText,
    StageProgress,
    describe_vocabularies,
    prepare_text,
)
from regard.training.runs import select_probes
from regard.training.validation import (
    Probe,
    Validation,
    batches_of_rows,
    causal_lm_probes,
    class_probes,
    masked_lm_probes,
    pair_probes,
    validate_causal_lm,
    validate_classes,
    validate_masked_lm,
    validate_pairs,
    validation_rows,
)


class Corpus(Protocol):
    """The training and validation data of a run: sentence pairs, captions, text of one language, or labels."""

    @property
    def tokenizers(self) -> TokenizerPair: ...

    @property
    def fingerprint(self) -> str:
        """A hash of the training examples."""

    @property
    def valid_fingerprint(self) -> str:
        """A hash of the validation examples."""

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """The number of tokens of each example's source and target; 0 for an image."""

    @property
    def class_counts(self) -> dict[str, int]:
        """The number of training examples of each class; empty for other tasks."""

    @property
    def weights(self) -> Sequence[CorpusWeight]:
        """How often the examples of each corpus are used in an epoch; empty: each once."""

    @property
    def bucket_by_length(self) -> bool:
        """Whether a batch has examples of similar length; otherwise they are shuffled."""

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        """Some examples as they are in an epoch."""

    def validate(self, bundle: Bundle) -> Validation:
        """The scores of a model on the validation examples."""

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        """The attention over a few examples: those given, or a few of the validation set."""

    @property
    def is_new(self) -> bool:
        """Whether texts were prepared now: a resumed run opens those of before, unless the files have changed."""

    def describe(self) -> str:
        """The size of the data, for people."""

    def inspect(self, config: Config) -> DataReport | None:
        """What is wrong with the examples; None for images."""

    def example_command(self, model: Path) -> str:
        """A command that tries the trained model."""


@dataclass(frozen=True)
class RankBatch:
    """A rank's slice of one global batch, in a part for each of its threads, and the position after it."""

    parts: list[Batch]
    epoch: int
    next_position: EpochPosition
    weight: float = 1.0  # 0: the batch has fewer examples than there are ranks, and this one must not count

    @property
    def tokens(self) -> int:
        """The number of non-padding target tokens that count."""
        return sum(sum(part.outputs.lengths) for part in self.parts) if self.weight else 0


def prepare_corpus(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> Corpus:
    """The data of a run, prepared by the first call and opened by later ones; progress gets stage and count."""
    task = task_of(config.model)
    prepare: Callable[..., Corpus]
    match task:
        case "translation":
            prepare, wanted = prepare_pairs, "a file of pairs, or a source and a target file"
        case "image-to-text":
            prepare, wanted = prepare_captions, "a file of captions"
        case "text-generation" | "fill-mask":
            prepare, wanted = prepare_texts, "one or more files of plain text"
        case "classification" if isinstance(config.model, ImageClassifierConfig):
            prepare, wanted = prepare_labelled_images, "a folder with one folder of images for each class"
        case "classification":
            prepare, wanted = prepare_labelled_texts, "one or more files of texts with labels"
    if not config.data.corpora:
        raise RegardError(f"data.train is empty. Name {wanted}.")
    if task == "image-to-text" and not config.data.valid:
        raise RegardError("data.valid is empty. Name a file of captions to validate on.")
    corpus = prepare(config, run, progress=progress)
    positions, longest = config.model.max_positions, max(int(own.max(initial=0)) for own in corpus.lengths)
    if positions is not None and longest >= positions:
        raise RegardError(
            f"a training sentence has {longest} tokens, but the model has {positions} learned positions, one of them "
            f"for BEGIN or END. Set data.max_tokens={positions - 1}, or model.max_position_embeddings={longest + 1} or "
            "more."
        )
    return corpus


def rank_batches(
    corpus: Corpus,
    config: Config,
    start: EpochPosition,
    *,
    device: str,
    group: ProcessGroup = SINGLE_PROCESS,
    parts: int = 1,
) -> Iterator[RankBatch]:
    """A rank's slices of the endless sequence of batches, from a position on."""
    options = config.training
    order = global_batches(
        *corpus.lengths,
        batch_tokens=options.batch_tokens,
        seed=options.seed,
        start=start,
        bucket_by_length=corpus.bucket_by_length,
        corpora=corpus.weights,
    )
    for indices, epoch, resume in order:
        own = slice_for_rank(indices, group.rank, group.size)
        taken = own if len(own) else indices[:1]
        slices = [taken[part::parts].tolist() for part in range(min(parts, len(taken)))]
        made = [corpus.batch(one, config, epoch, device=device) for one in slices]
        yield RankBatch(made, epoch, resume, weight=1.0 if len(own) else 0.0)


@dataclass(frozen=True)
class StoredCorpus:
    """What pairs and lines of text have in common: their examples are in a token store."""

    prepared: PreparedText

    @property
    def tokenizers(self) -> TokenizerPair:
        return self.prepared.tokenizers

    @property
    def fingerprint(self) -> str:
        return self.prepared.fingerprint

    @property
    def valid_fingerprint(self) -> str:
        return self.prepared.valid_fingerprint

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self.prepared.store.source_lengths, self.prepared.store.target_lengths

    @property
    def weights(self) -> Sequence[CorpusWeight]:
        return self.prepared.weights

    @property
    def bucket_by_length(self) -> bool:
        return True

    @property
    def class_counts(self) -> dict[str, int]:
        return {}

    @property
    def is_new(self) -> bool:
        return self.prepared.is_new

    def describe(self) -> str:
        return self.prepared.describe()

    def inspect(self, config: Config) -> DataReport | None:
        prepared = self.prepared
        return inspect_data(
            prepared.store,
            [InspectedCorpus(", ".join(corpus.files), corpus.weight) for corpus in prepared.corpora],
            prepared.valid,
            languages=config.data.languages,
            examples=prepared.corpus_format.examples,
            vocabulary=describe_vocabularies(prepared.tokenizers),
            is_held_out=prepared.held_out is not None,
            are_labelled=task_of(config.model) == "classification",
        )


def validate_old(corpus: Corpus, bundle: Bundle) -> Validation | None:
    """The scores on examples like those of the start model; None if there are none."""
    if not isinstance(corpus, StoredCorpus) or not corpus.prepared.old_valid:
        return None
    old = replace(corpus, prepared=replace(corpus.prepared, valid=corpus.prepared.old_valid))
    return old.validate(bundle)  # each kind of examples has its own


@dataclass(frozen=True)
class PairCorpus(StoredCorpus):
    """Sentences and their translations."""

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        return Batch.from_pairs(*self.prepared.rows(indices, config, epoch), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return validate_pairs(bundle, self.prepared.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return pair_probes(bundle, self.prepared.valid, given)

    def example_command(self, model: Path) -> str:
        example = shlex.quote(min((pair.source for pair in self.prepared.valid), key=len))
        return f"echo {example} | regard translate {shlex.quote(str(model))}"


def prepare_pairs(config: Config, run: Path, *, progress: StageProgress) -> PairCorpus:
    """The pairs of a run, prepared by the first call and opened by later ones."""
    codes = config.data.languages
    corpus_format = CorpusFormat(partial(read_pairs, languages=codes), partial(read_blocks, languages=codes))
    return PairCorpus(prepare_text(config, run, corpus_format, progress=progress))


MONOLINGUAL_FORMAT = CorpusFormat(read_monolingual, monolingual_blocks, examples="lines", monolingual=True)


@dataclass(frozen=True)
class TextCorpus(StoredCorpus):
    """Lines of text for a causal or a masked language model."""

    is_masked_lm: bool

    @property
    def valid(self) -> list[str]:
        return [pair.target for pair in self.prepared.valid]

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        _, rows = self.prepared.rows(indices, config, epoch)
        if not self.is_masked_lm:
            return Batch.from_pairs([[] for _ in rows], rows, device=device)
        options, vocabulary, masked = config.training, self.tokenizers.target.vocab_size, []
        for index, row in zip(indices, rows, strict=True):  # the masks depend on the seed, the epoch and the line only
            chance = Random(f"{options.seed}:{epoch}:{index}:blanks")  # noqa: S311  (repeatable, not secret)
            masked.append(mask_tokens(row, chance, mask_rate=options.mask_rate, vocabulary=vocabulary))
        return Batch.masked([inputs for inputs, _ in masked], [targets for _, targets in masked], device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return (validate_masked_lm if self.is_masked_lm else validate_causal_lm)(bundle, self.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return (masked_lm_probes if self.is_masked_lm else causal_lm_probes)(
            bundle, given or self.valid, are_given=bool(given)
        )

    def example_command(self, model: Path) -> str:
        first, *rest = min(self.valid, key=len).split()
        command, text = ("fill", " ".join([MASK_TEXT, *rest])) if self.is_masked_lm else ("complete", first)
        return f"regard {command} {shlex.quote(str(model))} {shlex.quote(text)}"


def prepare_texts(config: Config, run: Path, *, progress: StageProgress) -> TextCorpus:
    """The lines of a run, prepared by the first call and opened by later ones."""
    prepared = prepare_text(config, run, MONOLINGUAL_FORMAT, progress=progress)
    return TextCorpus(prepared, is_masked_lm=isinstance(config.model, EncoderOnlyConfig))


@dataclass(frozen=True)
class LabelledTextCorpus(StoredCorpus):
    """Texts with one label each: in the store the text is the target, and the label is the text of the source."""

    labels: list[str]

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Those of the texts; a label is one position."""
        targets = self.prepared.store.target_lengths
        return targets, np.zeros_like(targets)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The number of the class of each training text."""
        store, numbers = self.prepared.store, {label: number for number, label in enumerate(self.labels)}
        found = np.array([numbers[store.text(row)[0]] for row in range(len(store))], np.int64)
        store.drop_pages()
        return found

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        _, rows = self.prepared.rows(indices, config, epoch)
        return Batch.classified(rows, self.classes[list(indices)].tolist(), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        device, longest = next(bundle.model.parameters()).device, bundle.max_source_tokens
        encoded = [
            (self.tokenizers.target.encode(pair.target)[:longest], self.labels.index(pair.source), pair.target)
            for pair in validation_rows(self.prepared.valid)
        ]
        encoded.sort(key=lambda one: len(one[0]))
        batches = (
            Batch.classified([row for row, _, _ in part], [number for _, number, _ in part], device=device)
            for part in batches_of_rows(encoded)
        )
        return validate_classes(bundle, batches, [text for _, _, text in encoded])

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        by_length = sorted(self.prepared.valid, key=lambda pair: len(pair.target.split()))
        chosen = [(pair.target, pair.source) for pair in select_probes(by_length)]
        return class_probes(bundle, [(text, "") for text in given] or chosen)

    @property
    def class_counts(self) -> dict[str, int]:
        counts = np.bincount(self.classes, minlength=len(self.labels)).tolist()
        return dict(zip(self.labels, counts, strict=True))

    def describe(self) -> str:
        return "\n".join([super().describe(), *describe_labels(self.class_counts)])

    def example_command(self, model: Path) -> str:
        example = min((pair.target for pair in self.prepared.valid), key=len)
        return f"regard classify {shlex.quote(str(model))} {shlex.quote(example)}"


def prepare_labelled_texts(config: Config, run: Path, *, progress: StageProgress) -> LabelledTextCorpus:
    """The labelled texts of a run, prepared by the first call and opened by later ones."""
    labels = config.data.labels
    corpus_format = CorpusFormat(
        partial(read_labelled_texts, labels=labels),
        partial(labelled_blocks, labels=labels),
        examples="texts",
        monolingual=True,
        held_out_fraction=HELD_OUT_LABELS,
    )
    return LabelledTextCorpus(prepare_text(config, run, corpus_format, progress=progress), labels)

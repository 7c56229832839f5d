"""Labelled images to train a classifier on; labelled texts are in corpora.py, beside other texts."""

import hashlib
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.batch import Batch
from regard.bundle import Bundle
from regard.config import Config
from regard.data.batch_order import CorpusWeight, Lengths
from regard.data.image_flips import draw_flip
from regard.data.images import load_image
from regard.data.labelled_examples import describe_labels, hold_out_images, read_labelled_images
from regard.tokenization.tokenizer import TokenizerPair, train_label_tokenizers
from regard.training.fine_tuning import START_FOLDER
from regard.training.image_dataset import ImageDataset, StageProgress, frozen_image_encoder, prepare_images
from regard.training.preprocessing import load_or_train_tokenizers
from regard.training.runs import select_probes
from regard.training.validation import (
    Probe,
    Validation,
    batches_of_rows,
    class_probes,
    validate_classes,
    validation_rows,
)


@dataclass(frozen=True)
class LabelledImageCorpus:
    """Images with one label each; the label is the caption of an image of the dataset."""

    tokenizers: TokenizerPair  # of the labels, since there is no other text
    labels: list[str]
    train: ImageDataset
    valid: ImageDataset
    is_held_out: bool
    is_new = False  # not inspected

    @cached_property
    def fingerprint(self) -> str:
        return _fingerprint(self.train, self.labels)

    @cached_property
    def valid_fingerprint(self) -> str:
        return _fingerprint(self.valid, self.labels)

    @cached_property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Zeros: an image counts as one token of training.batch_tokens."""
        zeros = np.zeros(len(self.train.captioned), np.int32)
        return zeros, zeros

    @property
    def class_counts(self) -> dict[str, int]:
        counts = Counter(one.captions[0] for one in self.train.captioned)
        return {label: counts[label] for label in self.labels}

    @property
    def weights(self) -> Sequence[CorpusWeight]:
        return ()

    @property
    def bucket_by_length(self) -> bool:
        return False

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The number of the class of each training image."""
        return _classes(self.train, self.labels)

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        flips = [config.data.flip_images and draw_flip(config.training.seed, epoch, index) for index in indices]
        source = self.train.source(indices, flips)
        return Batch.classified(source, self.classes[list(indices)].tolist(), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        device = next(bundle.model.parameters()).device
        rows, classes = validation_rows(range(len(self.valid.captioned))), _classes(self.valid, self.labels)
        batches = (
            Batch.classified(self.valid.source(part), classes[list(part)].tolist(), device=device)
            for part in batches_of_rows(rows)
        )
        return validate_classes(bundle, batches, [self.valid.captioned[row].image.name for row in rows])

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        chosen = [(one.image, one.captions[0]) for one in select_probes(self.valid.captioned)]
        return class_probes(bundle, [(Path(path), "") for path in given] or chosen)

    def describe(self) -> str:
        held_out = " held out of them" if self.is_held_out else ""
        sizes = f"{len(self.train.captioned):,} images, and {len(self.valid.captioned):,}{held_out} to validate on"
        return "\n".join([sizes, *describe_labels(self.class_counts)])

    def inspect(self, _config: Config) -> None:
        return None

    def example_command(self, model: Path) -> str:
        return f"regard classify {shlex.quote(str(model))} {shlex.quote(str(self.valid.captioned[0].image))}"


def prepare_labelled_images(config: Config, run: Path, *, progress: StageProgress) -> LabelledImageCorpus:
    """The images of a run, prepared by the first call and opened by later ones."""
    data, labels = config.data, config.data.labels
    for path in config.training.probes:
        load_image(Path(path), size=config.model.image_encoder.image_size)  # type: ignore[union-attr]
    examples = read_labelled_images(data.train[0], images=data.image_folder or None, labels=labels)
    if data.valid:
        held_out = read_labelled_images(data.valid[0], images=data.image_folder or None, labels=labels)
    else:
        examples, held_out = hold_out_images(examples, data.train[0])
    folder = Path(data.image_store or run / "images")
    frozen = frozen_image_encoder(config, run / START_FOLDER if config.training.start_from else None)
    prepare = partial(prepare_images, config=config, frozen=frozen, progress=progress)
    valid = prepare(held_out, directory=folder / "valid", name="valid", augment=False)
    train = prepare(examples, directory=folder / "train", name="train", augment=True)
    tokenizers = load_or_train_tokenizers(run / "tokenizer", lambda: train_label_tokenizers(labels))
    return LabelledImageCorpus(tokenizers, labels, train, valid, is_held_out=not data.valid)


def _classes(dataset: ImageDataset, labels: list[str]) -> NDArray[np.int64]:
    numbers = {label: number for number, label in enumerate(labels)}
    return np.array([numbers[one.captions[0]] for one in dataset.captioned], np.int64)


def _fingerprint(dataset: ImageDataset, labels: list[str]) -> str:
    digest = hashlib.sha256(dataset.store.fingerprint.encode())
    digest.update("\n".join([*labels, *(one.captions[0] for one in dataset.captioned)]).encode())
    return digest.hexdigest()

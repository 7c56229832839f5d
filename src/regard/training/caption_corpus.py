"""Captioned images to train on: each caption of an image is an example."""

import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random

import numpy as np

from regard.batch import Batch, ImageFeatures, Images, TokenRows
from regard.bundle import Bundle
from regard.config import Config
from regard.data.batch_order import CorpusWeight, Lengths
from regard.data.image_flips import draw_flip
from regard.data.images import load_image
from regard.errors import RegardError
from regard.special_tokens import UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.training.fine_tuning import START_FOLDER
from regard.training.image_dataset import ImageDataset, frozen_image_encoder, open_image_dataset
from regard.training.preprocessing import (
    describe_vocabularies,
    load_or_train_tokenizers,
    tokenizer_bytes,
    unknown_token_warning,
)
from regard.training.validation import Probe, Validation, caption_probes, validate_captions


@dataclass(frozen=True)
class CaptionExample:
    """One caption of one image, as text and as token ids."""

    image: int
    caption: str
    ids: list[int]


@dataclass(frozen=True)
class CaptionCorpus:
    """The training images with all their captions, and the validation images."""

    tokenizers: TokenizerPair
    train: ImageDataset
    examples: list[CaptionExample]
    valid: ImageDataset
    dropped: int  # captions that are blank or too long
    max_caption_tokens: int  # longest output of the decoding section
    is_new = False  # not inspected

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.train.store.fingerprint.encode())
        for part in [
            *tokenizer_bytes(self.tokenizers),
            *(f"{one.image} {one.caption}\n".encode() for one in self.examples),
        ]:
            digest.update(part)
        return digest.hexdigest()

    @cached_property
    def valid_fingerprint(self) -> str:
        digest = hashlib.sha256(self.valid.store.fingerprint.encode())
        for one in self.valid.captioned:
            digest.update(f"{one.captions}\n".encode())
        return digest.hexdigest()

    @cached_property
    def lengths(self) -> tuple[Lengths, Lengths]:
        targets = np.array([len(example.ids) for example in self.examples], np.int32)
        return np.zeros_like(targets), targets

    @property
    def class_counts(self) -> dict[str, int]:
        return {}

    @property
    def weights(self) -> Sequence[CorpusWeight]:
        return ()

    @property
    def bucket_by_length(self) -> bool:
        """Only with a frozen image encoder. Captions of one length describe similar images: an encoder that is trained
        on such batches, and normalises over them, fails on a single image.
        """
        return self.train.has_features

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[Images | ImageFeatures, TokenRows]:
        """The images and the captions of some examples, as they are in an epoch."""
        examples = [self.examples[index] for index in indices]
        flips = [config.data.flip_images and draw_flip(config.training.seed, epoch, index) for index in indices]
        source = self.train.source([one.image for one in examples], flips)
        return source, [self._resample(index, config, epoch) for index in indices]

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        return Batch.from_pairs(*self.rows(indices, config, epoch), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return validate_captions(bundle, self.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return caption_probes(bundle, self.valid, given)

    def describe(self) -> str:
        images, captions = len(self.train.captioned), len(self.examples)
        dropped = f"; dropped {self.dropped:,} blank or longer than data.max_tokens" if self.dropped else ""
        summary = f"{images:,} images with {captions:,} captions{dropped}; {describe_vocabularies(self.tokenizers)}"
        longest, beyond = int(self.lengths[1].max()), int((self.lengths[1] > self.max_caption_tokens).sum())
        too_long = (
            f"warning: {beyond:,} of the captions are longer than {self.max_caption_tokens} tokens, where the "
            f"model's output is truncated. For the longest caption use --set decoding.max_length_extra={longest + 1}."
        )
        unknown = sum(example.ids.count(UNKNOWN) for example in self.examples) / int(self.lengths[1].sum())
        return "\n".join([summary, *([too_long] if beyond else []), *unknown_token_warning(unknown)])

    def inspect(self, _config: Config) -> None:
        return None

    def example_command(self, model: Path) -> str:
        return f"regard caption {shlex.quote(str(model))} {shlex.quote(str(self.valid.captioned[0].image))}"

    def _resample(self, index: int, config: Config, epoch: int) -> list[int]:
        """The tokens of a caption: as stored or, for a share of captions, sampled again in each epoch if they fit."""
        example = self.examples[index]
        if config.tokenizer.sampling_rate:
            chance = Random(f"{config.training.seed}:{epoch}:{index}")  # noqa: S311  (repeatable, not secret)
            if chance.random() < config.tokenizer.sampling_rate:
                drawn = self.tokenizers.target.encode_sampled(example.caption, chance.getrandbits(32))
                return drawn if len(drawn) <= config.max_training_tokens else example.ids
        return example.ids


def prepare_captions(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> CaptionCorpus:
    """The vocabulary and the images of a run, prepared by the first call and opened by later ones."""
    folder = Path(config.data.image_store or run / "images")
    for path in config.training.probes:
        load_image(Path(path), size=config.model.image_encoder.image_size)  # type: ignore[union-attr]  # a wrong path is an error at once
    frozen = frozen_image_encoder(config, run / START_FOLDER if config.training.start_from else None)
    open_images = partial(open_image_dataset, config=config, frozen=frozen, progress=progress)
    # The smaller set first, so that its errors come before thousands of images are read.
    valid = open_images(config.data.valid, directory=folder / "valid", augment=False)
    train = open_images(config.data.train, directory=folder / "train", augment=True)
    captions = [(index, caption) for index, one in enumerate(train.captioned) for caption in one.captions]

    def train_tokenizers() -> TokenizerPair:
        progress("training the vocabulary", 0)
        own = config.tokenizer
        vocabulary = Tokenizer.train(
            (text for _, text in captions), model_type=own.model_type, vocab_size=own.vocab_size
        )
        return TokenizerPair(vocabulary, vocabulary)  # it is used for the source too

    tokenizers = load_or_train_tokenizers(run / "tokenizer", train_tokenizers)
    tokenized = (CaptionExample(index, caption, tokenizers.target.encode(caption)) for index, caption in captions)
    examples = [example for example in tokenized if 0 < len(example.ids) <= config.data.max_tokens]
    if not examples:
        raise RegardError(
            f"{config.data.train[0]} has no caption of at most {config.data.max_tokens} tokens to train on. "
            "Give others, or raise data.max_tokens."
        )
    max_caption_tokens = config.decoding.max_output_tokens(0) - 1  # END is generated too
    return CaptionCorpus(tokenizers, train, examples, valid, len(captions) - len(examples), max_caption_tokens)

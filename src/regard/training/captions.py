"""Captioned pictures to train on: each caption of a picture is an example."""

import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

import numpy as np

from regard.batch import Batch, Grid, Pictures, Rows
from regard.bundle import Bundle
from regard.config import Config
from regard.data.batching import Lengths
from regard.data.pictures import Draw, open_picture
from regard.decoding.hypothesis import longest_output
from regard.errors import RegardError
from regard.models.lengths import longest_row
from regard.symbols import UNKNOWN
from regard.tokens import Tokenizer, Tokenizers
from regard.training.gallery import Gallery, open_gallery
from regard.training.probes import Probe, picture_probes
from regard.training.validation import Validation, validate_captions
from regard.training.vocabularies import bytes_of, kept_vocabularies, sizes_of, warn_of_unknown


@dataclass(frozen=True)
class Example:
    """One caption of one picture, as text and as ids."""

    picture: int
    caption: str
    ids: list[int]


@dataclass(frozen=True)
class CaptionCorpus:
    """The pictures to train on with all their captions, and the pictures to validate on."""

    tokenizers: Tokenizers
    train: Gallery
    examples: list[Example]
    valid: Gallery
    dropped: int  # captions that are no examples
    sayable: int  # tokens that the model may say of a picture, as its decoding section has it

    @cached_property
    def fingerprint(self) -> str:
        whole = hashlib.sha256(self.train.store.fingerprint.encode())
        for part in [*bytes_of(self.tokenizers), *(f"{one.picture} {one.caption}\n".encode() for one in self.examples)]:
            whole.update(part)
        return whole.hexdigest()

    @cached_property
    def valid_fingerprint(self) -> str:
        whole = hashlib.sha256(self.valid.store.fingerprint.encode())
        for one in self.valid.captioned:
            whole.update(f"{one.captions}\n".encode())
        return whole.hexdigest()

    @cached_property
    def lengths(self) -> tuple[Lengths, Lengths]:
        targets = np.array([len(example.ids) for example in self.examples], np.int32)
        return np.zeros_like(targets), targets

    @property
    def is_mixed(self) -> bool:
        """Where the eye learns. Captions of one length speak of pictures that are alike: an eye that sees such batches
        only, and normalises over them, learns to expect it, and then fails with a single picture.
        """
        return not self.train.is_seen

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[Pictures | Grid, Rows]:
        """The pictures and the captions of some examples, as they are seen in an epoch."""
        examples = [self.examples[index] for index in indices]
        draws = [Draw(config.training.seed, epoch, index) for index in indices]
        source = self.train.varied([one.picture for one in examples], config.data.pictures, draws)
        return source, [self._cut(index, config, epoch) for index in indices]

    def batch(self, indices: Sequence[int], config: Config, epoch: int, *, device: str) -> Batch:
        return Batch.of(*self.rows(indices, config, epoch), device=device)

    def validate(self, bundle: Bundle) -> Validation:
        return validate_captions(bundle, self.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return picture_probes(bundle, self.valid, given)

    def describe(self) -> str:
        pictures, captions = len(self.train.captioned), len(self.examples)
        dropped = f"; dropped {self.dropped:,} blank or longer than data.maximum_length" if self.dropped else ""
        told = f"{pictures:,} pictures with {captions:,} captions{dropped}; {sizes_of(self.tokenizers)}"
        unknown = sum(example.ids.count(UNKNOWN) for example in self.examples) / int(self.lengths[1].sum())
        return "\n".join([told, *self._beyond_saying(), *warn_of_unknown(unknown)])

    def _beyond_saying(self) -> list[str]:
        """A warning where the model is to learn what it may not say."""
        longest, beyond = int(self.lengths[1].max()), int((self.lengths[1] > self.sayable).sum())
        if not beyond:
            return []
        return [
            f"warning: {beyond:,} of the captions are longer than {self.sayable} tokens, and what the model says will "
            f"be cut off there. For captions as long as the longest, --set decoding.length_extra={longest + 1}."
        ]

    def trial(self, model: Path) -> str:
        return f"regard caption {shlex.quote(str(model))} {shlex.quote(str(self.valid.captioned[0].picture))}"

    def _cut(self, index: int, config: Config, epoch: int) -> list[int]:
        """The caption's tokens: as they are or, for a share of captions, cut anew in each epoch if that fits."""
        example = self.examples[index]
        if config.tokens.sampling:
            chance = Random(f"{config.training.seed}:{epoch}:{index}")  # noqa: S311  (repeatable, not secret)
            if chance.random() < config.tokens.sampling:
                drawn = self.tokenizers.target.encode_sampled(example.caption, chance.getrandbits(32))
                return drawn if len(drawn) <= longest_row(config) else example.ids
        return example.ids


def prepare_captions(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> CaptionCorpus:
    """The vocabulary and the prepared pictures of a run, made on the first call and opened later."""
    place = Path(config.data.pictures.store or run / "pictures")
    for path in config.training.probes:
        open_picture(Path(path), size=config.model.eye.size)  # type: ignore[union-attr]  # a wrong path is told at once
    # The smaller set first, so that what is wrong with it is told before thousands of pictures are looked at.
    valid = open_gallery(config.data.valid, config, place / "valid", varies=False, progress=progress)
    train = open_gallery(config.data.train, config, place / "train", varies=True, progress=progress)
    captions = [(index, caption) for index, one in enumerate(train.captioned) for caption in one.captions]
    tokenizers = kept_vocabularies(run / "tokens", lambda: _learnt(config, captions, progress))
    cut = (Example(index, caption, tokenizers.target.encode(caption)) for index, caption in captions)
    examples = [example for example in cut if 0 < len(example.ids) <= config.data.maximum_length]
    if not examples:
        raise RegardError(
            f"{config.data.train[0]} has no caption of at most {config.data.maximum_length} tokens to train on. "
            "Give others, or raise data.maximum_length."
        )
    sayable = longest_output(0, config.decoding) - 1  # END is said too
    return CaptionCorpus(tokenizers, train, examples, valid, len(captions) - len(examples), sayable)


def _learnt(config: Config, captions: list[tuple[int, str]], progress: Callable[[str, int], None]) -> Tokenizers:
    """One vocabulary; it stands for the source too, which has no words."""
    progress("learning the vocabulary", 0)
    vocabulary = Tokenizer.train((text for _, text in captions), kind=config.tokens.kind, size=config.tokens.size)
    return Tokenizers(vocabulary, vocabulary)

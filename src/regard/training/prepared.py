"""A run's text on disk, whether pairs or lines of one language: vocabularies learnt, examples cut into a store once.

What differs between the two is a `Reading`: how files are read, and whether the source has words.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from random import Random

import msgspec

from regard.batch import Rows
from regard.config import Config
from regard.data import (
    Cutting,
    Pair,
    PairBlock,
    TokenStore,
    fingerprint,
    hash_of_pair,
    hold_out,
    open_store,
    pair_settings,
    read_pairs,
    tokenised,
    write_store,
)
from regard.errors import RegardError
from regard.models.lengths import longest_row
from regard.staged import staged_file
from regard.symbols import UNKNOWN
from regard.tokens import Tokenizer, Tokenizers, train_tokenizers
from regard.training.vocabularies import bytes_of, kept_vocabularies, sizes_of, warn_of_unknown
from regard.translation.engines import usable_cores

PARTS = "store.parts"
HELD_OUT = "held-out.jsonl"
Progress = Callable[[str, int], None]
ROWS_AT_ONCE = 32  # that are read before the store is let go of: the system maps 64 KB around each
VOCABULARY_PAIRS = 50_000  # that the vocabulary is learnt from: with more, learning it needs more memory than training


@dataclass(frozen=True)
class Reading:
    """How a corpus is read."""

    pairs: Callable[[Sequence[str]], Iterator[Pair]]
    blocks: Callable[[Sequence[str]], Iterator[PairBlock]]
    examples: str = "pairs"  # what people call them
    one_sided: bool = False  # text of one language: it is the target, and sources are empty


@dataclass(frozen=True)
class Prepared:
    """Examples as a store of tokens, and those to validate on."""

    reading: Reading
    tokenizers: Tokenizers
    store: TokenStore
    valid: list[Pair]
    held_out: Path | None = None  # the file of those to validate on, where they were held out of the others

    @cached_property
    def valid_fingerprint(self) -> str:
        whole = hashlib.sha256()
        for pair in self.valid:
            whole.update(f"{pair.source}\n{pair.target}\n".encode())
        return whole.hexdigest()

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[Rows, Rows]:
        """The sources and the targets of some examples, as they are cut in an epoch."""
        cut = Cutter(self, config, epoch)
        rows = []
        for start in range(0, len(indices), ROWS_AT_ONCE):
            rows += [cut(index) for index in indices[start : start + ROWS_AT_ONCE]]
            self.store.release()
        return [source for source, _ in rows], [target for _, target in rows]

    def describe(self) -> str:
        examples = self.reading.examples
        told = f"{self.store.report.describe(examples)}; {sizes_of(self.tokenizers)}"
        kept = (
            f"data.valid is empty: {len(self.valid):,} {examples} are held out of data.train, and kept in "
            f"{self.held_out}"
        )
        unknown = warn_of_unknown(self.store.share_of(UNKNOWN))
        return "\n".join([told, *([kept] if self.held_out else []), *unknown])


class Cutter:
    """Examples as tokens: as stored, or for a share of them cut anew in each epoch, as the seed has it.

    A new cut that is too long for the model is not taken.
    """

    def __init__(self, prepared: Prepared, config: Config, epoch: int) -> None:
        self.prepared = prepared
        self.sampling = config.tokens.sampling
        self.longest = longest_row(config)
        self.seed = f"{config.training.seed}:{epoch}"

    def __call__(self, index: int) -> tuple[list[int], list[int]]:
        if self.sampling:
            chance = Random(f"{self.seed}:{index}")  # noqa: S311  (repeatable, not secret)
            if chance.random() < self.sampling:
                source, target = self.prepared.store.text(index)
                both = self.prepared.tokenizers
                draw = chance.getrandbits(32)
                drawn = both.source.encode_sampled(source, draw), both.target.encode_sampled(target, draw)
                if max(map(len, drawn)) <= self.longest:
                    return drawn
        example = self.prepared.store[index]
        return example.source_ids, example.target_ids


def prepare_text(config: Config, run: Path, reading: Reading, *, progress: Progress) -> Prepared:
    """Vocabularies and store of a run, made on the first call and opened later; progress is told stage and count."""
    kept = None if config.data.valid else run / HELD_OUT
    valid = _given(config, reading) if kept is None else _kept_out(config, reading, kept, progress)
    held_out = [] if kept is None else [hash_of_pair(pair) for pair in valid]
    tokenizers = kept_vocabularies(run / "tokens", lambda: _learnt(config, reading, set(held_out), progress))
    settings = [pair_settings(config.data), *([msgspec.json.encode(held_out)] if held_out else [])]
    mark = fingerprint(config.data.train, *bytes_of(tokenizers), *settings)
    store = open_store(run / "store", mark)
    if store is None:
        cutting = Cutting(*bytes_of(tokenizers), config.data, held_out, reading.one_sided)
        parts = run / PARTS / mark
        blocks = reading.blocks(config.data.train)
        packed = tokenised(blocks, cutting, parts=parts, processes=config.training.threads or usable_cores())
        told = partial(progress, "tokenising")
        store = write_store(run / "store", packed, fingerprint=mark, progress=told)
    shutil.rmtree(run / PARTS, ignore_errors=True)
    return Prepared(reading, tokenizers, store, valid, kept)


def _given(config: Config, reading: Reading) -> list[Pair]:
    """The examples of the files to validate on."""
    pairs = reading.pairs(config.data.valid)
    valid = [pair for pair in pairs if pair.has_words(one_sided=reading.one_sided)]
    return _refuse_none(valid, config.data.valid, reading)


def _kept_out(config: Config, reading: Reading, path: Path, progress: Progress) -> list[Pair]:
    """The examples held out of the training files; a file keeps them, so that a run that goes on keeps to them."""
    if path.exists():
        return list(read_pairs([path]))
    progress(f"choosing {reading.examples} to validate on", 0)
    chosen = hold_out(reading.pairs(config.data.train), one_sided=reading.one_sided)
    held_out = _refuse_none(chosen, config.data.train, reading)
    with staged_file(path) as file:
        for pair in held_out:
            file.write(msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n")
    return held_out


def _refuse_none(valid: list[Pair], paths: list[str], reading: Reading) -> list[Pair]:
    if not valid:
        one = reading.examples.removesuffix("s")
        raise RegardError(f"{', '.join(paths)} has no {one} to validate on. Give at least one.")
    return valid


def _learnt(config: Config, reading: Reading, held_out: Set[int], progress: Progress) -> Tokenizers:
    progress("learning the vocabulary", 0)
    pairs = reading.pairs(config.data.train)
    own = (pair for pair in pairs if hash_of_pair(pair) not in held_out) if held_out else pairs
    sample = _sample(own, VOCABULARY_PAIRS)
    if held_out and not any(pair.has_words(one_sided=reading.one_sided) for pair in sample):
        one = reading.examples.removesuffix("s")
        raise RegardError(
            f"{', '.join(config.data.train)}: every {one} with words ({len(held_out)} that differ) is held out to "
            "validate on, and none is left to learn from. Give more, or name others to validate on."
        )
    targets = (pair.target for pair in sample)
    if reading.one_sided:  # the one vocabulary stands for the source too, which has no words
        vocabulary = Tokenizer.train(targets, kind=config.tokens.kind, size=config.tokens.size)
        return Tokenizers(vocabulary, vocabulary)
    return train_tokenizers(config.tokens, (pair.source for pair in sample), targets)


def _sample(pairs: Iterator[Pair], largest: int) -> list[Pair]:
    """At most so many of the pairs, each as likely as any other (reservoir sampling), and always the same ones."""
    kept = list(islice(pairs, largest))
    draw = Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, pair in enumerate(pairs, start=largest + 1):
        place = int(draw.random() * seen)
        if place < largest:
            kept[place] = pair
    return kept

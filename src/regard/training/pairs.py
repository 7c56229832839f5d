"""Sentence pairs to train on: vocabularies learnt, pairs cut into a store once, and drawn from it."""

import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from regard.batch import Rows
from regard.bundle import Bundle
from regard.config import Config
from regard.data import (
    Cutting,
    Pair,
    TokenStore,
    fingerprint,
    open_store,
    pair_settings,
    read_blocks,
    read_pairs,
    tokenised,
    write_store,
)
from regard.data.batching import Lengths
from regard.errors import RegardError
from regard.tokens import Tokenizers, train_tokenizers
from regard.training.probes import Probe, pair_probes
from regard.training.validation import Validation, validate_pairs
from regard.training.vocabularies import bytes_of, kept_vocabularies, sizes_of
from regard.translation.engines import usable_cores

PARTS = "store.parts"
ROWS_AT_ONCE = 32  # that are read before the store is let go of: the system maps 64 KB around each
VOCABULARY_PAIRS = 50_000  # that the vocabulary is learnt from: with more, learning it needs more memory than training


@dataclass(frozen=True)
class PairCorpus:
    """Sentence pairs as a store of tokens, and those to validate on."""

    tokenizers: Tokenizers
    store: TokenStore
    valid: list[Pair]

    @property
    def fingerprint(self) -> str:
        return self.store.fingerprint

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return self.store.source_lengths, self.store.target_lengths

    @property
    def is_mixed(self) -> bool:
        return False

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[Rows, Rows]:
        cut = Cutter(self, config, epoch)
        rows = []
        for start in range(0, len(indices), ROWS_AT_ONCE):
            rows += [cut(index) for index in indices[start : start + ROWS_AT_ONCE]]
            self.store.release()
        return [source for source, _ in rows], [target for _, target in rows]

    def validate(self, bundle: Bundle) -> Validation:
        return validate_pairs(bundle, self.valid)

    def probes(self, bundle: Bundle, given: list[str]) -> list[Probe]:
        return pair_probes(bundle, self.valid, given)

    def describe(self) -> str:
        return f"{self.store.report.describe()}; {sizes_of(self.tokenizers)}"

    def trial(self, model: Path) -> str:
        example = shlex.quote(min((pair.source for pair in self.valid), key=len))
        return f"echo {example} | regard translate {shlex.quote(str(model))}"


class Cutter:
    """Pairs as tokens: as stored, or for a share of them cut anew in each epoch, as the seed has it."""

    def __init__(self, corpus: PairCorpus, config: Config, epoch: int) -> None:
        self.corpus = corpus
        self.sampling = config.tokens.sampling
        self.seed = f"{config.training.seed}:{epoch}"

    def __call__(self, index: int) -> tuple[list[int], list[int]]:
        if self.sampling:
            chance = Random(f"{self.seed}:{index}")  # noqa: S311  (repeatable, not secret)
            if chance.random() < self.sampling:
                source, target = self.corpus.store.text(index)
                both = self.corpus.tokenizers
                draw = chance.getrandbits(32)
                return both.source.encode_sampled(source, draw), both.target.encode_sampled(target, draw)
        example = self.corpus.store[index]
        return example.source_ids, example.target_ids


def prepare_pairs(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> PairCorpus:
    """Vocabularies and store of a run, made on the first call and opened later; progress is told stage and count."""
    pairs = _reader(config, config.data.train)
    tokenizers = kept_vocabularies(run / "tokens", lambda: _learnt(config, pairs, progress))
    mark = fingerprint(config.data.train, *bytes_of(tokenizers), pair_settings(config.data))
    store = open_store(run / "store", mark)
    if store is None:
        cutting = Cutting(*bytes_of(tokenizers), config.data)
        parts = run / PARTS / mark
        blocks = read_blocks(config.data.train, languages=config.data.languages)
        packed = tokenised(blocks, cutting, parts=parts, processes=config.training.threads or usable_cores())
        told = partial(progress, "tokenising")
        store = write_store(run / "store", packed, fingerprint=mark, progress=told)
    shutil.rmtree(run / PARTS, ignore_errors=True)
    valid = [pair for pair in _reader(config, config.data.valid)() if pair.source.strip() and pair.target.strip()]
    if not valid:
        raise RegardError(f"{', '.join(config.data.valid)} has no pair to validate on. Give at least one.")
    return PairCorpus(tokenizers, store, valid)


def _reader(config: Config, paths: list[str]) -> Callable[[], Iterator[Pair]]:
    languages = tuple(config.data.languages)
    return lambda: read_pairs(paths, languages=languages)


def _learnt(config: Config, pairs: Callable[[], Iterator[Pair]], progress: Callable[[str, int], None]) -> Tokenizers:
    progress("learning the vocabulary", 0)
    sample = _sample(pairs(), VOCABULARY_PAIRS)
    return train_tokenizers(config.tokens, (pair.source for pair in sample), (pair.target for pair in sample))


def _sample(pairs: Iterator[Pair], largest: int) -> list[Pair]:
    """At most so many of the pairs, each as likely as any other (reservoir sampling), and always the same ones."""
    kept = list(islice(pairs, largest))
    draw = Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, pair in enumerate(pairs, start=largest + 1):
        place = int(draw.random() * seen)
        if place < largest:
            kept[place] = pair
    return kept

"""Sentence pairs to train on: vocabularies learnt, pairs cut into a store once, and drawn from it."""

import hashlib
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from random import Random

import msgspec

from regard.batch import Rows
from regard.bundle import Bundle
from regard.config import Config
from regard.data import (
    Cutting,
    Pair,
    TokenStore,
    fingerprint,
    hash_of_pair,
    hold_out,
    open_store,
    pair_settings,
    read_blocks,
    read_pairs,
    tokenised,
    write_store,
)
from regard.data.batching import Lengths
from regard.errors import RegardError
from regard.staged import staged_file
from regard.symbols import UNKNOWN
from regard.tokens import Tokenizers, train_tokenizers
from regard.training.positions import longest_row
from regard.training.probes import Probe, pair_probes
from regard.training.validation import Validation, validate_pairs
from regard.training.vocabularies import bytes_of, kept_vocabularies, sizes_of, warn_of_unknown
from regard.translation.engines import usable_cores

PARTS = "store.parts"
HELD_OUT = "held-out.jsonl"
Progress = Callable[[str, int], None]
ROWS_AT_ONCE = 32  # that are read before the store is let go of: the system maps 64 KB around each
VOCABULARY_PAIRS = 50_000  # that the vocabulary is learnt from: with more, learning it needs more memory than training


@dataclass(frozen=True)
class PairCorpus:
    """Sentence pairs as a store of tokens, and those to validate on."""

    tokenizers: Tokenizers
    store: TokenStore
    valid: list[Pair]
    held_out: Path | None = None  # the file of those to validate on, where they were held out of the others

    @property
    def fingerprint(self) -> str:
        return self.store.fingerprint

    @cached_property
    def valid_fingerprint(self) -> str:
        whole = hashlib.sha256()
        for pair in self.valid:
            whole.update(f"{pair.source}\n{pair.target}\n".encode())
        return whole.hexdigest()

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
        told = f"{self.store.report.describe()}; {sizes_of(self.tokenizers)}"
        kept = f"data.valid is empty: {len(self.valid):,} pairs are held out of data.train, and kept in {self.held_out}"
        unknown = warn_of_unknown(self.store.share_of(UNKNOWN))
        return "\n".join([told, *([kept] if self.held_out else []), *unknown])

    def trial(self, model: Path) -> str:
        example = shlex.quote(min((pair.source for pair in self.valid), key=len))
        return f"echo {example} | regard translate {shlex.quote(str(model))}"


class Cutter:
    """Pairs as tokens: as stored, or for a share of them cut anew in each epoch, as the seed has it.

    A new cut that is too long for the model is not taken.
    """

    def __init__(self, corpus: PairCorpus, config: Config, epoch: int) -> None:
        self.corpus = corpus
        self.sampling = config.tokens.sampling
        self.longest = longest_row(config)
        self.seed = f"{config.training.seed}:{epoch}"

    def __call__(self, index: int) -> tuple[list[int], list[int]]:
        if self.sampling:
            chance = Random(f"{self.seed}:{index}")  # noqa: S311  (repeatable, not secret)
            if chance.random() < self.sampling:
                source, target = self.corpus.store.text(index)
                both = self.corpus.tokenizers
                draw = chance.getrandbits(32)
                drawn = both.source.encode_sampled(source, draw), both.target.encode_sampled(target, draw)
                if max(map(len, drawn)) <= self.longest:
                    return drawn
        example = self.corpus.store[index]
        return example.source_ids, example.target_ids


def prepare_pairs(config: Config, run: Path, *, progress: Progress) -> PairCorpus:
    """Vocabularies and store of a run, made on the first call and opened later; progress is told stage and count."""
    kept = None if config.data.valid else run / HELD_OUT
    valid = _given(config) if kept is None else _kept_out(config, kept, progress)
    held_out = [] if kept is None else [hash_of_pair(pair) for pair in valid]
    tokenizers = kept_vocabularies(run / "tokens", lambda: _learnt(config, set(held_out), progress))
    settings = [pair_settings(config.data), *([msgspec.json.encode(held_out)] if held_out else [])]
    mark = fingerprint(config.data.train, *bytes_of(tokenizers), *settings)
    store = open_store(run / "store", mark)
    if store is None:
        cutting = Cutting(*bytes_of(tokenizers), config.data, held_out)
        parts = run / PARTS / mark
        blocks = read_blocks(config.data.train, languages=config.data.languages)
        packed = tokenised(blocks, cutting, parts=parts, processes=config.training.threads or usable_cores())
        told = partial(progress, "tokenising")
        store = write_store(run / "store", packed, fingerprint=mark, progress=told)
    shutil.rmtree(run / PARTS, ignore_errors=True)
    return PairCorpus(tokenizers, store, valid, kept)


def _given(config: Config) -> list[Pair]:
    """The pairs of the files to validate on."""
    pairs = read_pairs(config.data.valid, languages=config.data.languages)
    valid = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    return _refuse_none(valid, config.data.valid)


def _kept_out(config: Config, path: Path, progress: Progress) -> list[Pair]:
    """The pairs held out of the training files; they are kept in a file, so that a run that goes on keeps to them."""
    if path.exists():
        return list(read_pairs([path]))
    progress("choosing pairs to validate on", 0)
    held_out = _refuse_none(hold_out(read_pairs(config.data.train, languages=config.data.languages)), config.data.train)
    with staged_file(path) as file:
        for pair in held_out:
            file.write(msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n")
    return held_out


def _refuse_none(valid: list[Pair], paths: list[str]) -> list[Pair]:
    if not valid:
        raise RegardError(f"{', '.join(paths)} has no pair to validate on. Give at least one.")
    return valid


def _learnt(config: Config, held_out: Set[int], progress: Progress) -> Tokenizers:
    progress("learning the vocabulary", 0)
    pairs = read_pairs(config.data.train, languages=config.data.languages)
    own = (pair for pair in pairs if hash_of_pair(pair) not in held_out) if held_out else pairs
    sample = _sample(own, VOCABULARY_PAIRS)
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

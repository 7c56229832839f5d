"""The data of a run: vocabularies learnt, pairs cut into a store once, batches drawn in an order that resumes."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from regard.batch import Batch
from regard.config import Config, TokensConfig
from regard.data import (
    Cutting,
    Pair,
    Position,
    TokenStore,
    fingerprint,
    global_batches,
    open_store,
    pair_settings,
    read_pairs,
    slice_for_rank,
    tokenised,
    write_store,
)
from regard.errors import RegardError
from regard.staged import staged_file
from regard.tokens import Tokenizer, Tokenizers, train_tokenizers
from regard.training.device import usable_cores
from regard.training.distributed import ALONE, World

PARTS = "store.parts"
VOCABULARY_PAIRS = 50_000  # that the vocabulary is learnt from: with more, learning it needs more memory than training


@dataclass(frozen=True)
class Corpus:
    """What a run is trained and validated on."""

    tokenizers: Tokenizers
    store: TokenStore
    valid: list[Pair]


@dataclass(frozen=True)
class Drawn:
    """A rank's part of one global batch, and the position after it."""

    batch: Batch
    epoch: int
    resume: Position
    share: float = 1.0  # 0: the batch has fewer pairs than there are ranks, and this is a stand-in that must not count

    @property
    def tokens(self) -> int:
        """Real target tokens that count."""
        return sum(self.batch.outputs.lengths) if self.share else 0


def prepare(config: Config, run: Path, *, progress: Callable[[str, int], None]) -> Corpus:
    """Vocabularies and store of a run, made on the first call and opened later; progress is told stage and count."""
    if not config.data.train:
        raise RegardError("data.train is empty. Name a file of pairs, or a source and a target file.")
    if not config.data.valid:
        raise RegardError("data.valid is empty. Name a file of pairs, or a source and a target file, to validate on.")
    pairs = _reader(config, config.data.train)
    tokenizers = _vocabularies(config, run / "tokens", pairs, progress)
    mark = fingerprint(config.data.train, *_bytes_of(tokenizers), pair_settings(config.data))
    store = open_store(run / "store", mark)
    if store is None:
        cutting = Cutting(*_bytes_of(tokenizers), config.data)
        parts = run / PARTS / mark
        blocks = tokenised(pairs(), cutting, parts=parts, processes=config.training.threads or usable_cores())
        told = partial(progress, "tokenising")
        store = write_store(run / "store", blocks, fingerprint=mark, progress=told)
    shutil.rmtree(run / PARTS, ignore_errors=True)
    valid = [pair for pair in _reader(config, config.data.valid)() if pair.source.strip() and pair.target.strip()]
    if not valid:
        raise RegardError(f"{', '.join(config.data.valid)} has no pair to validate on. Give at least one.")
    return Corpus(tokenizers, store, valid)


def batches(corpus: Corpus, config: Config, start: Position, *, device: str, world: World = ALONE) -> Iterator[Drawn]:
    """A rank's parts of the endless sequence of batches, from a position on."""
    store, seed = corpus.store, config.training.seed
    order = global_batches(
        store.source_lengths,
        store.target_lengths,
        batch_tokens=config.training.batch_tokens,
        seed=seed,
        start=start,
    )
    for indices, epoch, resume in order:
        cut = Cutter(corpus, config.tokens, seed, epoch)
        own = slice_for_rank(indices, world.rank, world.size)
        rows = [cut(int(index)) for index in (own if len(own) else indices[:1])]
        batch = Batch.of([source for source, _ in rows], [target for _, target in rows], device=device)
        yield Drawn(batch, epoch, resume, share=1.0 if len(own) else 0.0)


class Cutter:
    """Pairs as tokens: as stored, or for a share of them cut anew in each epoch, as the seed has it."""

    def __init__(self, corpus: Corpus, config: TokensConfig, seed: int, epoch: int) -> None:
        self.corpus = corpus
        self.sampling = config.sampling
        self.seed = f"{seed}:{epoch}"

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


def _reader(config: Config, paths: list[str]) -> Callable[[], Iterator[Pair]]:
    languages = tuple(config.data.languages)
    return lambda: read_pairs(paths, languages=languages)


def _vocabularies(
    config: Config, directory: Path, pairs: Callable[[], Iterator[Pair]], progress: Callable[[str, int], None]
) -> Tokenizers:
    paths = [directory / "source.tokens", directory / "target.tokens"]
    if all(path.exists() for path in paths):
        source, target = (Tokenizer.from_bytes(path.read_bytes()) for path in paths)
        return Tokenizers(source, target)
    progress("learning the vocabulary", 0)
    sample = _sample(pairs(), VOCABULARY_PAIRS)
    tokenizers = train_tokenizers(config.tokens, (pair.source for pair in sample), (pair.target for pair in sample))
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(paths, _bytes_of(tokenizers), strict=True):
        with staged_file(path) as file:
            file.write(content)
    return tokenizers


def _sample(pairs: Iterator[Pair], largest: int) -> list[Pair]:
    """At most so many of the pairs, each as likely as any other (reservoir sampling), and always the same ones."""
    kept = list(islice(pairs, largest))
    draw = Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, pair in enumerate(pairs, start=largest + 1):
        place = int(draw.random() * seen)
        if place < largest:
            kept[place] = pair
    return kept


def _bytes_of(tokenizers: Tokenizers) -> tuple[bytes, bytes]:
    return tokenizers.source.to_bytes(), tokenizers.target.to_bytes()

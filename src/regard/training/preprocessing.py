"""Preprocessing of text: train the vocabularies, hold out validation examples, tokenise the corpus into a token store.

Each result is kept in the run's directory and read again when the run is resumed. Pairs and lines of one language
differ in their `CorpusFormat` only.
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

from regard.batch import TokenRows
from regard.config import Config
from regard.data.filters import held_out_hash, hold_out, pair_settings
from regard.data.readers import read_pairs
from regard.data.readers.text import Pair, PairBlock
from regard.data.token_store import TokenStore, fingerprint, open_store, write_store
from regard.data.tokenize import TokenizeJob, tokenize_corpus
from regard.errors import RegardError
from regard.files import atomic_file
from regard.process import usable_cores
from regard.special_tokens import UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair, train_tokenizer_pair

STORE_PARTS = "token_store.parts"
HELD_OUT_FILE = "held-out.jsonl"
MAX_UNKNOWN_SHARE = 0.01  # of the training tokens
ROWS_PER_READ = 32  # before the pages of the store are released: the system maps 64 KB around each row
VOCABULARY_PAIRS = 50_000  # to train the vocabulary on: more need more memory than the training itself

StageProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class CorpusFormat:
    """How a corpus is read."""

    pairs: Callable[[Sequence[str]], Iterator[Pair]]
    blocks: Callable[[Sequence[str]], Iterator[PairBlock]]
    examples: str = "pairs"  # in messages
    monolingual: bool = False  # the text is the target, and sources are empty


@dataclass(frozen=True)
class PreparedText:
    """Training examples in a token store, and validation examples."""

    corpus_format: CorpusFormat
    tokenizers: TokenizerPair
    store: TokenStore
    valid: list[Pair]
    held_out: Path | None = None  # the file of the validation examples, if they are held out of the training data

    @cached_property
    def valid_fingerprint(self) -> str:
        whole = hashlib.sha256()
        for pair in self.valid:
            whole.update(f"{pair.source}\n{pair.target}\n".encode())
        return whole.hexdigest()

    def rows(self, indices: Sequence[int], config: Config, epoch: int) -> tuple[TokenRows, TokenRows]:
        """The token rows of some examples, as they are tokenised in an epoch."""
        resample = SubwordResampler(self, config, epoch)
        rows = []
        for start in range(0, len(indices), ROWS_PER_READ):
            rows += [resample(index) for index in indices[start : start + ROWS_PER_READ]]
            self.store.drop_pages()
        return [source for source, _ in rows], [target for _, target in rows]

    def describe(self) -> str:
        examples = self.corpus_format.examples
        summary = f"{self.store.report.describe(examples)}; {describe_vocabularies(self.tokenizers)}"
        kept = f"data.valid is empty: {len(self.valid):,} {examples} are held out of data.train, in {self.held_out}"
        unknown = unknown_token_warning(self.store.frequency_of(UNKNOWN))
        return "\n".join([summary, *([kept] if self.held_out else []), *unknown])


class SubwordResampler:
    """The tokens of examples: as stored or, for a share of them, sampled again in each epoch by the seed.

    A sampled row that is too long for the model is not used.
    """

    def __init__(self, prepared: PreparedText, config: Config, epoch: int) -> None:
        self.prepared = prepared
        self.sampling = config.tokenizer.sampling_rate
        self.longest = config.max_training_tokens
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


def prepare_text(config: Config, run: Path, corpus_format: CorpusFormat, *, progress: StageProgress) -> PreparedText:
    """Vocabularies and token store of a run, prepared by the first call and opened by later ones."""
    kept = None if config.data.valid else run / HELD_OUT_FILE
    if kept is None:
        valid = _validation_pairs(config, corpus_format)
    else:
        valid = _held_out_pairs(config, corpus_format, kept, progress)
    held_out = [] if kept is None else [held_out_hash(pair) for pair in valid]
    tokenizers = load_or_train_tokenizers(
        run / "tokenizer", lambda: _train_text_tokenizers(config, corpus_format, set(held_out), progress)
    )
    settings = [pair_settings(config.data), *([msgspec.json.encode(held_out)] if held_out else [])]
    store_fingerprint = fingerprint(config.data.train, *tokenizer_bytes(tokenizers), *settings)
    store = open_store(run / "token_store", store_fingerprint)
    if store is None:
        job = TokenizeJob(*tokenizer_bytes(tokenizers), config.data, held_out, corpus_format.monolingual)
        parts = run / STORE_PARTS / store_fingerprint
        blocks = corpus_format.blocks(config.data.train)
        packed = tokenize_corpus(blocks, job, parts=parts, processes=config.training.threads or usable_cores())
        report_progress = partial(progress, "tokenising")
        store = write_store(run / "token_store", packed, fingerprint=store_fingerprint, progress=report_progress)
    shutil.rmtree(run / STORE_PARTS, ignore_errors=True)
    return PreparedText(corpus_format, tokenizers, store, valid, kept)


def _validation_pairs(config: Config, corpus_format: CorpusFormat) -> list[Pair]:
    """The examples of the validation files."""
    pairs = corpus_format.pairs(config.data.valid)
    valid = [pair for pair in pairs if pair.has_text(monolingual=corpus_format.monolingual)]
    return _require_examples(valid, config.data.valid, corpus_format)


def _held_out_pairs(config: Config, corpus_format: CorpusFormat, path: Path, progress: StageProgress) -> list[Pair]:
    """The examples held out of the training files; they are kept in a file for a resumed run."""
    if path.exists():
        return list(read_pairs([path]))
    progress(f"choosing {corpus_format.examples} to validate on", 0)
    chosen = hold_out(corpus_format.pairs(config.data.train), monolingual=corpus_format.monolingual)
    held_out = _require_examples(chosen, config.data.train, corpus_format)
    with atomic_file(path) as file:
        for pair in held_out:
            file.write(msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n")
    return held_out


def _require_examples(valid: list[Pair], paths: list[str], corpus_format: CorpusFormat) -> list[Pair]:
    if not valid:
        one = corpus_format.examples.removesuffix("s")
        raise RegardError(f"{', '.join(paths)} has no {one} to validate on. Give at least one.")
    return valid


def _train_text_tokenizers(
    config: Config, corpus_format: CorpusFormat, held_out: Set[int], progress: StageProgress
) -> TokenizerPair:
    progress("training the vocabulary", 0)
    pairs = corpus_format.pairs(config.data.train)
    own = (pair for pair in pairs if held_out_hash(pair) not in held_out) if held_out else pairs
    sample = _reservoir_sample(own, VOCABULARY_PAIRS)
    if held_out and not any(pair.has_text(monolingual=corpus_format.monolingual) for pair in sample):
        one = corpus_format.examples.removesuffix("s")
        raise RegardError(
            f"{', '.join(config.data.train)}: every {one} with words ({len(held_out)} that differ) is held out to "
            "validate on, and none is left to train on. Give more, or name others to validate on."
        )
    targets = (pair.target for pair in sample)
    if corpus_format.monolingual:  # the vocabulary is used for the empty source too
        vocabulary = Tokenizer.train(
            targets, model_type=config.tokenizer.model_type, vocab_size=config.tokenizer.vocab_size
        )
        return TokenizerPair(vocabulary, vocabulary)
    return train_tokenizer_pair(config.tokenizer, (pair.source for pair in sample), targets)


def _reservoir_sample(pairs: Iterator[Pair], largest: int) -> list[Pair]:
    """At most `largest` of the pairs, each with the same probability (reservoir sampling), and always the same."""
    kept = list(islice(pairs, largest))
    draw = Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, pair in enumerate(pairs, start=largest + 1):
        index = int(draw.random() * seen)
        if index < largest:
            kept[index] = pair
    return kept


# --- vocabularies


def load_or_train_tokenizers(directory: Path, train: Callable[[], TokenizerPair]) -> TokenizerPair:
    """The vocabularies in a directory; if there are none yet, they are trained and written there."""
    paths = [directory / "source.spm", directory / "target.spm"]
    if all(path.exists() for path in paths):
        return TokenizerPair.from_bytes(*(path.read_bytes() for path in paths))
    tokenizers = train()
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(paths, tokenizer_bytes(tokenizers), strict=True):
        with atomic_file(path) as file:
            file.write(content)
    return tokenizers


def tokenizer_bytes(tokenizers: TokenizerPair) -> tuple[bytes, bytes]:
    """Both vocabularies as files."""
    return tokenizers.source.to_bytes(), tokenizers.target.to_bytes()


def unknown_token_warning(share: float) -> list[str]:
    """A warning if the share of unknown training tokens is high."""
    if share <= MAX_UNKNOWN_SHARE:
        return []
    return [
        f"warning: {share:.0%} of the training tokens are unknown to the vocabulary: the model reads and writes ⁇ for "
        "them. Raise tokenizer.vocab_size; or set tokenizer.model_type=unigram with tokenizer.vocab_size=1000 or more, "
        "which spells rare words."
    ]


def describe_vocabularies(tokenizers: TokenizerPair) -> str:
    """The sizes of the vocabularies, for people."""
    if tokenizers.shared:
        return f"one vocabulary of {tokenizers.source.vocab_size:,} pieces"
    return f"vocabularies of {tokenizers.source.vocab_size:,} and {tokenizers.target.vocab_size:,} pieces"

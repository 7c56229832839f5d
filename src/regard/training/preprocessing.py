"""Preprocessing of text: train the vocabularies, hold out validation examples, tokenise the corpus into a token store.

Each result is kept in the run's directory and read again when the run is resumed. Pairs and lines of one language
differ in their `CorpusFormat` only.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from random import Random

import msgspec

from regard.batch import TokenRows
from regard.config import Config, DataConfig, SourceConfig
from regard.data.batch_order import CorpusWeight
from regard.data.corpus_tokenization import TokenizeJob, tokenize_corpus
from regard.data.filters import pair_settings
from regard.data.held_out import HELD_OUT_FRACTION, held_out_hash, hold_out
from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair, PairBlock
from regard.data.token_store import TokenStore, fingerprint, open_store, write_store
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MAX_METADATA_BYTES, atomic_file, read_input
from regard.process import usable_cores
from regard.special_tokens import UNKNOWN
from regard.tokenization.sentencepiece_training import reservoir_sample
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair, train_tokenizer_pair

STORE_PARTS = "token_store.parts"
HELD_OUT_FILE = "held-out.jsonl"
VALIDATION_DIGEST_FILE = "validation.sha256"
MAX_UNKNOWN_SHARE = 0.01  # of the training tokens
ROWS_PER_READ = 32  # before the pages of the store are released: the system maps 64 KB around each row
MAX_COMPARED_PAIRS, DECISIVE_PAIRS = 10_000, 1000  # to find out whether sources and targets were swapped
VOCABULARY_PAIRS = 50_000  # to train the vocabulary on: more need more memory than the training itself

StageProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class CorpusFormat:
    """How a corpus is read."""

    pairs: Callable[[Sequence[str]], Iterator[Pair]]
    blocks: Callable[[Sequence[str]], Iterator[PairBlock]]
    examples: str = "pairs"  # in messages
    monolingual: bool = False  # the text is the target, and sources are empty, or labels
    held_out_fraction: float = HELD_OUT_FRACTION

    def pairs_with_text(self, files: Sequence[str]) -> list[Pair]:
        """The examples of validation files that are not blank."""
        return [pair for pair in self.pairs(files) if pair.has_text(monolingual=self.monolingual)]

    def training_pairs(self, data: DataConfig) -> Iterator[Pair]:
        """The examples of all training corpora, one after the other."""
        return chain.from_iterable(self.pairs(corpus.files) for corpus in data.corpora)

    def training_blocks(self, data: DataConfig) -> Iterator[PairBlock]:
        """The same, many at a time, with the number of their corpus."""
        for number, corpus in enumerate(data.corpora):
            for block in self.blocks(corpus.files):
                yield block._replace(corpus=number)


@dataclass(frozen=True)
class PreparedText:
    """Training examples in a token store, and validation examples."""

    corpus_format: CorpusFormat
    tokenizers: TokenizerPair
    store: TokenStore
    corpora: list[SourceConfig]
    valid: list[Pair]
    held_out: Path | None = None  # the file of the validation examples, if they are held out of the training data
    old_valid: list[Pair] = field(default_factory=list)  # of the start model's data
    is_new: bool = True  # the store was written now; False: it was opened

    @property
    def weights(self) -> list[CorpusWeight]:
        """The number of examples and the weight of each corpus, in the order of the store."""
        reports = zip(self.store.reports, self.corpora, strict=True)
        return [CorpusWeight(report.kept, corpus.weight) for report, corpus in reports]

    @property
    def fingerprint(self) -> str:
        """A hash of the training examples and of how often each is used."""
        weights = [one.weight for one in self.corpora]
        return self.store.fingerprint if set(weights) == {1.0} else f"{self.store.fingerprint} {weights}"

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
        examples, used = self.corpus_format.examples, [one.examples * one.weight for one in self.weights]
        lines = [f"{self.store.report.describe(examples)}; {describe_vocabularies(self.tokenizers)}"]
        if len(self.corpora) > 1:
            for report, corpus, own in zip(self.store.reports, self.corpora, used, strict=True):
                share = f"weight {corpus.weight:g}, {own / sum(used):.0%} of an epoch"
                lines.append(f"  {', '.join(corpus.files)}: {report.describe(examples)}; {share}")
        if self.held_out:
            held_out = f"{len(self.valid):,} {examples} are held out of the training files, in {self.held_out}"
            lines.append(f"data.valid is empty: {held_out}")
        return "\n".join([*lines, *unknown_token_warning(self.store.frequency_of(UNKNOWN))])


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
    if kept is not None:
        valid = _held_out_pairs(config, corpus_format, kept, progress)
    else:
        valid = corpus_format.pairs_with_text(config.data.valid)
    if not valid:
        paths, one = config.data.valid or config.data.train_files, corpus_format.examples.removesuffix("s")
        raise RegardError(f"{', '.join(paths)} has no {one} to validate on. Give at least one.")
    check_same_validation(valid, run)
    held_out = [] if kept is None else [held_out_hash(pair) for pair in valid]
    tokenizers = load_or_train_tokenizers(
        run / "tokenizer", lambda: _train_text_tokenizers(config, corpus_format, set(held_out), progress)
    )
    settings = [pair_settings(config.data), *([msgspec.json.encode(held_out)] if held_out else [])]
    if len(config.data.corpora) > 1:  # the same files may belong to other corpora
        settings.append(msgspec.json.encode([len(corpus.files) for corpus in config.data.corpora]))
    store_fingerprint = fingerprint(config.data.train_files, *tokenizer_bytes(tokenizers), *settings)
    store = open_store(run / "token_store", store_fingerprint)
    is_new = store is None
    if store is None:
        if (run / CONFIG_FILE).exists() and not corpus_format.monolingual:  # a resumed run whose files have changed
            check_same_direction(open_store(run / "token_store", None), corpus_format.training_pairs(config.data), run)
        job = TokenizeJob(*tokenizer_bytes(tokenizers), config.data, held_out, corpus_format.monolingual)
        parts = run / STORE_PARTS / store_fingerprint
        blocks = corpus_format.training_blocks(config.data)
        packed = tokenize_corpus(blocks, job, parts=parts, processes=config.training.threads or usable_cores())
        report_progress = partial(progress, "tokenising")
        store = write_store(run / "token_store", packed, fingerprint=store_fingerprint, progress=report_progress)
    shutil.rmtree(run / STORE_PARTS, ignore_errors=True)
    old_valid = corpus_format.pairs_with_text(config.data.old_valid) if config.data.old_valid else []
    return PreparedText(corpus_format, tokenizers, store, config.data.corpora, valid, kept, old_valid, is_new)


def check_same_validation(valid: Sequence[Pair], run: Path) -> None:
    """An error if a resumed run would be validated on other examples, so that its scores could not be compared."""
    path = run / VALIDATION_DIGEST_FILE
    digest = hashlib.sha256(msgspec.json.encode([(pair.source, pair.target) for pair in valid])).hexdigest().encode()
    written = path.read_bytes() if path.exists() else b""
    if written == digest:  # also in all ranks but rank 0, which came first: they must not replace its file
        return
    if not (run / CONFIG_FILE).exists():
        with atomic_file(path) as file:
            file.write(digest)
    elif written:
        raise RegardError(
            f"{run} cannot be resumed: since it started, the examples that it is validated on were changed, so its "
            f"scores could not be compared. Restore the file, or delete {path} to continue with the new ones."
        )


def check_same_direction(before: TokenStore | None, pairs: Iterable[Pair], run: Path) -> None:
    """An error if the pairs that a run was trained on are in its files with sources and targets swapped."""
    if before is None:
        return
    known = {before.text(row) for row in range(0, len(before), 1 + len(before) // MAX_COMPARED_PAIRS)}
    same = swapped = 0
    for source, target, _ in pairs:
        same += (source, target) in known
        swapped += (target, source) in known
        if max(same, swapped) >= DECISIVE_PAIRS:
            break
    if swapped > same:
        raise RegardError(
            f"{run} cannot be resumed: since it started, the sources and targets of its training files were swapped. A "
            "run keeps its direction. Restore the files, or train in the other direction in a new run with --run DIR."
        )


def _held_out_pairs(config: Config, corpus_format: CorpusFormat, path: Path, progress: StageProgress) -> list[Pair]:
    """The examples held out of the training files; they are kept in a file for a resumed run."""
    if path.exists():
        return list(read_pairs([path]))
    progress(f"choosing {corpus_format.examples} to validate on", 0)
    held_out = hold_out(
        corpus_format.training_pairs(config.data),
        monolingual=corpus_format.monolingual,
        fraction=corpus_format.held_out_fraction,
    )
    if held_out:
        with atomic_file(path) as file:
            for pair in held_out:
                file.write(msgspec.json.encode({"source": pair.source, "target": pair.target}) + b"\n")
    return held_out


def _train_text_tokenizers(
    config: Config, corpus_format: CorpusFormat, held_out: Set[int], progress: StageProgress
) -> TokenizerPair:
    progress("training the vocabulary", 0)
    pairs = corpus_format.training_pairs(config.data)
    own = (pair for pair in pairs if held_out_hash(pair) not in held_out) if held_out else pairs
    sample = reservoir_sample(own, VOCABULARY_PAIRS)
    if held_out and not any(pair.has_text(monolingual=corpus_format.monolingual) for pair in sample):
        one = corpus_format.examples.removesuffix("s")
        raise RegardError(
            f"{', '.join(config.data.train_files)}: every {one} with words ({len(held_out)} that differ) is held out "
            "to validate on, and none is left to train on. Give more, or name others to validate on."
        )
    targets = (pair.target for pair in sample)
    if corpus_format.monolingual:  # the vocabulary is used for the empty source too
        vocabulary = Tokenizer.train(
            targets, model_type=config.tokenizer.model_type, vocab_size=config.tokenizer.vocab_size
        )
        return TokenizerPair(vocabulary, vocabulary)
    return train_tokenizer_pair(config.tokenizer, (pair.source for pair in sample), targets)


# --- vocabularies


def load_or_train_tokenizers(directory: Path, train: Callable[[], TokenizerPair]) -> TokenizerPair:
    """The vocabularies in a directory; if there are none yet, they are trained and written there."""
    paths = [directory / "source.spm", directory / "target.spm"]
    if all(path.exists() for path in paths):
        return TokenizerPair.from_bytes(*(read_input(path, max_bytes=MAX_METADATA_BYTES) for path in paths))
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

"""`Tokenizer`: text to ids and back by a sentencepiece model; `HuggingFaceTokenizer`: by that of an imported model;
`TokenizerPair`: the tokenizers of source and target.

Most words of a text occur again, and no piece crosses a space, so the ids of every word are cached.
"""

import json
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from random import Random
from typing import Any, Self

from sentencepiece import SentencePieceProcessor

from regard.config import TokenizerConfig
from regard.errors import RegardError
from regard.special_tokens import BEGIN, END, MASK, PADDING, RESERVED, UNKNOWN
from regard.tokenization.sentencepiece_training import ModelType, train_sentencepiece
from regard.tokenization.subword_sampling import MAX_SAMPLED_WORD_LENGTH, BpeDropout, UnigramSampler
from regard.tokenization.text import WORD_MARK, is_unknown_word, normalize

ID_BYTES = 4  # an id is stored as a little-endian 32-bit number
SKIPPED = {PADDING, BEGIN, END, MASK}  # when ids of an imported tokenizer are decoded
TOKENIZERS_HINT = "pip install 'regard[hf]'"
MAX_CACHED_WORDS = 1 << 16  # the first words, which are the common ones: some 10 MB
MAX_CACHED_WORD_LENGTH = 64  # characters; longer words (URLs, tables) rarely occur again


class WordCache(dict[str, bytes]):
    """From a word, normalised or not, to the bytes of its ids; a missing word is tokenised on access."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        super().__init__()
        self._processor = processor
        unused = (index for index in range(processor.get_piece_size()) if processor.is_unused(index))
        self._unused = {processor.id_to_piece(index): index for index in unused}

    def __missing__(self, word: str) -> bytes:
        # One by one: sentencepiece joins neighbouring unknown words into one <unk>; here each has its own.
        ids = [token_id for part in normalize(word).split() for token_id in self._encode_part(part)]
        encoded = struct.pack(f"<{len(ids)}i", *ids)
        if len(self) < MAX_CACHED_WORDS and len(word) <= MAX_CACHED_WORD_LENGTH:
            self[word] = encoded
        return encoded

    def _encode_part(self, part: str) -> list[int]:
        """The ids of a word; characters that are unknown here may be a piece of the other side of an imported model,
        as Marian and CTranslate2 find them: by their text.
        """
        ids: list[int] = self._processor.encode(part)
        if self._unused and UNKNOWN in ids:
            surfaces = self._processor.encode(part, out_type=str)
            pairs = zip(ids, surfaces, strict=True)
            ids = [self._unused.get(text, UNKNOWN) if token_id == UNKNOWN else token_id for token_id, text in pairs]
        return ids

    def encode(self, text: str) -> bytes:
        """The ids of all words of a text."""
        return b"".join(map(self.__getitem__, text.split()))


def ids_from_bytes(row: bytes) -> list[int]:
    """Ids from their bytes."""
    return list(struct.unpack(f"<{len(row) // ID_BYTES}i", row))


@dataclass(frozen=True)
class Tokenizer:
    """A sentencepiece model; two tokenizers are equal exactly if their bytes are."""

    model: bytes = field(repr=False)
    _processor: SentencePieceProcessor = field(init=False, repr=False, compare=False)
    _pieces: list[str] = field(init=False, repr=False, compare=False)
    _word_cache: WordCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            if not self.model:
                raise ValueError("no bytes")
            processor = SentencePieceProcessor(model_proto=self.model)
            pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
            processor.decode([UNKNOWN])  # the text of <unk> is stored apart from the pieces
        except (RuntimeError, ValueError, TypeError, IndexError):
            raise RegardError(
                "the vocabulary cannot be read: it is not a sentencepiece model, or it is damaged. Restore the file, "
                "or train a new vocabulary."
            ) from None
        if pieces[: len(RESERVED)] != list(RESERVED):
            raise RegardError(
                f"the vocabulary begins with {pieces[: len(RESERVED)]}; regard reserves {list(RESERVED)} as its first "
                "ids. Train the vocabulary with regard."
            )
        object.__setattr__(self, "_processor", processor)
        object.__setattr__(self, "_pieces", pieces)
        object.__setattr__(self, "_word_cache", WordCache(processor))

    @classmethod
    def train(cls, lines: Iterable[str], *, model_type: ModelType = "unigram", vocab_size: int = 8000) -> Self:
        """Train a vocabulary of at most `vocab_size` pieces on the lines."""
        return cls(train_sentencepiece(lines, model_type=model_type, vocab_size=vocab_size))

    @classmethod
    def from_bytes(cls, model: bytes) -> "Tokenizer":
        """Read the bytes of `to_bytes`: a sentencepiece model, or the JSON of an imported tokenizer."""
        return HuggingFaceTokenizer(model) if model.startswith(b"{") else cls(model)

    def to_bytes(self) -> bytes:
        """The sentencepiece model, which any program with sentencepiece can read."""
        return self.model

    @property
    def vocab_size(self) -> int:
        """The number of pieces, including the reserved ones."""
        return len(self._pieces)

    @property
    def vocabulary(self) -> list[str]:
        """Every piece as in the model file, in the order of the ids."""
        return list(self._pieces)

    @property
    def mask_text(self) -> str | None:
        """The text that the tokenizer itself reads as MASK; None: it has none."""
        return None

    @cached_property
    def model_type(self) -> ModelType:
        """The algorithm of the vocabulary, inferred from its pieces: sentencepiece does not expose it."""
        try:
            self._processor.nbest_encode("a", nbest_size=1)
        except RuntimeError:  # only the unigram model has n-best segmentations
            pass
        else:
            return "unigram"
        learned = [piece for piece in self._pieces[len(RESERVED) :] if not re.fullmatch("<0x[0-9A-F]{2}>", piece)]
        if all(piece.startswith(WORD_MARK) and piece != WORD_MARK for piece in learned):
            return "word"
        return "char" if all(len(piece) == 1 for piece in learned) else "bpe"

    def encode(self, text: str) -> list[int]:
        """The ids of the normalised text, without BEGIN and END."""
        return ids_from_bytes(self._word_cache.encode(text))

    def unknown_words(self, text: str) -> list[str]:
        """The distinct words of the text that the vocabulary has no pieces for: bytes, `<unk>`, or letter by letter."""
        return [
            word
            for word in dict.fromkeys(normalize(text).split())
            if is_unknown_word(self.pieces(self.encode(word)), by_letter=self.model_type in ("unigram", "bpe"))
        ]

    def whole_words(self) -> list[str]:
        """The words that are one piece, in alphabetical order."""
        words = (piece.removeprefix(WORD_MARK) for piece in self._pieces if piece.startswith(WORD_MARK))
        return sorted((word for word in words if any(map(str.isalpha, word))), key=lambda word: (word.lower(), word))

    def encode_to_bytes(self, texts: Iterable[str]) -> list[bytes]:
        """The ids of each text as little-endian 32-bit numbers, as they are stored in files."""
        return list(map(self._word_cache.encode, texts))

    def encode_sampled(self, text: str, seed: int) -> list[int]:
        """The ids of a random segmentation that decodes to the same text; deterministic for the same text and seed.

        The model types `char` and `word` have only one segmentation, that of `encode`.
        """
        sampler, rng = self._sampler, Random(seed)  # noqa: S311  (repeatable, not secret)
        if sampler is None:
            return self.encode(text)
        ids: list[int] = []
        for word in normalize(text).split():
            ids += sampler.sample(word, rng) if len(word) <= MAX_SAMPLED_WORD_LENGTH else self._processor.encode(word)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, on a single line; padding, BEGIN, END and MASK are skipped."""
        plain = self._check_ids(ids)
        return " ".join(self._processor.decode(plain).split()) if plain else ""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id as in the vocabulary, with `▁` before a word."""
        unknown = self._pieces[UNKNOWN] if self.model_type != "word" else WORD_MARK + self._pieces[UNKNOWN]
        return [unknown if identity == UNKNOWN else self._pieces[identity] for identity in self._check_ids(ids)]

    @cached_property
    def _sampler(self) -> UnigramSampler | BpeDropout | None:
        if self.model_type == "unigram":
            return UnigramSampler(self._processor)
        return BpeDropout(self._processor) if self.model_type == "bpe" else None

    def _check_ids(self, ids: Sequence[int]) -> list[int]:
        plain = [int(identity) for identity in ids]
        if plain and not 0 <= min(plain) <= max(plain) < self.vocab_size:  # five times as fast as a loop
            unknown_id = next(identity for identity in plain if not 0 <= identity < self.vocab_size)
            raise RegardError(
                f"id {unknown_id} is not in the vocabulary, whose ids are 0 to {self.vocab_size - 1}. "
                "Use the vocabulary that encoded the text."
            )
        return plain


@dataclass(frozen=True)
class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer of the `tokenizers` package: WordPiece, byte-level BPE or unigram of an imported model.

    Its bytes are a tokenizer.json with the ids in our order, the pieces as we write them (`▁` before a word), and the
    original ids, which an export needs.
    """

    settings: dict[str, Any] = field(init=False, repr=False, compare=False)
    _backend: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            from tokenizers import Tokenizer as Backend
        except ImportError:
            raise RegardError(f"this model's tokenizer needs the package tokenizers: {TOKENIZERS_HINT}") from None
        try:
            settings = json.loads(self.model)
            backend = Backend.from_str(json.dumps(settings["tokenizer"]))
            pieces: list[str] = settings["pieces"]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the package raises Exception itself, and a panic of Rust is no Exception
            raise RegardError(f"the tokenizer cannot be read: {error}. Restore the file from a copy.") from None
        if pieces[: len(RESERVED)] != list(RESERVED) or len(set(pieces)) != len(pieces):
            raise RegardError("the tokenizer's pieces do not begin with the reserved ones, or repeat. Import it again.")
        backend.no_truncation()
        backend.no_padding()
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "_backend", backend)
        object.__setattr__(self, "_pieces", pieces)

    @property
    def original_ids(self) -> list[int]:
        """The id of each piece in the program that the model was imported from; -1: it has none there."""
        return list(self.settings["original_ids"])

    @property
    def model_type(self) -> ModelType:
        return "unigram" if self.settings["tokenizer"]["model"]["type"] == "Unigram" else "bpe"

    @property
    def mask_text(self) -> str | None:
        """The text that stands for MASK; None if the model has no such token."""
        return self.settings["mask"]  # type: ignore[no-any-return]

    def encode(self, text: str) -> list[int]:
        normalize(text)  # one half of a surrogate pair is an error
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return [BEGIN, *ids] if self.settings["adds_begin"] else ids

    def encode_to_bytes(self, texts: Iterable[str]) -> list[bytes]:
        return [struct.pack(f"<{len(ids)}i", *ids) for ids in map(self.encode, texts)]

    def encode_sampled(self, text: str, seed: int) -> list[int]:  # noqa: ARG002  (it has one segmentation)
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        plain = [identity for identity in self._check_ids(ids) if identity not in SKIPPED]
        return " ".join(self._backend.decode(plain, skip_special_tokens=False).split())

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[identity] for identity in self._check_ids(ids)]


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of source and target."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def from_bytes(cls, source: bytes, target: bytes) -> Self:
        """Read the bytes of both; if they are equal, both sides are one object."""
        first = Tokenizer.from_bytes(source)
        return cls(first, first if source == target else Tokenizer.from_bytes(target))

    @property
    def shared(self) -> bool:
        """Whether both sides have the same vocabulary, so that they may share an embedding table."""
        return self.source == self.target or self.source.vocabulary == self.target.vocabulary


def train_tokenizer_pair(
    config: TokenizerConfig, source_lines: Iterable[str], target_lines: Iterable[str]
) -> TokenizerPair:
    """Train one vocabulary on both sides if the config shares it, else one on each."""

    def train(lines: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(lines, model_type=config.model_type, vocab_size=config.vocab_size)

    if config.shared:
        both = train(chain(source_lines, target_lines))
        return TokenizerPair(source=both, target=both)
    return TokenizerPair(source=train(source_lines), target=train(target_lines))


def train_label_tokenizers(labels: Sequence[str]) -> TokenizerPair:
    """A vocabulary of the characters of the labels, for a classifier of images: every saved model has one."""
    size = len(RESERVED) + 1 + len(set("".join(labels)) - {" "})  # and the mark of a word
    vocabulary = Tokenizer.train(labels, model_type="char", vocab_size=size)
    return TokenizerPair(vocabulary, vocabulary)

"""Text to ids and back: a frozen vocabulary whose bytes are a plain sentencepiece model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Self

from sentencepiece import SentencePieceProcessor

from regard.errors import RegardError
from regard.symbols import RESERVED, UNKNOWN
from regard.tokens.remembered import RememberedCuts, ids_of
from regard.tokens.sampling import LONGEST_CUT, MergeCuts, UnigramCuts
from regard.tokens.text import WORD_MARK, normalise
from regard.tokens.vocabulary import Kind, learn

_DAMAGED = (
    "the vocabulary cannot be read: it is not a sentencepiece model, or it is damaged. "
    "Restore the file, or train a new vocabulary."
)


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary: equal to another one exactly if their bytes are equal."""

    model: bytes = field(repr=False)
    _processor: SentencePieceProcessor = field(init=False, repr=False, compare=False)
    _pieces: list[str] = field(init=False, repr=False, compare=False)
    _remembered: RememberedCuts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        processor = _loaded(self.model)
        object.__setattr__(self, "_processor", processor)
        object.__setattr__(self, "_pieces", _checked_pieces(processor))
        object.__setattr__(self, "_remembered", RememberedCuts(processor))

    @classmethod
    def train(cls, lines: Iterable[str], *, kind: Kind = "unigram", size: int = 8000) -> Self:
        """A vocabulary of at most `size` pieces learnt from the lines."""
        return cls(learn(lines, kind=kind, size=size))

    @classmethod
    def from_bytes(cls, model: bytes) -> Self:
        """The vocabulary that `to_bytes` wrote."""
        return cls(model)

    def to_bytes(self) -> bytes:
        """A sentencepiece model, which any program that knows sentencepiece can read."""
        return self.model

    @property
    def size(self) -> int:
        """The number of pieces, the reserved ones included; ids are below it."""
        return len(self._pieces)

    @property
    def vocabulary(self) -> list[str]:
        """Every piece as the model file writes it, in the order of the ids."""
        return list(self._pieces)

    @cached_property
    def kind(self) -> Kind:
        """How the vocabulary cuts text, found from what it holds, since the model file does not tell."""
        if _can_rank_cuts(self._processor):
            return "unigram"
        learnt = [piece for piece in self._pieces[len(RESERVED) :] if not _is_byte(piece)]
        if all(piece.startswith(WORD_MARK) and piece != WORD_MARK for piece in learnt):
            return "word"
        return "char" if all(len(piece) == 1 for piece in learnt) else "bpe"

    def encode(self, text: str) -> list[int]:
        """The ids of the text in its normal form; neither BEGIN nor END is added."""
        return ids_of(self._remembered.row(text))

    def encode_rows(self, texts: Iterable[str]) -> list[bytes]:
        """What `encode` gives for each text, as the bytes of little-endian 32-bit numbers: what a file holds."""
        return list(map(self._remembered.row, texts))

    def encode_sampled(self, text: str, seed: int) -> list[int]:
        """The ids of a random cut that decodes to the same text: the same for the same text and seed.

        Characters and whole words have only one cut, the one of `encode`.
        """
        cuts, chance = self._cuts, Random(seed)  # noqa: S311  (repeatable, not secret)
        if cuts is None:
            return self.encode(text)
        ids: list[int] = []
        for word in normalise(text).split():
            ids += cuts.draw(word, chance) if len(word) <= LONGEST_CUT else self._processor.encode(word)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids on a single line; padding, BEGIN, END and MASK leave no trace."""
        plain = self._checked(ids)
        return " ".join(self._processor.decode(plain).split()) if plain else ""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id as the vocabulary writes it, `▁` before a word."""
        unknown = self._pieces[UNKNOWN] if self.kind != "word" else WORD_MARK + self._pieces[UNKNOWN]
        return [unknown if identity == UNKNOWN else self._pieces[identity] for identity in self._checked(ids)]

    @cached_property
    def _cuts(self) -> UnigramCuts | MergeCuts | None:
        if self.kind == "unigram":
            return UnigramCuts(self._processor)
        return MergeCuts(self._processor) if self.kind == "bpe" else None

    def _checked(self, ids: Sequence[int]) -> list[int]:
        plain = [int(identity) for identity in ids]
        if plain and not 0 <= min(plain) <= max(plain) < self.size:  # a loop that names the one is five times slower
            strange = next(identity for identity in plain if not 0 <= identity < self.size)
            raise RegardError(
                f"id {strange} is not in the vocabulary, whose ids are 0 to {self.size - 1}. "
                "Use the vocabulary that the ids were made with."
            )
        return plain


def _loaded(model: bytes) -> SentencePieceProcessor:
    try:
        if not model:
            raise ValueError("no bytes")
        return SentencePieceProcessor(model_proto=model)
    except (RuntimeError, ValueError, TypeError):
        raise RegardError(_DAMAGED) from None


def _checked_pieces(processor: SentencePieceProcessor) -> list[str]:
    try:
        pieces: list[str] = processor.id_to_piece(list(range(processor.get_piece_size())))
        processor.decode([UNKNOWN])  # how an unknown piece is shown is stored apart from the pieces
    except (UnicodeDecodeError, IndexError):
        raise RegardError(_DAMAGED) from None
    if pieces[: len(RESERVED)] != list(RESERVED):
        raise RegardError(
            f"the vocabulary begins with {pieces[: len(RESERVED)]}; regard reserves {list(RESERVED)} as its first ids. "
            "Train the vocabulary with regard."
        )
    return pieces


def _can_rank_cuts(processor: SentencePieceProcessor) -> bool:
    try:
        processor.nbest_encode("a", nbest_size=1)
    except RuntimeError:
        return False
    return True


def _is_byte(piece: str) -> bool:
    return len(piece) == len("<0x00>") and piece.startswith("<0x")

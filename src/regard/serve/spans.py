"""Where words stand: links between words as ranges of characters of the text that was given."""

from collections.abc import Sequence

import msgspec

from regard.tokens.text import WORD
from regard.translation.alignment import Alignment
from regard.translation.translator import Translation


class Word(msgspec.Struct, frozen=True):
    """A word, and the characters it stands on: from `start`, before `end`."""

    text: str
    start: int
    end: int


class WordLinks(msgspec.Struct, frozen=True, kw_only=True):
    """The words of both sides, and the links [source word, target word] between them."""

    links: list[tuple[int, int]]
    source_words: list[Word]
    target_words: list[Word]


class TranslationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the API says of one output."""

    text: str
    score: float
    log_probability: float
    alignment: WordLinks | None = None
    is_cut: bool = False
    is_ended: bool = True


def record_of(text: str, output: Translation) -> TranslationRecord:
    """The record of an output for a text."""
    alignment = None if output.alignment is None else links_of(text, output.text, output.alignment)
    return TranslationRecord(
        text=output.text,
        score=output.score,
        log_probability=output.log_probability,
        alignment=alignment,
        is_cut=output.is_cut,
        is_ended=output.is_ended,
    )


def links_of(source: str, target: str, alignment: Alignment) -> WordLinks:
    """The links of an alignment, its words found in the texts."""
    return WordLinks(
        links=sorted(alignment.links),
        source_words=words_in(source, alignment.source_words),
        target_words=words_in(target, alignment.target_words),
    )


def words_in(text: str, words: Sequence[str]) -> list[Word]:
    """Each word with its place; a word that the text does not have (a model may end in a lone mark) is empty."""
    found = [match.span() for match in WORD.finditer(text)][: len(words)]
    found += [(len(text), len(text))] * (len(words) - len(found))
    return [Word(text[start:end], start, end) for start, end in found]

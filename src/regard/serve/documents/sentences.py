"""Text to sentences: parts that, put one after the other, are the text again to the last character.

A sentence ends at a line's end, or where a full stop, a question or exclamation mark or an ellipsis, and the quotes and
brackets that close after it, are followed by white space. The rules below say which of these ends are none: `Mr. Kim`,
`U.S. troops`, `2024. 3. 5.`, `"Really?" she asked`. The marks of Chinese and Japanese need no white space after them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.serve.documents.abbreviations import (
    ALWAYS_CONTINUED,
    BEFORE_NAMES,
    BEFORE_NUMBERS,
    FIRST_WORDS,
    SOMETIMES_LAST,
)

WIDE_ENDS = "。！？｡"  # of Chinese and Japanese sentences
_CLOSING = re.escape("\"'”’»›)]}」』】〉》〕）］｝*_")
_OPENING = "\"'“‘«‹([{「『【〈《〔（［｛¿¡-–—*_"
_LINE_ENDS = frozenset("\n\r\v\f\x85\u2028\u2029")
_NEAR = 64  # characters that are looked at before a possible end, so that no text takes more than linear time
_POSSIBLE_END = re.compile(rf"\s++|[{WIDE_ENDS}]++(?![\s{_CLOSING}]|\Z)")
_MARKS = re.compile(rf"([.!?…‥{WIDE_ENDS}]++)[{_CLOSING}]*\Z")
_LIST_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivx]{1,4})\.", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|[^\W\d_a-z가-힣]")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of text: a sentence, or the white space before, after and between sentences."""

    text: str
    is_sentence: bool


def split_sentences(text: str, *, lines_end: bool = True) -> list[Part]:
    """The sentences and what stands between them, in order; nothing is lost and nothing is changed.

    Without `lines_end` a line's end is white space like any other, as it is in HTML.
    """
    parts, position = [], 0
    for start, end in _sentences(text, lines_end):
        parts += [Part(text[position:start], is_sentence=False), Part(text[start:end], is_sentence=True)]
        position = end
    parts.append(Part(text[position:], is_sentence=False))
    return [part for part in parts if part.text]


def one_sentence(text: str) -> list[Part]:
    """The text as a single sentence, without the white space around it."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    parts = [Part(text[:start], is_sentence=False), Part(text[start:end], is_sentence=True)]
    return [part for part in (*parts, Part(text[end:], is_sentence=False)) if part.text]


def _sentences(text: str, lines_end: bool) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _POSSIBLE_END.finditer(text):
        if not match[0][0].isspace():
            yield start, match.end()
        elif match.end() == len(text) or match.start() == start or _ends(text, start, match, lines_end):
            if match.start() > start:
                yield start, match.start()
        else:
            continue
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _ends(text: str, start: int, gap: re.Match[str], lines_end: bool) -> bool:
    """Whether the sentence that began at `start` is over before this white space."""
    if lines_end and not _LINE_ENDS.isdisjoint(gap[0]):
        return True
    marks = _MARKS.search(text, max(start, gap.start() - _NEAR), gap.start())
    if marks is None:
        return False
    following = text[gap.end() : gap.end() + _NEAR].lstrip(_OPENING)
    if following[:1].islower():
        return False
    return marks[1] != "." or _ends_at_full_stop(text[max(start, marks.start() - _NEAR) : marks.start()], following)


def _ends_at_full_stop(before: str, following: str) -> bool:
    """Whether a single full stop after `before` is the end of a sentence, and not part of a number or a word."""
    if _LIST_NUMBER.fullmatch(before + "."):
        return False
    word = before.split()[-1].lstrip(_OPENING) if before.split() else ""
    if word.lower() in BEFORE_NUMBERS or word.isdigit():
        return not following[:1].isdigit()
    if word in BEFORE_NAMES or word.lower() in ALWAYS_CONTINUED:
        return False
    if word.lower() in SOMETIMES_LAST or _INITIALS.fullmatch(word):
        return following.split(maxsplit=1)[:1] != [] and following.split(maxsplit=1)[0] in FIRST_WORDS
    return True

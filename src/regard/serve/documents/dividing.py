"""A sentence that a model cannot read as one, cut after a clause, else between words, else anywhere."""

import re
import unicodedata
from collections.abc import Callable

from regard.serve.documents.sentences import Part

LONGEST_SENTENCE = 600  # characters; hardly a sentence is longer, and models read longer ones badly
_CLAUSE_GAP = re.compile(r"(?<=[,;:，、；：—–])\s+|(?<=[，、；：])(?=\S)")
_GAP = re.compile(r"\s+")


def divide(sentence: str, longest: int = LONGEST_SENTENCE) -> list[Part]:
    """The sentence as stretches of at most `longest` characters, with the white space between them."""
    parts, position = [], 0
    while len(sentence) - position > longest:
        start, end = _cut(sentence, position, longest)
        parts += [Part(sentence[position:start], is_sentence=True), Part(sentence[start:end], is_sentence=False)]
        position = end
    parts.append(Part(sentence[position:], is_sentence=True))
    return [part for part in parts if part.text]


def divide_until(sentence: str, fits: Callable[[str], bool]) -> list[Part]:
    """The sentence as stretches that fit; a single character is never cut."""
    parts: list[Part] = []
    waiting = divide(sentence)[::-1]
    while waiting:
        part = waiting.pop()
        if not part.is_sentence or len(part.text) == 1 or fits(part.text):
            parts.append(part)
        else:
            waiting += divide(part.text, (len(part.text) + 1) // 2)[::-1]
    return parts


def _cut(text: str, position: int, longest: int) -> tuple[int, int]:
    """Where the gap between this stretch and the next one begins and ends."""
    for gaps in (_CLAUSE_GAP, _GAP):
        # A stretch of one word and another of a hundred would serve nobody: the first third is kept together.
        found = list(gaps.finditer(text, position + max(1, longest // 3), position + longest))
        if found:
            return found[-1].span()
    end = position + longest
    while end > position + 1 and unicodedata.combining(text[end]):
        end -= 1
    return end, end

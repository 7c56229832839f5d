"""Text to sentences: parts that, joined, are the text again to the last character.

A sentence ends at a line break, or where a full stop, a question or exclamation mark or an ellipsis, with closing
quotes and brackets, is followed by white space. The rules below list the exceptions: `Mr. Kim`, `U.S. troops`,
`2024. 3. 5.`, `"Really?" she asked`. The marks of Chinese and Japanese need no white space after them. A sentence that
is too long for the model is split after a clause, else between words, else anywhere.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Before a name. Case matters: "gen." can end a sentence, "Gen." cannot.
TITLES: Final = _split_words(
    """
    Mr Mrs Ms Mx Dr Prof Rev Hon St Gen Col Capt Lt Sgt Cmdr Sen Rep Gov Pres Messrs Fr Hr Hrn Frl M MM Mme Mlle
    Sr Sra Srta Dña Ing Avv Sig Dott
    """
)

# Abbreviations only before a number: "No. 5", but "she said no."
BEFORE_NUMBERS: Final = _split_words(
    """
    no nos nr fig figs eq eqs sec secs ch chap vol vols p pp art abb bd tel ext ca approx jan feb mar apr jun jul
    aug sep sept oct nov dec
    """
)

# Never the last word of a sentence.
NEVER_FINAL: Final = _split_words("e.g i.e cf viz vs al z.b d.h u.a bzw vgl ggf evtl inkl p.ex")

# In the middle of a sentence or at its end; the next word decides, as for "U.S." and "J."
SOMETIMES_FINAL: Final = _split_words("etc usw inc ltd co corp bros dept est jr sr ph.d")

# Words that hardly ever have a capital letter except at the beginning of a sentence.
SENTENCE_STARTERS: Final = _split_words(
    """
    The A An This That These Those There Here It He She They We You I His Her Its Their Our My Your In On At By
    For From With After Before When While Where If Although But And Or So Then However What Who Why How No Not As
    Der Die Das Ein Eine Er Sie Es Wir Ich Le La Les Un Une Il Elle Nous Vous El Los Una
    """
)

FULL_WIDTH_ENDS = "。！？｡"  # of Chinese and Japanese sentences
_CLOSING = re.escape("\"'”’»›)]}」』】〉》〕）］｝*_")
_OPENING = "\"'“‘«‹([{「『【〈《〔（［｛¿¡-–—*_"
_LINE_ENDS = frozenset("\n\r\v\f\x85\u2028\u2029")
_NEAR = 64  # characters checked before a possible end, so that every text takes linear time
_POSSIBLE_END = re.compile(rf"\s++|(?<![{FULL_WIDTH_ENDS}])[{FULL_WIDTH_ENDS}]++(?![\s{_CLOSING}]|\Z)")
_MARKS = re.compile(rf"([.!?…‥{FULL_WIDTH_ENDS}]++)[{_CLOSING}]*\Z")
_LIST_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivx]{1,4})\.", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|[^\W\d_a-z가-힣]")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text: a sentence, or the white space before, after and between sentences."""

    text: str
    is_sentence: bool


def split_sentences(text: str, *, break_at_newlines: bool = True) -> list[TextPart]:
    """The sentences and the white space between them, in order; joined, they are the text.

    Without `break_at_newlines` a line break is ordinary white space, as in HTML.
    """
    parts, position = [], 0
    for start, end in _sentence_ranges(text, break_at_newlines):
        parts += [TextPart(text[position:start], is_sentence=False), TextPart(text[start:end], is_sentence=True)]
        position = end
    parts.append(TextPart(text[position:], is_sentence=False))
    return [part for part in parts if part.text]


def as_one_sentence(text: str) -> list[TextPart]:
    """The text as a single sentence, without the white space around it."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    parts = [TextPart(text[:start], is_sentence=False), TextPart(text[start:end], is_sentence=True)]
    return [part for part in (*parts, TextPart(text[end:], is_sentence=False)) if part.text]


def _sentence_ranges(text: str, break_at_newlines: bool) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _POSSIBLE_END.finditer(text):
        if not match[0][0].isspace():
            yield start, match.end()
        elif (
            match.end() == len(text)
            or match.start() == start
            or _is_sentence_end(text, start, match, break_at_newlines)
        ):
            if match.start() > start:
                yield start, match.start()
        else:
            continue
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _is_sentence_end(text: str, start: int, gap: re.Match[str], break_at_newlines: bool) -> bool:
    """Whether the sentence that began at `start` is over before this white space."""
    if break_at_newlines and not _LINE_ENDS.isdisjoint(gap[0]):
        return True
    marks = _MARKS.search(text, max(start, gap.start() - _NEAR), gap.start())
    if marks is None:
        return False
    following = text[gap.end() : gap.end() + _NEAR].lstrip(_OPENING)
    if following[:1].islower():
        return False
    return marks[1] != "." or _is_end_at_full_stop(text[max(start, marks.start() - _NEAR) : marks.start()], following)


def _is_end_at_full_stop(before: str, following: str) -> bool:
    """Whether a single full stop after `before` is the end of a sentence, and not part of a number or a word."""
    if _LIST_NUMBER.fullmatch(before + "."):
        return False
    word = before.split()[-1].lstrip(_OPENING) if before.split() else ""
    if word.lower() in BEFORE_NUMBERS or word.isdigit():
        return not following[:1].isdigit()
    if word in TITLES or word.lower() in NEVER_FINAL:
        return False
    if word.lower() in SOMETIMES_FINAL or _INITIALS.fullmatch(word):
        return following.split(maxsplit=1)[:1] != [] and following.split(maxsplit=1)[0] in SENTENCE_STARTERS
    return True


MAX_SENTENCE_CHARACTERS = 600  # few sentences are longer, and models translate longer ones badly
_CLAUSE_GAP = re.compile(r"(?<=[,;:，、；：—–])\s+|(?<=[，、；：])(?=\S)")
_GAP = re.compile(r"\s+")


def split_at_clauses(sentence: str, max_characters: int = MAX_SENTENCE_CHARACTERS) -> list[TextPart]:
    """The sentence as parts of at most `max_characters` characters, with the white space between them."""
    parts, position = [], 0
    while len(sentence) - position > max_characters:
        start, end = _find_gap(sentence, position, max_characters)
        parts += [
            TextPart(sentence[position:start], is_sentence=True),
            TextPart(sentence[start:end], is_sentence=False),
        ]
        position = end
    parts.append(TextPart(sentence[position:], is_sentence=True))
    return [part for part in parts if part.text]


def split_long_sentence(sentence: str, fits: Callable[[str], bool]) -> list[TextPart]:
    """The sentence as parts that fit; a single character is never split."""
    parts: list[TextPart] = []
    waiting = split_at_clauses(sentence)[::-1]
    while waiting:
        part = waiting.pop()
        if not part.is_sentence or len(part.text) == 1 or fits(part.text):
            parts.append(part)
        else:
            waiting += split_at_clauses(part.text, (len(part.text) + 1) // 2)[::-1]
    return parts


def _find_gap(text: str, position: int, max_characters: int) -> tuple[int, int]:
    """The start and end of the gap between this part and the next one."""
    for gaps in (_CLAUSE_GAP, _GAP):
        # Not within the first third: a part of one word would translate badly.
        found = list(gaps.finditer(text, position + max(1, max_characters // 3), position + max_characters))
        if found:
            return found[-1].span()
    end = position + max_characters
    while end > position + 1 and unicodedata.combining(text[end]):
        end -= 1
    return end, end

"""Put markup back into a translation, around the words that are aligned with the marked words of the source.

A span extends from the first to the last target word that is aligned with one of its source words. Whatever the
alignment is, every span appears exactly once and inside its parent: a translated document has the tags of its source,
each as often, and properly nested.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from regard.documents.template import Span

CharacterRange = tuple[int, int]
_MARKS = frozenset(".,;:!?…。、，")


@dataclass(frozen=True, slots=True)
class AlignedRange:
    """Character ranges of source and target that belong together."""

    source: CharacterRange
    target: CharacterRange


@dataclass(frozen=True)
class AlignedText:
    """The text of a segment, its translation, and their aligned ranges, in the order of the source.

    The parts cover both texts: they are sentences and the white space between them. `words` has the source words that
    are the best match of some target word; `ambiguous_ranges` has all words, for spans without such a word.
    """

    source: str
    target: str
    parts: Sequence[AlignedRange]
    words: Sequence[AlignedRange]
    ambiguous_ranges: Sequence[AlignedRange]


def project_markup(spans: Sequence[Span], texts: AlignedText, escape: Callable[[str], str]) -> str:
    """The translation with its markup."""
    children: list[list[int]] = [[] for _ in range(len(spans) + 1)]  # the last list: of those without a parent
    for index, span in enumerate(spans):
        children[span.parent].append(index)
    places = _nest_ranges(_target_ranges(spans, texts), children, len(texts.target))
    pieces, position = [], 0
    for place, markup in _tag_events(spans, places, children, texts.source):
        pieces += [escape(texts.target[position:place]), markup]
        position = place
    return "".join([*pieces, escape(texts.target[position:])])


class RangeHulls:
    """The smallest range that holds the targets of the links from one index up to another, found in a few steps."""

    def __init__(self, links: Sequence[AlignedRange]) -> None:
        self.starts, self.ends = [link.source[0] for link in links], [link.source[1] for link in links]
        firsts = np.array([link.target[0] for link in links], dtype=np.int64)
        lasts = np.array([link.target[1] for link in links], dtype=np.int64)
        self._tables = [(firsts, lasts)]  # table n: for each index, over the 2**n links from there
        width = 1
        while 2 * width <= len(links):
            firsts = np.minimum(firsts[:-width], firsts[width:])
            lasts = np.maximum(lasts[:-width], lasts[width:])
            self._tables.append((firsts, lasts))
            width *= 2

    def touched(self, span: Span) -> list[CharacterRange]:
        """The hull of the links whose source the span touches, or nothing."""
        return self.over(bisect_right(self.ends, span.start), bisect_left(self.starts, span.end))

    def over(self, first: int, end: int) -> list[CharacterRange]:
        """The hull of links[first:end], or nothing."""
        if first >= end:
            return []
        power = (end - first).bit_length() - 1
        firsts, lasts = self._tables[power]
        other = end - 2**power
        return [(int(min(firsts[first], firsts[other])), int(max(lasts[first], lasts[other])))]


def _target_ranges(spans: Sequence[Span], texts: AlignedText) -> list[CharacterRange]:
    """The range of each span if it were the only one."""
    words, ambiguous_ranges, parts = map(RangeHulls, (texts.words, texts.ambiguous_ranges, texts.parts))
    wanted = []
    for span in spans:
        whole = bisect_left(parts.starts, span.start), bisect_right(parts.ends, span.end)
        # A span over a whole sentence takes all of its translation, words that belong to nothing included.
        hulls = [*words.touched(span), *parts.over(*whole)] or ambiguous_ranges.touched(span)
        if hulls and span.start < span.end:
            start, end = min(first for first, _ in hulls), max(last for _, last in hulls)
            # Without a last comma or full stop if the span had none: a word's range includes it.
            while end > start + 1 and texts.target[end - 1] in _MARKS and texts.source[span.end - 1] not in _MARKS:
                end -= 1
            wanted.append((start, end))
        else:
            place = _move_to_gap(span.start, texts, words, parts)
            wanted.append((place, place))
    return wanted


def _move_to_gap(position: int, texts: AlignedText, words: RangeHulls, parts: RangeHulls) -> int:
    """The position in the target of a position between two characters of the source."""
    if not texts.parts:
        return 0
    part = texts.parts[max(0, bisect_left(parts.starts, position) - 1)]
    if position >= part.source[1]:
        return part.target[1]
    if texts.source[part.source[0] : position].isspace() or position == part.source[0]:
        return min(part.target[0] + position - part.source[0], part.target[1])
    following = bisect_left(words.starts, position)
    beside = texts.words[following : following + 1], texts.words[max(0, following - 1) : following]
    is_before = texts.source[position - 1].isspace()  # before the next word, or after the word that it touches
    places = [link.target[0 if is_before else 1] for link in beside[0 if is_before else 1]]
    return min(max([part.target[0], *places]), part.target[1]) if places else part.target[1]


def _nest_ranges(wanted: list[CharacterRange], children: list[list[int]], length: int) -> list[CharacterRange]:
    """Ranges as close as possible to the wanted ones, inside that of the parent and apart from those of siblings.

    Sorts each list of children by their order in the output.
    """
    places = [*wanted, (0, length)]  # the last: the whole text, for children without a parent
    for parent in (-1, *range(len(wanted))):
        own = children[parent]
        own.sort(key=lambda child: (wanted[child], child))
        start, limit = places[parent]
        for child, following in zip_longest(own, own[1:]):
            first, last = wanted[child]
            if following is not None and first < wanted[following][0] < wanted[following][1]:
                last = min(last, wanted[following][0])
            start = min(max(first, start), limit)
            places[child] = (start, min(max(last, start), limit))
            start = places[child][1]
    return places


def _tag_events(
    spans: Sequence[Span], places: list[CharacterRange], children: list[list[int]], source: str
) -> list[tuple[int, str]]:
    """The positions and their markup, in order. With its own stack: documents nest deeper than Python calls may."""
    events: list[tuple[int, str]] = []
    stack = [(-1, iter(children[-1]))]
    while stack:
        parent, others = stack[-1]
        child = next(others, None)
        if child is not None:
            events.append((places[child][0], spans[child].opening))
            stack.append((child, iter(children[child])))
        else:
            stack.pop()
            if parent >= 0:
                events.append((places[parent][1], spans[parent].closing + _space_after(parent, spans, source)))
    return events


def _space_after(index: int, spans: Sequence[Span], source: str) -> str:
    """A space after a placeholder that had spaces on both sides, such as the %s of `open %s now`."""
    span = spans[index]
    is_inside = span.parent >= 0 and spans[span.parent].start == spans[span.parent].end
    around = source[span.start - 1 : span.start], source[span.end : span.end + 1]
    return " " if span.start == span.end and not is_inside and all(side.isspace() for side in around) else ""

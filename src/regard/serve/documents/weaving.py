"""Markup put back into a translation, around the words that the marked words of the source became.

Attention says which words belong together. A span goes from the first to the last target word that belongs to one of
its source words. Whatever attention says, every span comes out exactly once and inside its parent: a translated
document has the tags of its source, each as often, and properly nested.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from regard.serve.documents.blocks import Span

Range = tuple[int, int]
_MARKS = frozenset(".,;:!?…。、，")


@dataclass(frozen=True, slots=True)
class Link:
    """Character ranges of source and target that belong together."""

    source: Range
    target: Range


@dataclass(frozen=True)
class Woven:
    """A block's text, its translation, and what became what, in the order of the source.

    The parts cover both texts: they are sentences and what stands between them. Words are those of the sentences to
    which a target word belongs above all others; guesses are for all words, where nothing better is known.
    """

    source: str
    target: str
    parts: Sequence[Link]
    words: Sequence[Link]
    guesses: Sequence[Link]


def weave(spans: Sequence[Span], texts: Woven, escape: Callable[[str], str]) -> str:
    """The translation with its markup."""
    children: list[list[int]] = [[] for _ in range(len(spans) + 1)]  # the last list: of those without a parent
    for index, span in enumerate(spans):
        children[span.parent].append(index)
    places = _fitted(_wanted(spans, texts), children, len(texts.target))
    pieces, position = [], 0
    for place, markup in _events(spans, places, children, texts.source):
        pieces += [escape(texts.target[position:place]), markup]
        position = place
    return "".join([*pieces, escape(texts.target[position:])])


class _Hulls:
    """The smallest range that holds the targets of the links from one index up to another, found in a few steps."""

    def __init__(self, links: Sequence[Link]) -> None:
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

    def touched(self, span: Span) -> list[Range]:
        """The hull of the links whose source the span touches, or nothing."""
        return self.over(bisect_right(self.ends, span.start), bisect_left(self.starts, span.end))

    def over(self, first: int, end: int) -> list[Range]:
        """The hull of links[first:end], or nothing."""
        if first >= end:
            return []
        power = (end - first).bit_length() - 1
        firsts, lasts = self._tables[power]
        other = end - 2**power
        return [(int(min(firsts[first], firsts[other])), int(max(lasts[first], lasts[other])))]


def _wanted(spans: Sequence[Span], texts: Woven) -> list[Range]:
    """Where each span would go if it were alone."""
    words, guesses, parts = _Hulls(texts.words), _Hulls(texts.guesses), _Hulls(texts.parts)
    wanted = []
    for span in spans:
        whole = bisect_left(parts.starts, span.start), bisect_right(parts.ends, span.end)
        # A span over a whole sentence takes all of its translation, words that belong to nothing included.
        hulls = [*words.touched(span), *parts.over(*whole)] or guesses.touched(span)
        if hulls and span.start < span.end:
            hull = min(first for first, _ in hulls), max(last for _, last in hulls)
            wanted.append(_without_marks(span, hull, texts))
        else:
            place = _place(span.start, texts, words, parts)
            wanted.append((place, place))
    return wanted


def _without_marks(span: Span, hull: Range, texts: Woven) -> Range:
    """The range without a last comma or full stop, if the span had none: a word's range includes it."""
    start, end = hull
    while end > start + 1 and texts.target[end - 1] in _MARKS and texts.source[span.end - 1] not in _MARKS:
        end -= 1
    return start, end


def _place(position: int, texts: Woven, words: _Hulls, parts: _Hulls) -> int:
    """Where something goes that stands between two characters of the source."""
    if not texts.parts:
        return 0
    part = texts.parts[max(0, bisect_left(parts.starts, position) - 1)]
    if position >= part.source[1]:
        return part.target[1]
    if texts.source[part.source[0] : position].isspace() or position == part.source[0]:
        return min(part.target[0] + position - part.source[0], part.target[1])
    following = bisect_left(words.starts, position)
    beside = texts.words[following : following + 1], texts.words[max(0, following - 1) : following]
    is_before = texts.source[position - 1].isspace()  # before the word that follows, or behind the one that it touches
    places = [link.target[0 if is_before else 1] for link in beside[0 if is_before else 1]]
    return min(max([part.target[0], *places]), part.target[1]) if places else part.target[1]


def _fitted(wanted: list[Range], children: list[list[int]], length: int) -> list[Range]:
    """Ranges as near as may be to those wanted: inside the parent's, and beside the siblings'.

    Puts each list of children into the order in which they come out.
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


def _events(
    spans: Sequence[Span], places: list[Range], children: list[list[int]], source: str
) -> list[tuple[int, str]]:
    """What is written where, in order. A stack of our own: documents nest deeper than Python calls."""
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
                events.append((places[parent][1], spans[parent].closing + _space_behind(parent, spans, source)))
    return events


def _space_behind(index: int, spans: Sequence[Span], source: str) -> str:
    """A space after a thing that had one on either side, such as the %s of `open %s now`; not also inside it."""
    span = spans[index]
    is_inside = span.parent >= 0 and spans[span.parent].start == spans[span.parent].end
    around = source[span.start - 1 : span.start], source[span.end : span.end + 1]
    return " " if span.start == span.end and not is_inside and all(side.isspace() for side in around) else ""

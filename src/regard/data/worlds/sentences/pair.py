"""Words that know what they express, and the pair of sentences that two lists of them make."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Key = tuple[object, str]  # a node of the meaning, and which facet of it
Link = tuple[int, int]


class Word(NamedTuple):
    """A word with the facets of meaning that it expresses, and those that it only helps to express."""

    text: str
    about: tuple[Key, ...] = ()
    near: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences of one meaning; links are (source word, target word), and every sure link is possible too."""

    source: str
    target: str
    sure: frozenset[Link]
    possible: frozenset[Link]
    pattern: str


def swap(pair: SentencePair) -> SentencePair:
    """The pair in the other direction, links included."""
    return SentencePair(
        pair.target,
        pair.source,
        frozenset((target, source) for source, target in pair.sure),
        frozenset((target, source) for source, target in pair.possible),
        pair.pattern,
    )


def align(source: Sequence[Word], target: Sequence[Word]) -> tuple[frozenset[Link], frozenset[Link]]:
    """The sure links, where both words express a facet, and the possible ones, where at least one helps to."""
    places: dict[Key, list[tuple[int, bool]]] = {}
    for index, word in enumerate(target):
        for key in word.about:
            places.setdefault(key, []).append((index, True))
        for key in word.near:
            places.setdefault(key, []).append((index, False))
    sure, possible = set[Link](), set[Link]()
    for index, word in enumerate(source):
        for keys, is_about in ((word.about, True), (word.near, False)):
            for key in keys:
                for target_index, target_is_about in places.get(key, ()):
                    possible.add((index, target_index))
                    if is_about and target_is_about:
                        sure.add((index, target_index))
    return frozenset(sure), frozenset(possible)


def make_pair(source: Sequence[Word], target: Sequence[Word], pattern: str) -> SentencePair:
    """The pair that two lists of words make."""
    sure, possible = align(source, target)
    return SentencePair(
        " ".join(word.text for word in source), " ".join(word.text for word in target), sure, possible, pattern
    )

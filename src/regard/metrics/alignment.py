"""Word alignments: reading and writing them, joining two directions, and their error against a manual one.

The alignment error rate is that of Och and Ney (2003): people mark some links as sure and others as merely possible; a
system must find the sure ones and may give the possible ones.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from regard.errors import RegardError

Links = frozenset[tuple[int, int]]  # of (source word, target word), counted from 0
Symmetry = Literal["intersection", "union", "grow-diag-final-and"]

_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
# Steps of (target, source), in the published order: it decides which of two rival links is added.
_NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


@dataclass(frozen=True)
class Alignment:
    """The links of one sentence pair; every sure link is also a possible one."""

    sure: Links
    possible: Links


@dataclass(frozen=True)
class AlignmentScore:
    """How well links agree with a manual alignment, over a whole corpus; `error` is the alignment error rate."""

    precision: float
    recall: float
    error: float
    links: int
    sure: int
    possible: int


# --- Pharaoh format: `i-j` is a sure link, `ipj` a possible one -------------------------------------------------------


def parse_alignments(lines: Iterable[str], *, one_based: bool = False, origin: str = "line") -> list[Alignment]:
    """The alignment on each line; a blank line has no links."""
    return [
        parse_alignment(line, one_based=one_based, origin=f"{origin}:{number}")
        for number, line in enumerate(lines, start=1)
    ]


def parse_alignment(line: str, *, one_based: bool = False, origin: str = "the alignment") -> Alignment:
    """The alignment on one line of Pharaoh format."""
    links = [(_link(token, int(one_based), origin), "p" in token) for token in line.split()]
    sure = frozenset(link for link, is_only_possible in links if not is_only_possible)
    return Alignment(sure=sure, possible=frozenset(link for link, _ in links))


def format_alignment(alignment: Alignment, *, one_based: bool = False) -> str:
    """The alignment in Pharaoh format, its links in order."""
    return " ".join(
        f"{source + one_based}{'-' if (source, target) in alignment.sure else 'p'}{target + one_based}"
        for source, target in sorted(alignment.sure | alignment.possible)
    )


def _link(token: str, first: int, origin: str) -> tuple[int, int]:
    match = _LINK.fullmatch(token)
    if match is None or min(int(match[1]), int(match[3])) < first:
        raise RegardError(
            f"{origin}: {token[:40]!r} is not a link. Write source and target word, counted from {first}: "
            f"{first}-{first + 1} is a sure link, {first}p{first + 1} a possible one."
        )
    return int(match[1]) - first, int(match[3]) - first


# --- error -----------------------------------------------------------------------------------------------------------


def alignment_error(hypotheses: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]) -> AlignmentScore:
    """Precision, recall and error over all sentences together; where there was nothing to link, nothing is wrong."""
    counts = {len(hypotheses), len(sure), len(possible)}
    if len(counts) > 1:
        raise RegardError(
            f"there are {len(hypotheses)} hypotheses, {len(sure)} sure and {len(possible)} possible alignments; "
            "give one of each for every sentence."
        )
    if counts == {0}:
        raise RegardError("there are no alignments to measure. Give at least one sentence.")
    allowed = [one | other for one, other in zip(sure, possible, strict=True)]
    found_sure = sum(len(links & gold) for links, gold in zip(hypotheses, sure, strict=True))
    found_allowed = sum(len(links & gold) for links, gold in zip(hypotheses, allowed, strict=True))
    given, wanted = sum(map(len, hypotheses)), sum(map(len, sure))
    return AlignmentScore(
        precision=_share(found_allowed, given),
        recall=_share(found_sure, wanted),
        error=1.0 - _share(found_sure + found_allowed, given + wanted),
        links=given,
        sure=wanted,
        possible=sum(map(len, allowed)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# --- two directions into one -----------------------------------------------------------------------------------------


def symmetrise(forward: Links, backward: Links, how: Symmetry = "grow-diag-final-and") -> Links:
    """One alignment from the links of both directions, all given as (source, target)."""
    if how == "intersection":
        return forward & backward
    if how == "union":
        return forward | backward
    if how == "grow-diag-final-and":
        grown = _grow(forward, backward)
        _add_between_free_words(grown, forward)
        _add_between_free_words(grown, backward)
        return frozenset(grown)
    raise RegardError(f"the symmetry is {how!r}; choose intersection, union or grow-diag-final-and.")


def _grow(forward: Links, backward: Links) -> set[tuple[int, int]]:
    """The links of both, and from there, step by step, neighbours of either that reach a word without a link."""
    union, links = forward | backward, set(forward & backward)
    in_target_order = sorted(union, key=lambda link: (link[1], link[0]))
    before = -1
    while before < len(links):
        before = len(links)
        for (source, target), (up, right) in product(in_target_order, _NEIGHBOURS):
            neighbour = (source + right, target + up)
            if (source, target) in links and neighbour in union and _reaches_a_free_word(neighbour, links):
                links.add(neighbour)
    return links


def _reaches_a_free_word(link: tuple[int, int], links: set[tuple[int, int]]) -> bool:
    return all(link[0] != source for source, _ in links) or all(link[1] != target for _, target in links)


def _add_between_free_words(links: set[tuple[int, int]], candidates: Links) -> None:
    for source, target in sorted(candidates, key=lambda link: (link[1], link[0])):
        if all(source != other and target != another for other, another in links):
            links.add((source, target))

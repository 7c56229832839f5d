"""Word alignments: the Pharaoh format, symmetrization, error rate, and alignments from attention weights.

The alignment error rate is that of Och and Ney (2003): annotators mark some links as sure and others as possible; a
system must find the sure ones and may give the possible ones.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError

Links = frozenset[tuple[int, int]]  # (source word, target word), counted from 0
Words = Sequence[Sequence[int]]  # the indices of each word's pieces
Symmetrization = Literal["intersection", "union", "grow-diag-final-and"]
LINK_THRESHOLD = 0.5  # of the largest weight: 따라야 belongs to "must" and to "obey", and attends to both
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")

# Steps of (target, source), in the published order: it decides which of two rival links is added.
_NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


@dataclass(frozen=True)
class GoldAlignment:
    """The links of one sentence pair; every sure link is also a possible one."""

    sure: Links
    possible: Links

    def reversed(self) -> "GoldAlignment":
        """The links from target to source."""
        sure, possible = (frozenset((target, source) for source, target in some) for some in (self.sure, self.possible))
        return GoldAlignment(sure=sure, possible=possible)

    def fits(self, sources: int, targets: int) -> bool:
        """Whether all linked words exist in sentences of so many words."""
        return all(source < sources and target < targets for source, target in self.possible)


@dataclass(frozen=True)
class AlignmentScore:
    """The agreement of links with a gold alignment over a corpus; `aer` is the alignment error rate."""

    precision: float
    recall: float
    aer: float
    links: int
    sure: int
    possible: int


# --- Pharaoh format: `i-j` is a sure link, `ipj` a possible one -------------------------------------------------------


def parse_alignments(lines: Iterable[str], *, one_based: bool = False, origin: str = "line") -> list[GoldAlignment]:
    """The alignment on each line; a blank line has no links."""
    return [
        parse_alignment(line, one_based=one_based, origin=f"{origin}:{number}")
        for number, line in enumerate(lines, start=1)
    ]


def parse_alignment(line: str, *, one_based: bool = False, origin: str = "the alignment") -> GoldAlignment:
    """The alignment on one line of Pharaoh format."""
    links = [(_parse_link(token, int(one_based), origin), "p" in token) for token in line.split()]
    sure = frozenset(link for link, is_only_possible in links if not is_only_possible)
    return GoldAlignment(sure=sure, possible=frozenset(link for link, _ in links))


def format_alignment(alignment: GoldAlignment, *, one_based: bool = False) -> str:
    """The alignment in Pharaoh format, its links in order."""
    return " ".join(
        f"{source + one_based}{'-' if (source, target) in alignment.sure else 'p'}{target + one_based}"
        for source, target in sorted(alignment.sure | alignment.possible)
    )


def _parse_link(token: str, first: int, origin: str) -> tuple[int, int]:
    match = _LINK.fullmatch(token)
    if match is None or min(int(match[1]), int(match[3])) < first:
        raise RegardError(
            f"{origin}: {token[:40]!r} is not a link. Write source and target word, counted from {first}: "
            f"{first}-{first + 1} is a sure link, {first}p{first + 1} a possible one."
        )
    return int(match[1]) - first, int(match[3]) - first


# --- error -----------------------------------------------------------------------------------------------------------


def alignment_error_rate(
    hypotheses: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> AlignmentScore:
    """Precision, recall and error rate over all sentences; without any link to find, the error is zero."""
    counts = {len(hypotheses), len(sure), len(possible)}
    if len(counts) > 1:
        raise RegardError(
            f"there are {len(hypotheses)} hypotheses, {len(sure)} sure and {len(possible)} possible alignments; "
            "give one of each for every sentence."
        )
    if counts == {0}:
        raise RegardError("there are no alignments to score. Give at least one sentence.")
    allowed = [one | other for one, other in zip(sure, possible, strict=True)]
    found_sure = sum(len(links & gold) for links, gold in zip(hypotheses, sure, strict=True))
    found_allowed = sum(len(links & gold) for links, gold in zip(hypotheses, allowed, strict=True))
    linked, sure_links = sum(map(len, hypotheses)), sum(map(len, sure))
    return AlignmentScore(
        precision=_fraction(found_allowed, linked),
        recall=_fraction(found_sure, sure_links),
        aer=1.0 - _fraction(found_sure + found_allowed, linked + sure_links),
        links=linked,
        sure=sure_links,
        possible=sum(map(len, allowed)),
    )


def _fraction(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# --- two directions into one -----------------------------------------------------------------------------------------


def symmetrize(forward: Links, backward: Links, method: Symmetrization = "grow-diag-final-and") -> Links:
    """One alignment from the links of both directions, all given as (source, target)."""
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    if method == "grow-diag-final-and":
        grown = _grow(forward, backward)
        _link_unlinked_words(grown, forward)
        _link_unlinked_words(grown, backward)
        return frozenset(grown)
    raise RegardError(f"the symmetrization is {method!r}; choose intersection, union or grow-diag-final-and.")


def _grow(forward: Links, backward: Links) -> set[tuple[int, int]]:
    """The links of both, then repeatedly the neighbours in either that reach a word without a link."""
    union, links = forward | backward, set(forward & backward)
    in_target_order = sorted(union, key=lambda link: (link[1], link[0]))
    before = -1
    while before < len(links):
        before = len(links)
        for (source, target), (up, right) in product(in_target_order, _NEIGHBOURS):
            neighbour = (source + right, target + up)
            if (source, target) not in links or neighbour not in union:
                continue
            is_source_free = all(neighbour[0] != other for other, _ in links)
            if is_source_free or all(neighbour[1] != other for _, other in links):
                links.add(neighbour)
    return links


def _link_unlinked_words(links: set[tuple[int, int]], candidates: Links) -> None:
    for source, target in sorted(candidates, key=lambda link: (link[1], link[0])):
        if all(source != other and target != another for other, another in links):
            links.add((source, target))


# --- alignments from attention ---------------------------------------------------------------------------------------


def pieces_to_words(weights: ArrayLike, source_words: Words, target_words: Words) -> NDArray[np.float64]:
    """Weights [target word][source word] from weights [target piece][source piece].

    Weights are summed over the pieces of a source word and averaged over those of a target word, so a row that sums to
    one still does. Pieces of no word, such as an excluded `</s>`, are dropped.
    """
    matrix = _check_matrix(weights)
    _check_indices("source", source_words, matrix.shape[1])
    _check_indices("target", target_words, matrix.shape[0])
    merged = np.zeros((len(target_words), len(source_words)))
    for row, target_pieces in enumerate(target_words):
        mean_weights = matrix[list(target_pieces)].mean(axis=0)
        merged[row] = [mean_weights[list(source_pieces)].sum() for source_pieces in source_words]
    return merged


def links_from_attention(weights: ArrayLike) -> Links:
    """Links of each target word to the source word with the largest weight, and to others with nearly as much."""
    matrix = _check_matrix(weights)
    if matrix.shape[1] == 0:
        return frozenset()
    is_linked = (matrix >= LINK_THRESHOLD * matrix.max(axis=1, keepdims=True)) & (matrix > 0)
    return frozenset((int(source), int(target)) for target, source in np.argwhere(is_linked))


def _check_matrix(weights: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2:
        raise RegardError(f"the weights have {matrix.ndim} axes; give two, target by source.")
    if not np.isfinite(matrix).all():
        raise RegardError("the weights contain NaN or infinity; give weights after the softmax.")
    return matrix


def _check_indices(side: str, words: Words, pieces: int) -> None:
    for number, word in enumerate(words, start=1):
        if not word or not all(0 <= index < pieces for index in word):
            raise RegardError(
                f"{side} word {number} is made of the pieces {list(word)}; the weights have {pieces} {side} pieces, "
                "counted from 0, and a word needs at least one."
            )

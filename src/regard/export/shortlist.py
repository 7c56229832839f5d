r"""Which target pieces may translate which source piece: a decoder that weighs only those has less to compute.

Learnt by IBM Model 1 (Brown et al., 1993), which aligns by co-occurrence alone: each target piece is explained by the
source pieces of its sentence, in proportion to t(target | source), and t is estimated again from these shares.

CTranslate2 calls it a vocabulary map: a line has source pieces, a tab, and target pieces; no source piece: always.
"""

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.tokens import Tokenizers

PAIRS = 100_000  # to learn from; more take more memory
ROUNDS = 5  # of estimation
FOR_EACH = 50  # target pieces for a source piece; twice as many gained no BLEU on Multi30k
ALWAYS = 300  # the most frequent target pieces, whatever the source
LONGEST = 100  # tokens; longer pairs say little about which piece belongs to which

Ids = NDArray[np.int64]


def learn_shortlist(pairs: Iterable[tuple[list[int], list[int]]], tokenizers: Tokenizers) -> bytes:
    """A vocabulary map learnt from pairs of token rows."""
    rows = list(islice(((own, other) for own, other in pairs if max(len(own), len(other)) <= LONGEST), PAIRS))
    targets = tokenizers.target.vocabulary
    counts = np.bincount([token for _, target in rows for token in target], minlength=len(targets))
    always = np.argsort(-counts, kind="stable")[:ALWAYS]
    lines = ["\t" + " ".join(targets[token] for token in always if counts[token])]
    for source, candidates in _likeliest(rows, len(targets)):
        lines.append(f"{tokenizers.source.vocabulary[source]}\t{' '.join(targets[token] for token in candidates)}")
    return ("\n".join(lines) + "\n").encode()


def _likeliest(rows: list[tuple[list[int], list[int]]], vocabulary: int) -> Iterable[tuple[int, Ids]]:
    """For each source piece its likeliest target pieces, the likeliest first."""
    codes, probabilities = _model_1(rows, vocabulary)
    sources, targets = codes // vocabulary, codes % vocabulary
    order = np.lexsort((targets, -probabilities, sources))
    bounds = np.flatnonzero(np.diff(sources[order], prepend=-1))
    for own in np.split(order, bounds[1:]) if len(order) else []:
        yield int(sources[own[0]]), targets[own[:FOR_EACH]]


def _model_1(rows: list[tuple[list[int], list[int]]], vocabulary: int) -> tuple[Ids, NDArray[np.float64]]:
    """Every (source, target) that occurs in a pair, as source * vocabulary + target, and t(target | source)."""
    met, places = _meetings(rows, vocabulary)
    codes, which = np.unique(met, return_inverse=True)
    _, source_of_code = np.unique(codes // vocabulary, return_inverse=True)
    likely = np.ones(len(codes))
    for _ in range(ROUNDS):
        weights = likely[which]
        shares = weights / np.bincount(places, weights=weights)[places]
        expected = np.bincount(which, weights=shares, minlength=len(codes))
        likely = expected / np.bincount(source_of_code, weights=expected)[source_of_code]
    return codes, likely


def _meetings(rows: list[tuple[list[int], list[int]]], vocabulary: int) -> tuple[Ids, Ids]:
    """Each source piece with each target piece of its pair, and a number for each target place."""
    met, places, place = [], [], 0
    for source, target in rows:
        own = np.asarray(source, dtype=np.int64)
        met.append((own[:, None] * vocabulary + np.asarray(target, dtype=np.int64)[None, :]).ravel())
        places.append(np.tile(np.arange(place, place + len(target)), len(source)))
        place += len(target)
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *met]), np.concatenate([empty, *places])

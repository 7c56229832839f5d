"""Attention over pieces made into attention over words, and into word alignments."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.metrics.alignment import Links

NEARLY = 0.5  # of the largest weight: a word such as 따라야 belongs to "must" and to "obey", and looks at both
Words = Sequence[Sequence[int]]  # the indices of each word's pieces


def merge_words(weights: ArrayLike, source_words: Words, target_words: Words) -> NDArray[np.float64]:
    """Weights [target word][source word] from weights [target piece][source piece].

    A word is looked at as much as all its pieces are, and looks as its pieces do on average; so a row that sums to one
    still does. Pieces of no word, such as `</s>` where it is left out, are dropped.
    """
    matrix = _matrix(weights)
    _check_indices("source", source_words, matrix.shape[1])
    _check_indices("target", target_words, matrix.shape[0])
    merged = np.zeros((len(target_words), len(source_words)))
    for row, target_pieces in enumerate(target_words):
        looks = matrix[list(target_pieces)].mean(axis=0)
        merged[row] = [looks[list(source_pieces)].sum() for source_pieces in source_words]
    return merged


def links_from_weights(weights: ArrayLike) -> Links:
    """Each target word linked to the source word it looks at most, and to others it looks at nearly as much."""
    matrix = _matrix(weights)
    if matrix.shape[1] == 0:
        return frozenset()
    is_linked = (matrix >= NEARLY * matrix.max(axis=1, keepdims=True)) & (matrix > 0)
    return frozenset((int(source), int(target)) for target, source in np.argwhere(is_linked))


def _matrix(weights: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2:
        raise RegardError(f"the weights have {matrix.ndim} axes; give two, target by source.")
    if not np.isfinite(matrix).all():
        raise RegardError("the weights hold NaN or infinity; give weights after the softmax.")
    return matrix


def _check_indices(side: str, words: Words, pieces: int) -> None:
    for number, word in enumerate(words, start=1):
        if not word or not all(0 <= index < pieces for index in word):
            raise RegardError(
                f"{side} word {number} is made of the pieces {list(word)}; the weights have {pieces} {side} pieces, "
                "counted from 0, and a word needs at least one."
            )

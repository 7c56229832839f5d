"""Predicted classes against gold ones: accuracy, macro F1, confusion matrix, calibration, and a paired test.

Classes are numbers from 0. Percentages have 95 % bootstrap intervals; the seed is fixed, so they are repeatable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.text import Score

CALIBRATION_BINS = 15  # as in Guo et al., 2017
_SEED = 12345
ClassNumbers = Sequence[int] | NDArray[np.integer]


@dataclass(frozen=True)
class CalibrationBin:
    """The predictions whose probability is in one range: their number, mean probability and accuracy."""

    count: int
    probability: float
    accuracy: float


@dataclass(frozen=True)
class PairedTest:
    """Two classifiers on the same examples; the p-value is that of McNemar's exact test on where they disagree."""

    difference: float  # of the accuracies, in percent: the first less the second
    low: float  # of its 95 % paired bootstrap interval
    high: float
    only_first: int  # examples that only the first gets right
    only_second: int
    p_value: float


def accuracy(gold: ClassNumbers, predicted: ClassNumbers) -> float:
    """The fraction of correct predictions."""
    right, best = _checked(gold, predicted)
    return float((right == best).mean())


def macro_f1(gold: ClassNumbers, predicted: ClassNumbers) -> float:
    """The mean F1 of the classes that occur, each with the same weight; 0 for one that is never right."""
    right, best = _checked(gold, predicted)
    return float(_macro_f1(confusion_matrix(right, best, int(max(right.max(), best.max())) + 1)[None])[0])


def confusion_matrix(gold: ClassNumbers, predicted: ClassNumbers, classes: int) -> NDArray[np.int64]:
    """How many examples of each gold class (row) were predicted as each class (column)."""
    right, best = _checked(gold, predicted)
    return np.bincount(right * classes + best, minlength=classes * classes).reshape(classes, classes)


def calibration(
    gold: ClassNumbers, predicted: ClassNumbers, probabilities: Sequence[float]
) -> tuple[float, list[CalibrationBin]]:
    """The expected calibration error in percent, and the bins of equal width that it is computed from."""
    right, best = _checked(gold, predicted)
    confidences, is_right = np.asarray(probabilities, np.float64), right == best
    bins = np.minimum((confidences * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    found = []
    for number in range(CALIBRATION_BINS):
        own = bins == number
        count = int(own.sum())
        means = (float(confidences[own].mean()), float(is_right[own].mean())) if count else (0.0, 0.0)
        found.append(CalibrationBin(count, *means))
    error = sum(one.count * abs(one.probability - one.accuracy) for one in found) / len(right)
    return 100 * error, found


def evaluate_classes(
    gold: ClassNumbers, predicted: ClassNumbers, probabilities: Sequence[float], *, resamples: int = 1000
) -> list[Score]:
    """Accuracy, macro F1 and expected calibration error in percent, each with a 95 % bootstrap interval."""
    right, best = _checked(gold, predicted)
    confidences, size = np.asarray(probabilities, np.float64), len(right)
    rng, classes = np.random.default_rng(_SEED), int(max(right.max(), best.max())) + 1

    def figures(rows: NDArray[np.integer]) -> list[float]:
        matrix = np.bincount(right[rows] * classes + best[rows], minlength=classes**2).reshape(1, classes, classes)
        share_right, f1 = float(matrix[0].trace() / size), float(_macro_f1(matrix)[0])
        return [100 * share_right, 100 * f1, calibration(right[rows], best[rows], confidences[rows])[0]]

    values = figures(np.arange(size))
    lows, highs = values, values
    if resamples > 1:
        resampled = [figures(rng.integers(0, size, size)) for _ in range(resamples)]
        lows, highs = np.percentile(resampled, [2.5, 97.5], axis=0).tolist()
    names = ("accuracy", "macro F1", "ECE")
    signature = f"bs:{resamples}|seed:{_SEED}"
    signatures = (signature, signature, f"bins:{CALIBRATION_BINS}|{signature}")
    return [Score(*one) for one in zip(names, values, signatures, lows, highs, strict=True)]


def paired_test(gold: ClassNumbers, first: ClassNumbers, second: ClassNumbers, *, resamples: int = 1000) -> PairedTest:
    """Whether one of two classifiers is right more often on the same examples."""
    (right, one), (_, other) = _checked(gold, first), _checked(gold, second)
    gain = (one == right).astype(np.int64) - (other == right).astype(np.int64)  # 1, 0 or -1 for each example
    rng = np.random.default_rng(_SEED)
    means = [100 * gain[rng.integers(0, len(gain), len(gain))].mean() for _ in range(max(1, resamples))]
    low, high = np.percentile(means, [2.5, 97.5])
    only_first, only_second = int((gain == 1).sum()), int((gain == -1).sum())
    p_value = mcnemar(only_first, only_second)
    return PairedTest(100 * float(gain.mean()), float(low), float(high), only_first, only_second, p_value)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value: as many disagreements as these, or more unequal, if both were equally good."""
    total, fewer = only_first + only_second, min(only_first, only_second)
    log_total = total * math.log(2)
    tail = sum(
        math.exp(math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) - log_total)
        for k in range(fewer + 1)
    )
    return min(1.0, 2 * tail)


def _checked(gold: ClassNumbers, predicted: ClassNumbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    right, best = np.asarray(gold, np.int64), np.asarray(predicted, np.int64)
    if not len(right) or right.shape != best.shape:
        raise RegardError(f"{len(right)} gold classes and {len(best)} predictions. Give as many of both, at least one.")
    return right, best


def _macro_f1(matrices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of confusion matrices (N, classes, classes)."""
    hits = matrices.diagonal(axis1=1, axis2=2)
    occurrences = matrices.sum(axis=1) + matrices.sum(axis=2)  # predicted, and gold
    f1 = 2 * hits / np.maximum(occurrences, 1)
    scores: NDArray[np.float64] = f1.sum(axis=1) / np.maximum((occurrences > 0).sum(axis=1), 1)
    return scores

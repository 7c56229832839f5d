"""Figures of classifiers against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics

from regard.errors import RegardError
from regard.metrics.classification import (
    CALIBRATION_BINS,
    accuracy,
    calibration,
    confusion_matrix,
    evaluate_classes,
    macro_f1,
    mcnemar,
    paired_test,
)


def drawn(seed: int, classes: int = 4, size: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold classes, predictions that are often right, and probabilities."""
    draw = np.random.default_rng(seed)
    gold = draw.integers(0, classes, size)
    predicted = np.where(draw.random(size) < 0.7, gold, draw.integers(0, classes, size))
    return gold, predicted, draw.random(size)


@pytest.mark.parametrize("seed", range(3))
def test_figures_are_those_of_scikit_learn(seed: int) -> None:
    gold, predicted, _ = drawn(seed)
    assert accuracy(gold, predicted) == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert macro_f1(gold, predicted) == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    assert (confusion_matrix(gold, predicted, 4) == metrics.confusion_matrix(gold, predicted)).all()


def test_absent_classes_do_not_count_in_macro_f1() -> None:
    gold, predicted = [0, 0, 2, 2], [0, 2, 2, 3]
    expected = metrics.f1_score(gold, predicted, average="macro", zero_division=0)
    assert macro_f1(gold, predicted) == pytest.approx(expected)


def test_calibration_error_by_hand() -> None:
    gold, predicted, probabilities = drawn(5)
    error, bins = calibration(gold, predicted, probabilities.tolist())
    expected = 0.0
    for number in range(CALIBRATION_BINS):
        low, high = number / CALIBRATION_BINS, (number + 1) / CALIBRATION_BINS
        own = (probabilities >= low) & (probabilities < high)
        if own.any():
            gap = probabilities[own].mean() - (gold == predicted)[own].mean()
            expected += own.mean() * abs(gap)
    assert error == pytest.approx(100 * expected)
    assert sum(one.count for one in bins) == len(gold)
    assert calibration([0, 1], [0, 1], [1.0, 1.0])[0] == 0.0  # certain and right


def test_intervals_cover_the_values_and_shrink() -> None:
    gold, predicted, probabilities = drawn(1, size=60)
    few = evaluate_classes(gold, predicted, probabilities, resamples=200)
    assert [one.name for one in few] == ["accuracy", "macro F1", "ECE"]
    assert all(one.low <= one.value <= one.high for one in few[:2])
    many = evaluate_classes(*(np.tile(one, 20) for one in (gold, predicted, probabilities)), resamples=200)
    assert many[0].value == pytest.approx(few[0].value)
    assert many[0].high - many[0].low < 0.5 * (few[0].high - few[0].low)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (5, 5), (3, 12), (40, 9), (900, 1000)])
def test_mcnemar_is_the_exact_binomial_test(first: int, second: int) -> None:
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected)


def test_paired_test_counts_where_two_disagree() -> None:
    gold = [0] * 10
    found = paired_test(gold, [0] * 9 + [1], [0] * 4 + [1] * 6, resamples=200)
    assert (found.only_first, found.only_second) == (5, 0)
    assert found.difference == pytest.approx(50)
    assert found.low <= 50 <= found.high
    with pytest.raises(RegardError, match="1 gold classes and 2 predictions"):
        accuracy([0], [0, 1])

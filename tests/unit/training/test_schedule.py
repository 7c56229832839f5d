"""The learning rate climbs while the model warms up, then falls as the schedule says."""

import math

import pytest

from regard.config import TrainingConfig
from regard.training.step import learning_rate_at


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_peak_rate_is_at_end_of_warmup(schedule: str) -> None:
    config = TrainingConfig(schedule=schedule, warmup_steps=100, steps=1000, learning_rate=0.5)  # type: ignore[arg-type]
    rates = [learning_rate_at(step, config) for step in range(1, 1001)]
    assert max(rates) == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.5)
    assert rates[:100] == sorted(rates[:100])
    assert rates[99:] == sorted(rates[99:], reverse=True)
    assert rates[0] == pytest.approx(0.005)


def test_inverse_square_root_halves_at_fourfold_warmup() -> None:
    config = TrainingConfig(schedule="inverse_sqrt", warmup_steps=100, learning_rate=1.0)
    assert learning_rate_at(400, config) == pytest.approx(0.5)


def test_cosine_ends_at_zero_with_half_in_middle() -> None:
    config = TrainingConfig(schedule="cosine", warmup_steps=100, steps=1100, learning_rate=1.0)
    assert learning_rate_at(600, config) == pytest.approx(0.5)
    assert learning_rate_at(1100, config) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant"])
def test_no_warm_up_is_allowed(schedule: str) -> None:
    config = TrainingConfig(schedule=schedule, warmup_steps=0, learning_rate=1.0)  # type: ignore[arg-type]
    assert learning_rate_at(1, config) == pytest.approx(1.0, abs=1e-6)
    assert all(math.isfinite(learning_rate_at(step, config)) for step in range(1, 50))

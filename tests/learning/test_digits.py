"""Models learn to copy, reverse and sort digits; attention solves long inputs that a fixed context does not."""

from collections.abc import Iterator

import jaxtyping
import pytest
import torch

from regard.config import (
    AttentionRNNConfig,
    ModelConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from tests.support.digit_tasks import TASKS, DigitTask, exact, learn

STACK = TransformerStackConfig(layers=2, width=64, heads=4, ffn_width=128)
ROWS = RecurrentLayersConfig(layers=1, width=96)
LEARNERS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(encoder=STACK, decoder=STACK, norm="pre", dropout=0.0),
    "attending": AttentionRNNConfig(
        cell="gru", embedding_width=32, encoder=ROWS, decoder=ROWS, score="general", query_state="current", dropout=0.0
    ),
}

SMALL = RecurrentLayersConfig(
    layers=1, width=64
)  # with the other query_state training goes word by word, which takes longer
PREVIOUS = AttentionRNNConfig(
    cell="gru", embedding_width=32, encoder=SMALL, decoder=SMALL, score="additive", query_state="previous", dropout=0.0
)
FIXED_CONTEXT = RNNConfig(cell="gru", embedding_width=32, encoder=ROWS, decoder=ROWS, dropout=0.0)
LONG = DigitTask("reverse", longest=30, learning_rate=5e-3, batch=32, steps=2000, ends_early=False)


@pytest.fixture(autouse=True)
def _swift() -> Iterator[None]:
    """One thread, these models are too small for two; and no shape is checked, which takes a while."""
    torch.set_num_threads(1)
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_task_is_learned_to_98_in_100(learner: str, name: str) -> None:
    task = DigitTask(name)
    model = learn(LEARNERS[learner], task, seed=0)  # benchmarks/lineage.py has three seeds, and the times
    assert exact(model, task) >= 0.98


def test_previous_state_learns_digits_with_additive_score() -> None:
    task = DigitTask("reverse", longest=5, learning_rate=8e-3)
    assert exact(learn(PREVIOUS, task, seed=0), task) >= 0.98


def test_a_fixed_context_fails_at_long_inputs() -> None:
    """Trained on reversals of up to 30 digits, tried on those of 25 to 30."""
    assert exact(learn(FIXED_CONTEXT, LONG, seed=0), LONG, shortest=25) < 0.60


def test_attention_solves_long_digit_tasks() -> None:
    """Trained and tried alike."""
    assert exact(learn(LEARNERS["attending"], LONG, seed=0), LONG, shortest=25) > 0.95

"""What waits for what: a recurrence takes a step for every place, attention the same few for however many places."""

from collections.abc import Callable

import pytest
import torch
from benchmarks.parallel import MODELS, STACK, counted_steps, new_model, random_batch
from torch import Tensor, nn

from regard.config import AttentionRNNConfig, RecurrentLayersConfig, RNNConfig, TransformerConfig
from regard.training.objective import compute_loss

LENGTHS = (5, 11, 23)
TRANSFORMER = STACK.layers + 2 * STACK.layers  # each encoder layer attends once, each decoder layer twice
STEPS: dict[str, Callable[[int], int]] = {  # of a source and a target of so many tokens
    "RNN, fixed context": lambda length: 2 * length,
    "previous state asks": lambda length: length + 2 * length,  # a cell waits for the attention, it for the cell before
    "current state asks": lambda length: 2 * length + 1,  # all the decoder's states are there before the first asks
    "current, input feeding": lambda length: length + 2 * length,
    "Transformer": lambda _length: TRANSFORMER,
}


@pytest.mark.parametrize("name", MODELS)
def test_pass_takes_the_steps_of_its_equations(name: str) -> None:
    model = new_model(MODELS[name])
    counted = [counted_steps(model, random_batch(length, rows=2)) for length in LENGTHS]
    assert counted == [STEPS[name](length) for length in LENGTHS]


def test_timed_models_have_about_the_same_size() -> None:
    sizes = [sum(parameter.numel() for parameter in new_model(config).parameters()) for config in MODELS.values()]
    assert max(sizes) < 1.2 * min(sizes)


def test_second_layer_adds_one_step_in_total() -> None:
    two = RecurrentLayersConfig(layers=2, width=8)
    model = new_model(RNNConfig(embedding_width=8, encoder=two, decoder=two))
    assert counted_steps(model, random_batch(7, rows=2)) == 2 * (7 + 1)


def chain(loss: Tensor) -> int:
    """The longest way through what the gradient must come back by: torch's own record of what waited for what."""
    longest: dict[object, int] = {}
    waiting = [loss.grad_fn]
    while waiting:
        before = [node for node, _ in waiting[-1].next_functions if node is not None]  # type: ignore[union-attr]
        if unknown := [node for node in before if node not in longest]:
            waiting += unknown
        else:
            longest[waiting.pop()] = 1 + max((longest[node] for node in before), default=0)
    return longest[loss.grad_fn]


def chains(model: nn.Module) -> list[int]:
    torch.manual_seed(0)
    return [chain(compute_loss(model, random_batch(length, rows=2), smoothing=0.1)) for length in LENGTHS]


def test_autograd_chain_grows_with_length_for_recurrence_only() -> None:
    transformer = chains(new_model(TransformerConfig(encoder=STACK, decoder=STACK)))
    attending = chains(new_model(AttentionRNNConfig(cell="gru", embedding_width=8)))
    assert len(set(transformer)) == 1
    assert attending[1] - attending[0] >= LENGTHS[1] - LENGTHS[0]
    assert (attending[2] - attending[1]) / (attending[1] - attending[0]) == 2  # twice as many places more

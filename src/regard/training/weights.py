"""Weights averaged: over the last checkpoints, or as a moving average while training goes on."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def mean_of(count: int, load: Callable[[int], dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights, loaded one at a time; summed in float64, so that the order does not show."""
    total: dict[str, Tensor] = {}
    for index in range(count):
        for name, tensor in load(index).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / count).float() for name, tensor in total.items()}


class MovingAverage:
    """An exponential moving average of a model's parameters; it trusts its first steps less, as they are few."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = [(name, parameter) for name, parameter in model.named_parameters()]
        self.average = {name: parameter.detach().clone() for name, parameter in self.parameters}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the parameters as they are after a step."""
        decay = min(self.decay, (1 + step) / (10 + step))
        averages = [self.average[name] for name, _ in self.parameters]
        torch._foreach_lerp_(averages, [parameter.detach() for _, parameter in self.parameters], 1 - decay)

"""The inputs and outputs of a model's parts, recorded by hooks in the recording thread; tensors as arrays."""

import threading
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention.hooks import Recording, active_recording


@dataclass
class Activations:
    """The inputs and outputs of one part of a model; those of single steps are joined along the positions."""

    input_parts: list[Tensor] = field(default_factory=list)
    output_parts: list[Tensor] = field(default_factory=list)

    @property
    def inputs(self) -> Tensor:
        return torch.cat(self.input_parts, dim=-2)

    @property
    def outputs(self) -> Tensor:
        return torch.cat(self.output_parts, dim=-2)


# torch counts its hooks without a lock: two threads at once could get one number, and one hook would replace the other.
_REGISTRATION = threading.Lock()


def record_activations(
    stack: ExitStack, parts: Iterable[tuple[str, nn.Module]], recording: Recording
) -> dict[str, Activations]:
    """The activations of each part, by its name, until the stack closes."""
    activations: dict[str, Activations] = {}
    for name, part in parts:
        activations[name] = Activations()
        with _REGISTRATION:
            handle = part.register_forward_hook(_activation_hook(activations[name], recording))
        stack.callback(handle.remove)
    return activations


def _activation_hook(activations: Activations, recording: Recording) -> Any:
    def keep(module: nn.Module, given: tuple[Tensor, ...], output: Any) -> None:
        if active_recording(module) is recording:
            activations.input_parts.append(given[0].detach())
            activations.output_parts.append((output[0] if isinstance(output, tuple) else output).detach())

    return keep


Array = NDArray[np.float32]
FloatRow = list[float]
FloatRows = list[list[float]]


class LinearArrays(NamedTuple):
    """A linear layer's matrix and bias, shared with the model, not copied."""

    weight: Array  # (outputs, inputs)
    bias: Array | None


def to_array(tensor: Tensor) -> Array:
    """A tensor's numbers as float32."""
    array: Array = tensor.detach().float().cpu().numpy()
    return array


def linear_arrays(layer: nn.Linear) -> LinearArrays:
    """A linear layer's own arrays."""
    return LinearArrays(to_array(layer.weight), None if layer.bias is None else to_array(layer.bias))

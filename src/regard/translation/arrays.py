"""Numbers as arrays and as lists, and a linear layer as its arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[np.float32]
Row = list[float]
Rows = list[list[float]]


class Linear(NamedTuple):
    """A linear layer's matrix and bias, shared with the model, not copied."""

    weight: Array  # (outputs, inputs)
    bias: Array | None


def as_array(tensor: Tensor) -> Array:
    """A tensor's numbers as float32."""
    array: Array = tensor.detach().float().cpu().numpy()
    return array


def as_linear(layer: nn.Linear) -> Linear:
    """A linear layer's own arrays."""
    return Linear(as_array(layer.weight), None if layer.bias is None else as_array(layer.bias))

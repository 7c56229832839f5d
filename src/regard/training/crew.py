"""Threads that each take a part of a batch: two of them get more done than one whose every product is split in two.

At small widths a product is over before a second thread has woken up for its half of it. Parts of a batch meet only
once in a step, where their gradients are added, always in the same order.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from regard.attention.multi_head import MultiHeadAttention
from regard.batch import Batch
from regard.layers.dropout import drawing_from

Loss = Callable[[Batch], Tensor]


class Crew:
    """So many threads at work on one batch, each on its own part; the caller is the first of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._generators = [torch.Generator() for _ in range(size - 1)]
        self._others = ThreadPoolExecutor(max(1, size - 1), initializer=torch.set_num_threads, initargs=(1,))

    def seed(self, seed: int) -> None:
        """Begin all that is drawn at random anew; each thread draws from a sequence of its own."""
        torch.manual_seed(seed)
        for number, generator in enumerate(self._generators, start=1):
            generator.manual_seed((seed + number) % 2**63)

    def add_gradients(self, parts: Sequence[Batch], loss: Loss, parameters: Sequence[nn.Parameter]) -> float:
        """The parts' loss together; its gradients are added to those that the parameters have."""
        if len(parts) == 1:
            return _backward(parts[0], loss)
        with _one_thread():
            jobs = [
                self._others.submit(_gradients, part, loss, parameters, generator)
                for part, generator in zip(parts[1:], self._generators, strict=False)
            ]
            total = _backward(parts[0], loss)
            for job in jobs:
                value, gradients = job.result()
                total += value
                _add(parameters, gradients)
        return total


def crew_size(model: nn.Module, *, threads: int, device: str, compiled: bool, sharded: bool) -> int:
    """How many threads may take parts of a batch: one, where parts would get into each other's way."""
    is_free = device == "cpu" and not compiled and not sharded and not any(map(_is_common, model.modules()))
    return threads if is_free else 1


def _is_common(module: nn.Module) -> bool:
    """Whether a module draws from torch's one generator, or keeps a record of the batches that it has seen."""
    if isinstance(module, MultiHeadAttention | nn.RNNBase):
        return module.dropout > 0
    return isinstance(module, _BatchNorm) and module.training


def _backward(part: Batch, loss: Loss) -> float:
    value = loss(part)
    value.backward()  # type: ignore[no-untyped-call]
    return float(value.detach())


def _gradients(
    part: Batch, loss: Loss, parameters: Sequence[nn.Parameter], generator: torch.Generator
) -> tuple[float, Sequence[Tensor | None]]:
    """Not written to the parameters: that is the caller's, so that no two threads write at once."""
    with drawing_from(generator):
        value = loss(part)
    return float(value.detach()), torch.autograd.grad(value, parameters, allow_unused=True)


def _add(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None]) -> None:
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is not None and parameter.grad is not None:
            parameter.grad += gradient


@contextmanager
def _one_thread() -> Iterator[None]:
    """Within, a product is not split: all threads have work of their own."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

"""Threads that each take a part of a batch: two of them get more done than one whose every product is split in two.

At small widths a product is over before a second thread has woken up for its half of it. Parts of a batch meet only
once in a step, where their gradients are added, always in the same order.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.attention.multi_head import MultiHeadAttention
from regard.batch import Batch
from regard.layers.dropout import drawing_from

MOST = 4  # parts: Python runs one thread at a time, so that many would wait for each other between their products
Loss = Callable[[nn.Module, Batch], Tensor]  # what is minimised, by a module that computes it


class Crew:
    """So many threads at work on one batch, each on its own part; the caller is the first of them.

    The others have modules of their own, whose parameters are the caller's: what a module notes of the batches that it
    has seen (the running means of a normalisation) is then never written by two at once. The caller's notes count.
    """

    def __init__(self, size: int, objective: nn.Module) -> None:
        self.size = size
        self.threads_each = max(1, torch.get_num_threads() // size)  # where there are more cores than parts
        self.objective = objective
        self.parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
        self._others = [(sharing_parameters(objective), torch.Generator()) for _ in range(size - 1)]
        self._threads = ThreadPoolExecutor(
            max(1, size - 1), initializer=torch.set_num_threads, initargs=(self.threads_each,)
        )

    def seed(self, seed: int) -> None:
        """Begin all that is drawn at random anew; each thread draws from a sequence of its own."""
        torch.manual_seed(seed)
        for number, (_, generator) in enumerate(self._others, start=1):
            generator.manual_seed((seed + number) % 2**63)

    def add_gradients(self, parts: Sequence[Batch], loss: Loss) -> float:
        """The parts' loss together; its gradients are added to those that the parameters have."""
        if len(parts) == 1:
            return self._backward(parts[0], loss)
        with _threads(self.threads_each):
            jobs = [
                self._threads.submit(self._gradients, part, loss, *other)
                for part, other in zip(parts[1:], self._others, strict=False)
            ]
            total = self._backward(parts[0], loss)
            for job in jobs:
                value, gradients = job.result()
                total += value
                self._add(gradients)
        return total

    def _backward(self, part: Batch, loss: Loss) -> float:
        value = loss(self.objective, part)
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())

    def _gradients(
        self, part: Batch, loss: Loss, objective: nn.Module, generator: torch.Generator
    ) -> tuple[float, Sequence[Tensor | None]]:
        """Not written to the parameters: that is the caller's, so that no two threads write at once."""
        with drawing_from(generator):
            value = loss(objective, part)
        return float(value.detach()), torch.autograd.grad(value, self.parameters, allow_unused=True)

    def _add(self, gradients: Sequence[Tensor | None]) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)


def sharing_parameters(module: nn.Module) -> nn.Module:
    """A module like this one that has the very same parameters, and all else for itself."""
    return copy.deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})


def crew_size(model: nn.Module, *, threads: int, device: str, compiled: bool, sharded: bool) -> int:
    """How many threads may take parts of a batch: one, where parts would get into each other's way."""
    is_free = device == "cpu" and not compiled and not sharded and not any(map(_draws_by_torch, model.modules()))
    return min(threads, MOST) if is_free else 1


def _draws_by_torch(module: nn.Module) -> bool:
    """Whether a module draws from torch's one generator, so that the threads' draws would be mixed by chance."""
    return isinstance(module, MultiHeadAttention | nn.RNNBase) and module.dropout > 0


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Within, a product of the caller is split among so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""What makes a CPU faster without a change of results: dropout, threads for micro-batches, one thread for small work.

Only torch is needed here.

- torch's dropout draws a float for each entry, on one thread: at small widths a seventh of the training time. `Dropout`
  draws a byte for each entry, eight at a time. A byte is exact enough: the fraction of kept entries is rounded to
  256ths, and kept entries are scaled by exactly that fraction.
- At small widths a matrix product ends before a second thread has started. `MicrobatchThreads` gives each thread a part
  of the batch instead; the gradients are added once in a step, always in the same order.
- torch's threads wait for each other at the end of every operation. Beside another busy process that wait is long, so
  `threads_for` gives small work one thread.
"""

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from regard.process import usable_cores

# --- dropout ---------------------------------------------------------------------------------------------------------

BYTE_LEVELS = 256
_dropout_state = threading.local()  # .generator: used by this thread instead of torch's global one


class Dropout(nn.Module):
    """In training, sets a fraction of the entries to zero and scales up the others, so that the mean stays the same."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        if not self.training or self.p == 0.0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.p)
        kept_levels = min(max(1, round((1 - self.p) * BYTE_LEVELS)), BYTE_LEVELS - 1)
        buffer = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)
        draws = buffer.random_(-(2**63), None, generator=getattr(_dropout_state, "generator", None))  # all 64 bits
        levels = draws.view(torch.uint8)[: x.numel()].view(x.shape)
        is_kept = torch.lt(levels, kept_levels, out=torch.empty_like(x))  # ones and zeros: torch is slow with booleans
        scale = BYTE_LEVELS / kept_levels
        if x.dtype == torch.float32:
            return x * is_kept.mul_(scale)
        return (x * is_kept).mul_(scale)  # one more pass: bfloat16 would round the factor by itself

    def extra_repr(self) -> str:
        return f"p={self.p}"


@contextmanager
def use_generator(generator: torch.Generator) -> Iterator[None]:
    """Within, dropout in this thread draws from this generator; on CPUs only."""
    _dropout_state.generator = generator
    try:
        yield
    finally:
        del _dropout_state.generator


# --- threads for micro-batches ---------------------------------------------------------------------------------------

MAX_MICROBATCHES = 4  # Python runs one thread at a time: more would wait for each other between their products
MicrobatchLoss = Callable[[nn.Module, Any], Tensor]  # computes the loss of a part of a batch by a module


class MicrobatchThreads:
    """Threads that each process a part of one batch; the caller is the first of them.

    The others have modules of their own that share the caller's parameters, so that two threads never write the same
    running statistics of a batch normalisation. Those of the caller are used.
    """

    def __init__(self, size: int, objective: nn.Module) -> None:
        self.size = size
        self.threads_each = max(1, torch.get_num_threads() // size)  # if there are more cores than parts
        self.objective = objective
        self.parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
        self.is_small = size > 1 and parameter_count(objective) < SMALL_UPDATE
        self._replicas = [(share_parameters(objective), torch.Generator()) for _ in range(size - 1)]
        self._threads = ThreadPoolExecutor(
            max(1, size - 1), initializer=torch.set_num_threads, initargs=(self.threads_each,)
        )

    def seed(self, seed: int) -> None:
        """Seed all generators; each thread has its own."""
        torch.manual_seed(seed)
        for number, (_, generator) in enumerate(self._replicas, start=1):
            generator.manual_seed((seed + number) % 2**63)

    def update_threads(self) -> AbstractContextManager[None]:
        """The threads of everything else in a step: a small update waits for no other thread."""
        return torch_threads(self.threads_each) if self.is_small else nullcontext()

    def add_gradients(self, parts: Sequence[Any], loss: MicrobatchLoss) -> float:
        """The loss of all parts; its gradients are added to those of the parameters."""
        if len(parts) == 1:
            return self._backward(parts[0], loss)
        with torch_threads(self.threads_each):
            jobs = [
                self._threads.submit(self._gradients, part, loss, *replica)
                for part, replica in zip(parts[1:], self._replicas, strict=False)
            ]
            total = self._backward(parts[0], loss)
            for job in jobs:
                value, gradients = job.result()
                total += value
                for parameter, gradient in zip(self.parameters, gradients, strict=True):
                    if gradient is not None:
                        parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        return total

    def _backward(self, part: Any, loss: MicrobatchLoss) -> float:
        value = loss(self.objective, part)
        value.backward()  # type: ignore[no-untyped-call]
        return float(value.detach())

    def _gradients(
        self, part: Any, loss: MicrobatchLoss, objective: nn.Module, generator: torch.Generator
    ) -> tuple[float, Sequence[Tensor | None]]:
        """Not added to the parameters here: only the caller's thread writes them."""
        with use_generator(generator):
            value = loss(objective, part)
        return float(value.detach()), torch.autograd.grad(value, self.parameters, allow_unused=True)


def share_parameters(module: nn.Module) -> nn.Module:
    """A copy of the module that has the same parameters, and its own buffers."""
    return copy.deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})


def microbatch_thread_count(model: nn.Module, *, threads: int, device: str, sharded: bool) -> int:
    """How many threads may process parts of a batch: one, if the parts would interfere."""
    is_independent = device == "cpu" and not sharded and not any(map(_uses_global_generator, model.modules()))
    return min(threads, MAX_MICROBATCHES) if is_independent else 1


def _uses_global_generator(module: nn.Module) -> bool:
    """Whether a module's dropout is a number (attention, torch's RNNs): torch then draws from its global generator."""
    dropout = getattr(module, "dropout", None)
    return isinstance(dropout, float) and dropout > 0


# --- one thread for small work ---------------------------------------------------------------------------------------

SMALL_WORK = 2**26  # multiply-adds: a few milliseconds in a hundred operations, at whose ends threads would wait
SMALL_UPDATE = 2**23  # parameters: one thread updates them in a few milliseconds


def threads_for(work: float) -> AbstractContextManager[None]:
    """Within the block, torch uses one thread if there are only so many multiply-adds to do."""
    return torch_threads(1) if work < SMALL_WORK else nullcontext()


def parameter_count(model: object) -> int:
    """How many parameters a model has: as many multiply-adds does it need for a token."""
    return sum(parameter.numel() for parameter in model.parameters()) if isinstance(model, nn.Module) else 0


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within the block, torch uses this number of threads."""
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def set_threads(threads: int, *, processes: int = 1) -> int:
    """Set the number of torch's threads; 0: this process's part of the cores. Returns the number."""
    threads = threads or max(1, usable_cores() // processes)
    torch.set_num_threads(threads)
    return threads

"""The processes that train one model together: who they are, and the few things they say to each other.

Gradients are added up here, in pieces whose layout never changes, and not by torch's DistributedDataParallel: that one
lays its pieces out anew after its first step, so that with three ranks or more the sums of a restarted run would be
rounded differently from those of a run that was never stopped.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as communication
from torch import Tensor

from regard.errors import RegardError

PATIENCE = timedelta(hours=12)  # that ranks wait for the first one while it cuts a large corpus into tokens
PIECE = 2**23  # numbers added up at once: enough to be fast, few enough not to need a second copy of the model
Result = TypeVar("Result")


@dataclass(frozen=True)
class World:
    """One process among `size`; the first one alone writes files and speaks."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of this machine
    local_size: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def total(self, value: float) -> float:
        """The sum of what every rank gives."""
        return self._reduced(value, communication.ReduceOp.SUM)

    def largest(self, value: float) -> float:
        """The largest of what the ranks give."""
        return self._reduced(value, communication.ReduceOp.MAX)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks: the same bits on each of them."""
        if self.size == 1:
            return
        for piece in _pieces(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in piece])
            with _in_touch():
                communication.all_reduce(flat)
            sums = torch.split(flat, [tensor.numel() for tensor in piece])
            for tensor, added in zip(piece, sums, strict=True):
                tensor.copy_(added.view_as(tensor))

    def told_by_first(self, values: Sequence[float]) -> list[float]:
        """The numbers that the first rank gives, whatever the others give; as many of them everywhere."""
        if self.size == 1:
            return list(values)
        numbers = torch.tensor(values, dtype=torch.float64)
        with _in_touch():
            communication.broadcast(numbers, src=0)
        return numbers.tolist()

    def after_first(self, action: Callable[[], Result]) -> Result:
        """The result of the action, which no other rank begins before the first one has ended it."""
        if not self.is_first:
            self.wait()
        result = action()
        if self.is_first:
            self.wait()
        return result

    def wait(self) -> None:
        """Go on when every rank has come here."""
        self.total(0.0)

    def _reduced(self, value: float, how: "communication.ReduceOp.RedOpType") -> float:
        if self.size == 1:
            return value
        number = torch.tensor([value], dtype=torch.float64)
        with _in_touch():
            communication.all_reduce(number, op=how)
        return float(number)


ALONE = World()


@contextmanager
def joined_world() -> Iterator[World]:
    """The world that torchrun, or `regard train --processes`, put this process into; a world of one without them."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    with _in_touch():
        rank, size = _join()
    try:
        local_rank, local_size = (int(os.environ.get(name, "0")) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
        yield World(rank, size, local_rank, max(1, local_size))
    finally:
        communication.destroy_process_group()


def is_restarted() -> bool:
    """Whether torchrun started this process in place of one that died."""
    return _restarts() > 0


def _join() -> tuple[int, int]:
    """Meet the others; returns rank and size."""
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and communication.is_nccl_available() else "gloo"
    store, rank, size = next(communication.rendezvous("env://", timeout=PATIENCE))  # type: ignore[attr-defined]
    # torchrun's store outlives its workers: without a name of their own, restarted ones would call the dead.
    own = communication.PrefixStore(f"restart-{_restarts()}", store)  # type: ignore[attr-defined]
    communication.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=PATIENCE)
    return rank, size


def _restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@contextmanager
def _in_touch() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = (str(error) or "no reason given").splitlines()[0]
        raise RegardError(
            f"another process of this run is gone, or out of reach: {reason}. "
            "Look for its own message, then go on with --resume."
        ) from None


def _pieces(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors in their order, in groups of about PIECE numbers."""
    piece: list[Tensor] = []
    for tensor in tensors:
        if piece and sum(one.numel() for one in piece) + tensor.numel() > PIECE:
            yield piece
            piece = []
        piece.append(tensor)
    if piece:
        yield piece

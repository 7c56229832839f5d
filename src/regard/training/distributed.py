"""The processes that train one model together: start them, join them, and sum over them.

Gradients are summed here, in buckets whose layout never changes, and not by torch's DistributedDataParallel: it changes
the layout of its buckets after the first step, so that with three ranks or more a resumed run would round differently
from a run without interruption. For models that do not fit on one device, torch's FSDP2 shards every weight, gradient
and moment over the ranks; checkpoints and bundles hold full tensors, so a run can change between both.
"""

import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import torch
import torch.distributed as communication
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.errors import RegardError
from regard.process import exit_with_parent

JOIN_TIMEOUT = timedelta(hours=12)  # for which ranks wait while rank 0 tokenises a large corpus
SHUTDOWN_SECONDS = 600  # that stopped processes have to end a step and save it
LAUNCHED_VARIABLE = "REGARD_LAUNCHED"  # set in the processes that `launch` starts
BUCKET_NUMBERS = 2**23  # summed at once: enough to be fast, and much less than a copy of the model
Result = TypeVar("Result")


@dataclass(frozen=True)
class ProcessGroup:
    """One of `size` processes; only rank 0 writes files and prints."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of this machine
    local_size: int = 1

    @property
    def is_rank0(self) -> bool:
        return self.rank == 0

    def sum(self, value: float) -> float:
        """The sum over all ranks."""
        return self._all_reduce(value, communication.ReduceOp.SUM)

    def max(self, value: float) -> float:
        """The maximum over all ranks."""
        return self._all_reduce(value, communication.ReduceOp.MAX)

    def all_reduce_sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all ranks; the result is bitwise the same on each."""
        if self.size == 1:
            return
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            with _explain_lost_process():
                communication.all_reduce(flat)
            sums = torch.split(flat, [tensor.numel() for tensor in bucket])
            for tensor, added in zip(bucket, sums, strict=True):
                tensor.copy_(added.view_as(tensor))

    def broadcast_from_rank0(self, values: Sequence[float]) -> list[float]:
        """The numbers of rank 0; every rank must give as many."""
        if self.size == 1:
            return list(values)
        numbers = torch.tensor(values, dtype=torch.float64)
        with _explain_lost_process():
            communication.broadcast(numbers, src=0)
        return numbers.tolist()

    def rank0_first(self, action: Callable[[], Result]) -> Result:
        """The result of the action, which the other ranks start after rank 0 has ended it."""
        if not self.is_rank0:
            self.barrier()
        result = action()
        if self.is_rank0:
            self.barrier()
        return result

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.sum(0.0)

    def _all_reduce(self, value: float, operation: "communication.ReduceOp.RedOpType") -> float:
        if self.size == 1:
            return value
        number = torch.tensor([value], dtype=torch.float64)
        with _explain_lost_process():
            communication.all_reduce(number, op=operation)
        return float(number)


SINGLE_PROCESS = ProcessGroup()


def launch(processes: int, arguments: Sequence[str], signals: Sequence[signal.Signals]) -> int:
    """Run a regard command in several processes on this machine; returns the exit code of the first that failed.

    The signals are forwarded to the processes. Only rank 0 prints; the output of another rank is printed if it fails.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.ERROR)  # of the launcher, which reports each signal and each failed process
    os.environ[LAUNCHED_VARIABLE] = "1"
    with TemporaryDirectory() as folder:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id="regard",
            rdzv_backend="c10d",
            rdzv_endpoint="127.0.0.1:0",
            local_addr="127.0.0.1",
            max_restarts=0,
            monitor_interval=0.1,
            logs_specs=DefaultLogsSpecs(log_dir=folder, redirects=dict.fromkeys(range(1, processes), Std.ALL)),
            signals_to_handle=",".join(one.name for one in signals),
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        try:
            elastic_launch(config, sys.executable)("-m", "regard", *arguments)
        except SignalException as stop:
            return 128 + int(stop.sigval)
        except ChildFailedError as error:
            rank, failure = error.get_first_failure()
            for log in Path(folder).glob(f"*/attempt_0/{rank}/stderr.log"):
                sys.stderr.write(log.read_text(encoding="utf-8", errors="replace"))
            return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode
    return 0


@contextmanager
def join_process_group() -> Iterator[ProcessGroup]:
    """The group of this process, started by torchrun or by `launch`; otherwise a group of one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SINGLE_PROCESS
        return
    if LAUNCHED_VARIABLE in os.environ:
        exit_with_parent()
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and communication.is_nccl_available() else "gloo"
    with _explain_lost_process():
        store, rank, size = next(communication.rendezvous("env://", timeout=JOIN_TIMEOUT))  # type: ignore[attr-defined]
        # torchrun's store outlives its workers: without a prefix, restarted workers would connect to dead ones.
        own = communication.PrefixStore(f"restart-{_restart_count()}", store)  # type: ignore[attr-defined]
        communication.init_process_group(backend, store=own, rank=rank, world_size=size, timeout=JOIN_TIMEOUT)
    try:
        local_rank, local_size = (int(os.environ.get(name, "0")) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
        yield ProcessGroup(rank, size, local_rank, max(1, local_size))
    finally:
        communication.destroy_process_group()


def is_restarted() -> bool:
    """Whether torchrun started this process to replace one that died."""
    return _restart_count() > 0


def _restart_count() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@contextmanager
def _explain_lost_process() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = (str(error) or "no reason given").splitlines()[0]
        raise RegardError(
            f"another process of this run has ended or cannot be reached: {reason}. "
            "See its own error message, and continue with --resume."
        ) from None


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """The tensors in their order, in groups of at most BUCKET_NUMBERS numbers."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        if bucket and sum(one.numel() for one in bucket) + tensor.numel() > BUCKET_NUMBERS:
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def shard_parameters(objective: nn.Module, group: ProcessGroup, device: str) -> None:
    """Shard the parameters over the ranks; the matrices of repeated blocks are gathered one by one when needed."""
    # FSDP2 warns of outputs changed in place, which would lose gradients; our models do not do that (tested).
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view", category=UserWarning)
    mesh = init_device_mesh(device.split(":")[0], (group.size,))
    for module in objective.modules():
        if isinstance(module, nn.ModuleList):
            for matrix in (inner for inner in module.modules() if isinstance(inner, nn.Linear)):
                fully_shard(matrix, mesh=mesh)
    fully_shard(objective, mesh=mesh)


def all_reduce_gradients(parameters: Iterable[nn.Parameter], group: ProcessGroup) -> None:
    """Replace each gradient by its sum over all ranks."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if gradients and isinstance(gradients[0], DTensor):
        torch._foreach_mul_(gradients, group.size)  # FSDP2 has averaged them
    else:
        group.all_reduce_sum(gradients)


def full_tensor(tensor: Tensor) -> Tensor:
    """The tensor; if it is sharded, all shards together. Every rank must call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def full_state(named: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Every tensor without shards, on the CPU."""
    return {name: full_tensor(tensor.detach()).cpu().contiguous() for name, tensor in named}


def shard_like(tensor: Tensor, model: Tensor) -> Tensor:
    """The tensor on the other's device, sharded in the same way."""
    if isinstance(model, DTensor) and tensor.shape == model.shape:
        return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements, src_data_rank=None)
    return tensor.to(model.device)

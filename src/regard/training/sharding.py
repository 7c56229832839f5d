"""A model spread over the ranks (torch's FSDP2): each keeps a part of every weight, gradient and moment.

For models whose training does not fit one device. What leaves the run (checkpoints, bundles) is whole again, so a run
may go on replicated that was begun sharded, and the other way about.
"""

import warnings
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.training.distributed import World


def spread(objective: nn.Module, world: World, device: str) -> None:
    """Spread the parameters over the ranks; matrices of repeated blocks are gathered one by one, as they are needed."""
    # It warns of outputs changed in place, which would lose gradients; no model of ours does that, and a test compares.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view", category=UserWarning)
    mesh = init_device_mesh(device.split(":")[0], (world.size,))
    for module in objective.modules():
        if isinstance(module, nn.ModuleList):
            for matrix in (inner for inner in module.modules() if isinstance(inner, nn.Linear)):
                fully_shard(matrix, mesh=mesh)
    fully_shard(objective, mesh=mesh)


def add_up_gradients(parameters: Iterable[nn.Parameter], world: World) -> None:
    """Make each gradient the sum over all ranks."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if gradients and isinstance(gradients[0], DTensor):
        torch._foreach_mul_(gradients, world.size)  # they have been averaged on their way
    else:
        world.add_up(gradients)


def whole(tensor: Tensor) -> Tensor:
    """The tensor itself or, where each rank has a part of it, all parts joined; every rank must ask."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_tensors(named: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Every tensor whole, and off the device."""
    return {name: whole(tensor.detach()).cpu().contiguous() for name, tensor in named}


def like(tensor: Tensor, model: Tensor) -> Tensor:
    """The tensor on the other one's device, spread as the other one is."""
    if isinstance(model, DTensor) and tensor.shape == model.shape:
        return distribute_tensor(tensor.to(model.device), model.device_mesh, model.placements, src_data_rank=None)
    return tensor.to(model.device)

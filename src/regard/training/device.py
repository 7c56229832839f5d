"""Where and how a run computes: the device, its threads, and the precision that it is good at."""

from contextlib import AbstractContextManager, nullcontext

import torch

from regard.config import TrainingConfig
from regard.errors import RegardError
from regard.translation.engines import usable_cores


def choose_device(name: str, local_rank: int = 0) -> str:
    """The device asked for, or for "auto" the fastest there is; of several graphics cards, each rank takes its own."""
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return f"cuda:{local_rank % torch.cuda.device_count()}"
    if name == "auto":
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise RegardError(f"training.device is {name!r}, which cannot be used: {reason}. Set it to auto.") from None
    return name


def set_threads(config: TrainingConfig, *, sharing: int = 1) -> int:
    """Use as many threads as the config says, or this process's part of the cores; returns how many."""
    threads = config.threads or max(1, usable_cores() // sharing)
    torch.set_num_threads(threads)
    return threads


def dtype_of(config: TrainingConfig, device: str) -> torch.dtype:
    """What products are computed in: bfloat16 where it was asked for, or where "auto" finds hardware for it."""
    is_narrow = config.precision == "bfloat16" or (config.precision == "auto" and multiplies_bfloat16(device))
    return torch.bfloat16 if is_narrow else torch.float32


def multiplies_bfloat16(device: str) -> bool:
    """Whether the hardware has instructions for it; without them a processor would be slower than in float32."""
    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has = torch.cpu.get_capabilities() if device.startswith("cpu") else {}
    return any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def precision_of(config: TrainingConfig, device: str) -> AbstractContextManager[object]:
    """A context for the forward pass in its precision."""
    dtype, kind = dtype_of(config, device), device.split(":")[0]
    # Weights once rounded are not kept: threads would share what is kept, and throw it away at moments left to chance.
    return nullcontext() if dtype == torch.float32 else torch.autocast(kind, dtype, cache_enabled=kind != "cpu")

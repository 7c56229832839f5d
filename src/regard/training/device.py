"""Where and how a run computes: the device, its threads, and the precision that it is good at."""

import os
from contextlib import AbstractContextManager, nullcontext

import torch

from regard.config import TrainingConfig
from regard.errors import RegardError


def choose_device(name: str) -> str:
    """The device asked for, or for "auto" the fastest there is."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise RegardError(f"training.device is {name!r}, which cannot be used: {reason}. Set it to auto.") from None
    return name


def set_threads(config: TrainingConfig) -> int:
    """Use as many threads as the config says, or as the process may use cores; returns how many."""
    threads = config.threads or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [None])
    torch.set_num_threads(threads)
    return threads


def precision_of(config: TrainingConfig, device: str) -> AbstractContextManager[object]:
    """A context for the forward pass: bfloat16 where it was asked for, or where "auto" finds hardware for it."""
    has_hardware = device.startswith("cuda") and torch.cuda.is_bf16_supported()
    if config.precision == "bfloat16" or (config.precision == "auto" and has_hardware):
        return torch.autocast(device.split(":")[0], dtype=torch.bfloat16)
    return nullcontext()

"""A run's state at one step: weights, optimiser, averages, the place in the data. Directories that appear whole.

Nothing random is saved, because nothing random is carried over: what dropout and sampling draw at a step is a function
of the seed and the step.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec
from safetensors.torch import save as save_tensors
from torch import Tensor

from regard.bundle import read_tensors
from regard.errors import RegardError
from regard.manifest import read_verified, write_manifest
from regard.staged import staged_directory

KIND, VERSION = "checkpoint", 1
WEIGHTS, OPTIMISER, AVERAGE, PROGRESS = (
    "weights.safetensors",
    "optimiser.safetensors",
    "average.safetensors",
    "progress.json",
)
_NAME = re.compile(r"step-(\d{8})")


class Progress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a run has come."""

    step: int
    epoch: int
    cursor: int
    seconds: float
    best_score: float | None
    best_step: int
    validations_without_better: int
    surroundings: dict[str, str]  # threads, versions, data: what a bitwise equal continuation depends on


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on."""

    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    average: dict[str, Tensor]  # empty without a moving average
    progress: Progress


def save_checkpoint(parent: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a directory of its own, named after its step."""
    directory = parent / f"step-{checkpoint.progress.step:08d}"
    with staged_directory(directory) as staging:
        (staging / WEIGHTS).write_bytes(save_tensors(checkpoint.weights))
        (staging / OPTIMISER).write_bytes(save_tensors(checkpoint.optimiser))
        (staging / AVERAGE).write_bytes(save_tensors(checkpoint.average))
        (staging / PROGRESS).write_bytes(msgspec.json.encode(checkpoint.progress))
        write_manifest(staging, KIND, VERSION)
    return directory


def load_checkpoint(directory: Path) -> Checkpoint:
    """The checkpoint in a directory, every file checked against its hash."""
    files = read_verified(directory, KIND, VERSION)
    try:
        progress = msgspec.json.decode(files[PROGRESS], type=Progress)
        weights, optimiser, average = (
            read_tensors(files[name], directory / name) for name in (WEIGHTS, OPTIMISER, AVERAGE)
        )
    except (KeyError, msgspec.DecodeError) as error:
        raise RegardError(
            f"{directory} is not a whole checkpoint: {error}. Remove it; an older one will serve."
        ) from None
    return Checkpoint(weights, optimiser, average, progress)


def load_weights(directory: Path) -> dict[str, Tensor]:
    """The weights of a checkpoint alone."""
    return read_tensors(read_verified(directory, KIND, VERSION)[WEIGHTS], directory / WEIGHTS)


def checkpoints(parent: Path) -> list[Path]:
    """The checkpoints of a run, the oldest first."""
    found = [path for path in parent.glob("step-*") if path.is_dir() and _NAME.fullmatch(path.name)]
    return sorted(found, key=step_of)


def step_of(directory: Path) -> int:
    """The step that a checkpoint's name tells."""
    match = _NAME.fullmatch(directory.name)
    return int(match[1]) if match else -1


def newest_that_verifies(parent: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint whose every file is as it was written, and what was wrong with those passed over."""
    passed_over: list[str] = []
    for directory in reversed(checkpoints(parent)):
        try:
            return load_checkpoint(directory), passed_over
        except RegardError as error:
            passed_over.append(str(error))
    return None, passed_over


def prune(parent: Path, *, keep: int, best_step: int) -> None:
    """Remove old checkpoints, but neither the newest ones nor the best."""
    for directory in checkpoints(parent)[:-keep]:
        if step_of(directory) != best_step:
            shutil.rmtree(directory, ignore_errors=True)

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
from regard.manifest import read_verified, verify, write_manifest
from regard.staged import staged_directory
from regard.training.space import require_space

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
    skips_in_a_row: int
    surroundings: dict[str, str]  # what a bitwise equal continuation depends on, and what the best score is a score of


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on."""

    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    average: dict[str, Tensor]  # empty without a moving average
    progress: Progress


def checkpoint_directory(parent: Path, step: int) -> Path:
    """Where the checkpoint of a step is."""
    return parent / f"step-{step:08d}"


def save_checkpoint(parent: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a directory of its own, named after its step, and read it back to see it is whole."""
    directory = checkpoint_directory(parent, checkpoint.progress.step)
    parts = (checkpoint.weights, checkpoint.optimiser, checkpoint.average)
    require_space(directory, (tensor for part in parts for tensor in part.values()))
    with staged_directory(directory) as staging:
        (staging / WEIGHTS).write_bytes(save_tensors(checkpoint.weights))
        (staging / OPTIMISER).write_bytes(save_tensors(checkpoint.optimiser))
        (staging / AVERAGE).write_bytes(save_tensors(checkpoint.average))
        (staging / PROGRESS).write_bytes(msgspec.json.encode(checkpoint.progress))
        write_manifest(staging, KIND, VERSION)
    verify(directory, KIND, VERSION)
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
    if progress.step != step_of(directory):
        raise RegardError(f"{directory / PROGRESS} is of step {progress.step}: the directory was renamed. Remove it.")
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


def prune(parent: Path, *, keep: int, every: int, best_step: int) -> None:
    """Remove old checkpoints, but neither the newest regular ones, nor the newest of all, nor the best."""
    kept = {*regular(parent, every)[-keep:], *checkpoints(parent)[-1:], checkpoint_directory(parent, best_step)}
    for directory in checkpoints(parent):
        if directory not in kept:
            shutil.rmtree(directory, ignore_errors=True)


def regular(parent: Path, every: int) -> list[Path]:
    """The checkpoints that a run without interruptions has too, its last one included; the oldest first."""
    found = checkpoints(parent)
    return [directory for directory in found if step_of(directory) % every == 0 or directory == found[-1]]

"""Checkpoints: write, verify, delete and list them, and resume a run from the latest valid one.

A checkpoint holds the weights, the optimizer, the averages and the position in the data. Nothing random is saved,
because dropout and sampling depend on the seed and the step only. Its directory appears complete or not at all.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import torch
from safetensors.torch import save as save_tensors
from torch import Tensor

from regard import __version__
from regard.bundle import load_weights as load_model_weights
from regard.bundle import read_tensors
from regard.data.batch_order import EpochPosition
from regard.errors import RegardError
from regard.files import atomic_directory, read_verified, remove_stale_temporaries, verify_files, write_manifest
from regard.struct_decoding import decode_json
from regard.training.distributed import full_state, shard_like
from regard.training.events import CheckpointSaved
from regard.training.step import Trainer

CHECKPOINT_KIND, CHECKPOINT_VERSION = "checkpoint", 1
WEIGHTS_FILE, OPTIMIZER_FILE, EMA_FILE, STATE_FILE = (
    "model.safetensors",
    "optimizer.safetensors",
    "ema.safetensors",
    "trainer_state.json",
)
KEPT_CHECKPOINTS = 3  # besides the best one
SPARE_BYTES = 2**16  # for headers, the manifest and directories
NO_CHECKPOINT, DAMAGED_CHECKPOINTS = -1, -2  # instead of a step
ORDER_KEYS = ("data", "seed", "batch_tokens")  # of the environment: they determine the order of the batches
METRIC_KEYS = ("validation_metric", "valid")  # they determine what the best metric means
DIGEST_MESSAGES = {  # for those values of the environment that are hashes
    "data": "the training files, or the options that filter their pairs, have changed",
    "valid": "the validation data have changed",
}
METRIC_CONSEQUENCE = "earlier scores cannot be compared with later ones, so the search for the best one starts over"
ORDER_CONSEQUENCE = "the result will not be bitwise the same"
_OUT_OF_MEMORY_MESSAGES = ("can't allocate memory", "not enough memory", "out of memory")
_STEP_NAME = re.compile(r"step-(\d{8})")


# --- files


class TrainerState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The progress of a run."""

    step: int
    epoch: int
    cursor: int
    seconds: float
    best_metric: float | None
    best_step: int
    validations_without_improvement: int
    consecutive_skips: int
    environment: dict[str, str]  # what a bitwise equal continuation and the best metric depend on


@dataclass(frozen=True)
class Checkpoint:
    """Everything that is needed to continue."""

    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    ema: dict[str, Tensor]  # empty without a moving average
    state: TrainerState


def checkpoint_directory(parent: Path, step: int) -> Path:
    """The directory of the checkpoint of a step."""
    return parent / f"step-{step:08d}"


def save_checkpoint(parent: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a directory named after its step, and verify it."""
    directory = checkpoint_directory(parent, checkpoint.state.step)
    parts = (checkpoint.weights, checkpoint.optimizer, checkpoint.ema)
    require_disk_space(directory, (tensor for part in parts for tensor in part.values()))
    with atomic_directory(directory) as staging:
        (staging / WEIGHTS_FILE).write_bytes(save_tensors(checkpoint.weights))
        (staging / OPTIMIZER_FILE).write_bytes(save_tensors(checkpoint.optimizer))
        (staging / EMA_FILE).write_bytes(save_tensors(checkpoint.ema))
        (staging / STATE_FILE).write_bytes(msgspec.json.encode(checkpoint.state))
        write_manifest(staging, CHECKPOINT_KIND, CHECKPOINT_VERSION)
    verify_files(directory, CHECKPOINT_KIND, CHECKPOINT_VERSION)
    return directory


def load_checkpoint(directory: Path) -> Checkpoint:
    """The checkpoint in a directory, every file checked against its hash."""
    files = read_verified(directory, CHECKPOINT_KIND, CHECKPOINT_VERSION)
    try:
        state = decode_json(files[STATE_FILE], TrainerState)
        weights, optimizer, average = (
            read_tensors(files[name], directory / name) for name in (WEIGHTS_FILE, OPTIMIZER_FILE, EMA_FILE)
        )
    except (KeyError, msgspec.DecodeError) as error:
        raise RegardError(
            f"{directory} is not a complete checkpoint: {error}. Remove it; an older one is used then."
        ) from None
    if state.step != checkpoint_step(directory):
        raise RegardError(f"{directory / STATE_FILE} is of step {state.step}: the directory was renamed. Remove it.")
    return Checkpoint(weights, optimizer, average, state)


def load_weights(directory: Path) -> dict[str, Tensor]:
    """Only the weights of a checkpoint."""
    return read_tensors(
        read_verified(directory, CHECKPOINT_KIND, CHECKPOINT_VERSION)[WEIGHTS_FILE], directory / WEIGHTS_FILE
    )


def list_checkpoints(parent: Path) -> list[Path]:
    """The checkpoints of a run, the oldest first."""
    found = [path for path in parent.glob("step-*") if path.is_dir() and _STEP_NAME.fullmatch(path.name)]
    return sorted(found, key=checkpoint_step)


def checkpoint_step(directory: Path) -> int:
    """The step in a checkpoint's name."""
    match = _STEP_NAME.fullmatch(directory.name)
    return int(match[1]) if match else -1


def latest_valid_checkpoint(parent: Path) -> tuple[Checkpoint | None, list[str]]:
    """The latest checkpoint whose hashes match, and the problems of the later ones."""
    skipped: list[str] = []
    for directory in reversed(list_checkpoints(parent)):
        try:
            return load_checkpoint(directory), skipped
        except RegardError as error:
            skipped.append(str(error))
    return None, skipped


def delete_old_checkpoints(parent: Path, *, keep: int, every: int, best_step: int) -> None:
    """Delete old checkpoints, but keep the latest scheduled ones, the latest of all, and the best."""
    kept = {
        *scheduled_checkpoints(parent, every)[-keep:],
        *list_checkpoints(parent)[-1:],
        checkpoint_directory(parent, best_step),
    }
    for directory in list_checkpoints(parent):
        if directory not in kept:
            shutil.rmtree(directory, ignore_errors=True)


def scheduled_checkpoints(parent: Path, every: int) -> list[Path]:
    """The checkpoints that an uninterrupted run has too, and the last one; the oldest first."""
    found = list_checkpoints(parent)
    return [directory for directory in found if checkpoint_step(directory) % every == 0 or directory == found[-1]]


# --- the state of a trainer


def save_trainer(trainer: Trainer, seconds: float) -> CheckpointSaved:
    """Write a checkpoint; old ones are deleted after the new one was verified."""
    parent, options = _checkpoints_directory(trainer), trainer.config.training
    checkpoint = _snapshot_trainer(trainer, seconds)  # every rank takes part
    if trainer.group.is_rank0:
        save_checkpoint(parent, checkpoint)
        keep = max(KEPT_CHECKPOINTS, options.average_checkpoints)
        delete_old_checkpoints(parent, keep=keep, every=options.checkpoint_every, best_step=trainer.best_step)
    directory = checkpoint_directory(parent, trainer.step)
    return CheckpointSaved(step=trainer.step, path=str(directory.relative_to(trainer.run)))


def _snapshot_trainer(trainer: Trainer, seconds: float) -> Checkpoint:
    state = TrainerState(
        step=trainer.step,
        epoch=trainer.position.epoch,
        cursor=trainer.position.cursor,
        seconds=seconds,
        best_metric=trainer.best_metric,
        best_step=trainer.best_step,
        validations_without_improvement=trainer.validations_without_improvement,
        consecutive_skips=trainer.consecutive_skips,
        environment=_environment(trainer),
    )
    weights = full_state([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    optimizer = full_state(
        (f"{name}/{part}", tensor)
        for name, parameter in trainer.model.named_parameters()
        for part, tensor in trainer.optimizer.state.get(parameter, {}).items()
    )
    average = full_state(trainer.ema.weights.items()) if trainer.ema else {}
    return Checkpoint(weights, optimizer, average, state)


def remove_stale_files(run: Path) -> None:
    """Remove the unfinished files of killed processes; the run must be locked."""
    for directory in (run, run / "checkpoints", run / "probes"):
        remove_stale_temporaries(directory)


def resume_trainer(trainer: Trainer) -> list[str]:
    """Restore the latest valid checkpoint; returns notes for the user."""
    checkpoint, notes = _latest_checkpoint(trainer)
    if checkpoint is None:
        return [*notes, "no checkpoint was found: training starts from the beginning"]
    _restore_trainer(trainer, checkpoint)
    before, now = checkpoint.state.environment, _environment(trainer)
    changed = [name for name, value in now.items() if before.get(name, value) != value]
    notes.append(f"resuming from step {trainer.step}")
    for name in changed:
        difference = DIGEST_MESSAGES.get(name, f"{name} was {before[name]} and is now {now[name]}")
        notes.append(f"{difference}: {METRIC_CONSEQUENCE if name in METRIC_KEYS else ORDER_CONSEQUENCE}")
    if trainer.ema is not None and not checkpoint.ema:
        notes.append("the moving average starts here: the checkpoint has none")
    if any(name in METRIC_KEYS for name in changed):
        trainer.best_metric, trainer.validations_without_improvement = None, 0
    if checkpoint.state.cursor > 0 and any(name in ORDER_KEYS for name in changed):
        trainer.position = EpochPosition(trainer.epoch, 0)
        notes.append(f"epoch {trainer.epoch + 1} starts over: its batches have changed")
    return notes


def _latest_checkpoint(trainer: Trainer) -> tuple[Checkpoint | None, list[str]]:
    """The latest valid checkpoint, chosen by rank 0 for all ranks."""
    parent, group = _checkpoints_directory(trainer), trainer.group
    checkpoint, notes = latest_valid_checkpoint(parent) if group.is_rank0 else (None, [])
    missing = DAMAGED_CHECKPOINTS if notes else NO_CHECKPOINT
    [step] = group.broadcast_from_rank0([checkpoint.state.step if checkpoint else missing])
    if step == DAMAGED_CHECKPOINTS:
        reasons = "\n".join(f"  {note}" for note in notes)
        raise RegardError(
            f"no checkpoint of {parent} can be read, and starting over would replace the existing model.\n"
            f"{reasons}\nRestore one, or start another run with --run DIR."
        )
    if step >= 0 and not group.is_rank0:
        checkpoint = load_checkpoint(checkpoint_directory(parent, int(step)))
    return checkpoint, notes


def _restore_trainer(trainer: Trainer, checkpoint: Checkpoint) -> None:
    state = checkpoint.state
    origin = checkpoint_directory(_checkpoints_directory(trainer), state.step)
    own = dict([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    fitting = {
        name: shard_like(tensor, own[name]) if name in own else tensor for name, tensor in checkpoint.weights.items()
    }
    load_model_weights(trainer.model, fitting, origin=str(origin))
    moments: dict[str, dict[str, Tensor]] = {}
    for key, tensor in checkpoint.optimizer.items():
        name, _, part = key.rpartition("/")
        moments.setdefault(name, {})[part] = tensor
    for name, parameter in trainer.model.named_parameters():
        # The step count stays on its device; the moments are on that of the parameter.
        trainer.optimizer.state[parameter] = {
            part: shard_like(tensor, parameter) for part, tensor in moments.get(name, {}).items()
        }
    if trainer.ema is not None:
        known = {name: checkpoint.ema.get(name, checkpoint.weights[name].clone()) for name in trainer.ema.weights}
        trainer.ema.weights = {name: shard_like(tensor, own[name]) for name, tensor in known.items()}
    trainer.step, trainer.seconds = state.step, state.seconds
    trainer.position, trainer.epoch = EpochPosition(state.epoch, state.cursor), state.epoch
    trainer.best_metric, trainer.best_step = state.best_metric, state.best_step
    trainer.validations_without_improvement = state.validations_without_improvement
    trainer.consecutive_skips = state.consecutive_skips


def _environment(trainer: Trainer) -> dict[str, str]:
    return {
        "threads": str(torch.get_num_threads()),
        "processes": str(trainer.group.size),
        "parallelism": trainer.config.training.parallelism,
        "device": trainer.device.split(":")[0],
        "precision": trainer.precision,
        "seed": str(trainer.config.training.seed),
        "batch_tokens": str(trainer.config.training.batch_tokens),
        "gradient_accumulation": str(trainer.config.training.gradient_accumulation),
        "regard": __version__,
        "torch": str(torch.__version__),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "data": trainer.corpus.fingerprint,
        "validation_metric": trainer.config.training.validation_metric,
        "valid": trainer.corpus.valid_fingerprint,
    }


def _checkpoints_directory(trainer: Trainer) -> Path:
    return trainer.run / "checkpoints"


# --- space on the disk and in memory


def require_disk_space(path: Path, tensors: Iterable[Tensor]) -> None:
    """An error if the tensors do not fit on the disk."""
    needed = sum(tensor.numel() * tensor.element_size() for tensor in tensors) + SPARE_BYTES
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise RegardError(
            f"{path} needs {needed:,} bytes, but the disk has {free:,} free. Free some space and continue with "
            "--resume; earlier checkpoints are unchanged."
        )


@contextmanager
def explain_out_of_memory(advice: str) -> Iterator[None]:
    """Turn the many errors of exhausted memory into one with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and not any(
            sign in str(error).lower() for sign in _OUT_OF_MEMORY_MESSAGES
        ):
            raise
        reason = (str(error) or "no memory is left").splitlines()[0]
        raise RegardError(f"there is not enough memory: {reason}. {advice}") from None

"""Saving a run and going on with it: a checkpoint holds all that the next step depends on."""

from pathlib import Path

import torch
from torch import Tensor

from regard import __version__
from regard.bundle import restore
from regard.data import Position
from regard.errors import RegardError
from regard.staged import sweep_orphans
from regard.training.checkpoint import (
    Checkpoint,
    Progress,
    checkpoint_directory,
    load_checkpoint,
    newest_that_verifies,
    prune,
    save_checkpoint,
)
from regard.training.journal import Saved
from regard.training.sharding import like, whole, whole_tensors
from regard.training.trainer import Trainer

NONE, DAMAGED = -1, -2  # in the place of a checkpoint's step
ORDERING = ("data", "seed", "batch_tokens")  # of the surroundings: what the order of the batches follows from
MEASURING = ("metric", "valid")  # what a score is a score of
DIGESTS = {  # of the surroundings, those that say nothing to people
    "data": "the training files, or the options that choose among their pairs, have changed",
    "valid": "what is validated on has changed",
}


def save(trainer: Trainer, seconds: float) -> Saved:
    """Write a checkpoint; the older ones go only after the new one has been read back."""
    parent, options = _parent(trainer), trainer.config.training
    checkpoint = _snapshot(trainer, seconds)  # every rank has a part in it
    if trainer.world.is_first:
        save_checkpoint(parent, checkpoint)
        keep = max(options.keep, options.average)
        prune(parent, keep=keep, every=options.checkpoint_every, best_step=trainer.best_step)
    directory = checkpoint_directory(parent, trainer.step)
    return Saved(step=trainer.step, directory=str(directory.relative_to(trainer.run)))


def _snapshot(trainer: Trainer, seconds: float) -> Checkpoint:
    progress = Progress(
        step=trainer.step,
        epoch=trainer.position.epoch,
        cursor=trainer.position.cursor,
        seconds=seconds,
        best_score=trainer.best_score,
        best_step=trainer.best_step,
        validations_without_better=trainer.without_better,
        skips_in_a_row=trainer.skips_in_a_row,
        surroundings=_surroundings(trainer),
    )
    weights = whole_tensors([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    average = whole_tensors(trainer.average.average.items()) if trainer.average else {}
    return Checkpoint(weights, _optimiser_tensors(trainer), average, progress)


def sweep(run: Path) -> None:
    """Remove what killed processes left half-written anywhere in a run; its lock must be held."""
    for directory in (run, run / "checkpoints", run / "probes"):
        sweep_orphans(directory)


def go_on(trainer: Trainer) -> list[str]:
    """Put the newest good checkpoint into a run; returns what the user should know."""
    checkpoint, notes = _newest(trainer)
    if checkpoint is None:
        return [*notes, "no checkpoint was found: training starts from the beginning"]
    _restore(trainer, checkpoint)
    notes += [f"going on from step {trainer.step}", *_differences(trainer, checkpoint.progress.surroundings)]
    if trainer.average is not None and not checkpoint.average:
        notes.append("the moving average begins here: the checkpoint has none")
    if _differs(trainer, checkpoint.progress, MEASURING):
        trainer.best_score, trainer.without_better = None, 0
    if checkpoint.progress.cursor > 0 and _differs(trainer, checkpoint.progress, ORDERING):
        trainer.position = Position(trainer.epoch, 0)
        notes.append(f"epoch {trainer.epoch + 1} begins anew: its batches are others than those it began with")
    return notes


def _newest(trainer: Trainer) -> tuple[Checkpoint | None, list[str]]:
    """The newest good checkpoint as the first rank finds it, so that all take the same one."""
    parent, world = _parent(trainer), trainer.world
    checkpoint, notes = newest_that_verifies(parent) if world.is_first else (None, [])
    missing = DAMAGED if notes else NONE
    [step] = world.told_by_first([checkpoint.progress.step if checkpoint else missing])
    if step == DAMAGED:
        reasons = "\n".join(f"  {note}" for note in notes)
        raise RegardError(
            f"no checkpoint of {parent} can be read, and beginning anew would replace the model that is there.\n"
            f"{reasons}\nPut one back, or begin another run with --run DIR."
        )
    if step >= 0 and not world.is_first:
        checkpoint = load_checkpoint(checkpoint_directory(parent, int(step)))
    return checkpoint, notes


def _restore(trainer: Trainer, checkpoint: Checkpoint) -> None:
    progress = checkpoint.progress
    origin = checkpoint_directory(_parent(trainer), progress.step)
    own = dict([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    fitting = {name: like(tensor, own[name]) if name in own else tensor for name, tensor in checkpoint.weights.items()}
    restore(trainer.model, fitting, origin=str(origin))
    _restore_optimiser(trainer, checkpoint.optimiser)
    if trainer.average is not None:
        known = checkpoint.average or {name: checkpoint.weights[name].clone() for name in trainer.average.average}
        trainer.average.average = {name: like(tensor, own[name]) for name, tensor in known.items()}
    trainer.step, trainer.seconds = progress.step, progress.seconds
    trainer.position, trainer.epoch = Position(progress.epoch, progress.cursor), progress.epoch
    trainer.best_score, trainer.best_step = progress.best_score, progress.best_step
    trainer.without_better = progress.validations_without_better
    trainer.skips_in_a_row = progress.skips_in_a_row


def _differences(trainer: Trainer, before: dict[str, str]) -> list[str]:
    now = _surroundings(trainer)
    return [
        f"{DIGESTS.get(name, f'{name} was {before[name]} and is now {value}')}: {_consequence(name)}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]


def _consequence(name: str) -> str:
    if name in MEASURING:
        return "scores until now cannot be compared with those to come, so the best one is sought anew"
    return "the result will not be bitwise the same"


def _differs(trainer: Trainer, progress: Progress, names: tuple[str, ...]) -> bool:
    """Whether any of these surroundings is another one now; one that an older checkpoint does not tell is not."""
    before, now = progress.surroundings, _surroundings(trainer)
    return any(before.get(name, now[name]) != now[name] for name in names)


def _optimiser_tensors(trainer: Trainer) -> dict[str, Tensor]:
    state = trainer.optimiser.state
    return {
        f"{name}/{part}": whole(tensor.detach()).cpu().contiguous()
        for name, parameter in trainer.model.named_parameters()
        for part, tensor in state.get(parameter, {}).items()
    }


def _restore_optimiser(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    for name, parameter in trainer.model.named_parameters():
        own = {key.rpartition("/")[2]: value for key, value in tensors.items() if key.rpartition("/")[0] == name}
        # The step count stays where the optimiser keeps it; the moments live beside the parameter.
        trainer.optimiser.state[parameter] = {part: like(tensor, parameter) for part, tensor in own.items()}


def _surroundings(trainer: Trainer) -> dict[str, str]:
    return {
        "threads": str(torch.get_num_threads()),
        "processes": str(trainer.world.size),
        "parallel": trainer.config.training.parallel,
        "device": trainer.device.split(":")[0],
        "precision": trainer.precision,
        "seed": str(trainer.config.training.seed),
        "batch_tokens": str(trainer.config.training.batch_tokens),
        "accumulate": str(trainer.config.training.accumulate),
        "regard": __version__,
        "torch": str(torch.__version__),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "data": trainer.corpus.fingerprint,
        "metric": trainer.config.training.metric,
        "valid": trainer.corpus.valid_fingerprint,
    }


def _parent(trainer: Trainer) -> Path:
    return trainer.run / "checkpoints"

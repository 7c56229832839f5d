"""Saving a run and going on with it: a checkpoint holds all that the next step depends on."""

import torch
from torch import Tensor

from regard.bundle import restore, tensors_of
from regard.data import Position
from regard.training.checkpoint import Checkpoint, Progress, newest_that_verifies, prune, save_checkpoint
from regard.training.journal import Saved
from regard.training.trainer import Trainer


def save(trainer: Trainer, seconds: float) -> Saved:
    parent, options = trainer.run / "checkpoints", trainer.config.training
    progress = Progress(
        step=trainer.step,
        epoch=trainer.position.epoch,
        cursor=trainer.position.cursor,
        seconds=seconds,
        best_score=trainer.best_score,
        best_step=trainer.best_step,
        validations_without_better=trainer.without_better,
        surroundings=_surroundings(trainer),
    )
    average = dict(trainer.average.average) if trainer.average else {}
    weights = tensors_of(trainer.model)
    directory = save_checkpoint(parent, Checkpoint(weights, _optimiser_tensors(trainer), average, progress))
    prune(parent, keep=max(options.keep, options.average), best_step=trainer.best_step)
    return Saved(step=trainer.step, directory=str(directory.relative_to(trainer.run)))


def go_on(trainer: Trainer) -> list[str]:
    """Put the newest good checkpoint into a run; returns what the user should know."""
    checkpoint, notes = newest_that_verifies(trainer.run / "checkpoints")
    if checkpoint is None:
        return [*notes, "no checkpoint was found: training starts from the beginning"]
    progress = checkpoint.progress
    restore(trainer.model, checkpoint.weights, origin="the checkpoint")
    _restore_optimiser(trainer, checkpoint.optimiser)
    if trainer.average is not None and checkpoint.average:
        trainer.average.average = {name: tensor.to(trainer.device) for name, tensor in checkpoint.average.items()}
    trainer.step, trainer.seconds = progress.step, progress.seconds
    trainer.position = Position(progress.epoch, progress.cursor)
    trainer.best_score, trainer.best_step = progress.best_score, progress.best_step
    trainer.without_better = progress.validations_without_better
    now = _surroundings(trainer)
    changed = [
        f"{name} was {progress.surroundings.get(name)} and is now {value}: the result will not be bitwise the same"
        for name, value in now.items()
        if progress.surroundings.get(name) != value
    ]
    return [*notes, f"going on from step {progress.step}", *changed]


def _optimiser_tensors(trainer: Trainer) -> dict[str, Tensor]:
    state = trainer.optimiser.state
    return {
        f"{name}/{part}": tensor.detach().cpu().contiguous()
        for name, parameter in trainer.model.named_parameters()
        for part, tensor in state.get(parameter, {}).items()
    }


def _restore_optimiser(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    for name, parameter in trainer.model.named_parameters():
        own = {key.rpartition("/")[2]: value for key, value in tensors.items() if key.rpartition("/")[0] == name}
        # The step count stays where the optimiser keeps it; the moments live beside the parameter.
        trainer.optimiser.state[parameter] = {part: tensor.to(parameter.device) for part, tensor in own.items()}


def _surroundings(trainer: Trainer) -> dict[str, str]:
    return {
        "threads": str(torch.get_num_threads()),
        "device": trainer.device,
        "torch": str(torch.__version__),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "data": trainer.corpus.store.fingerprint,
    }

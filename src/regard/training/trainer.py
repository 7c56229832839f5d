"""A run under way, and one step of it.

All that a step draws at random follows from the seed and the step's number, so that a run which stops anywhere can go
on exactly where it was.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import torch
from torch import Tensor, nn

from regard.batch import Batch
from regard.bundle import Bundle, new_bundle, restore
from regard.config import Config
from regard.data import Position
from regard.errors import RegardError
from regard.memory import keep_few_kernels, keep_freed_memory
from regard.training.checkpoint import checkpoints
from regard.training.corpus import Corpus, Drawn
from regard.training.crew import Crew, crew_size
from regard.training.device import choose_device, dtype_of, precision_of, set_threads
from regard.training.distributed import ALONE, World
from regard.training.journal import Skipped
from regard.training.meter import Meter
from regard.training.pretrained import give_pretrained
from regard.training.schedule import rate_at
from regard.training.sharding import add_up_gradients, spread, whole, whole_tensors
from regard.training.validation import batch_loss
from regard.training.weights import MovingAverage

SKIPS_IN_A_ROW = 5


class Objective(nn.Module):
    """What is minimised, as a function of a batch."""

    def __init__(self, model: nn.Module, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> Tensor:
        return batch_loss(self.model, batch, smoothing=self.smoothing)


@dataclass
class Trainer:
    """A run under way."""

    config: Config
    run: Path
    corpus: Corpus
    bundle: Bundle
    device: str
    objective: Objective
    optimiser: torch.optim.Optimizer
    average: MovingAverage | None
    crew: Crew
    world: World = ALONE
    step: int = 0
    position: Position = field(default_factory=Position)
    epoch: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    best_step: int = 0
    without_better: int = 0
    skips_in_a_row: int = 0

    @property
    def model(self) -> nn.Module:
        return self.bundle.model

    @property
    def precision(self) -> str:
        """Of products, by name."""
        return str(dtype_of(self.config.training, self.device)).removeprefix("torch.")

    @property
    def is_over(self) -> bool:
        patience = self.config.training.patience
        return self.step >= self.config.training.steps or bool(patience and self.without_better >= patience)


def begin(config: Config, run: Path, corpus: Corpus, world: World = ALONE) -> Trainer:
    """A run before its first step."""
    options = config.training
    keep_freed_memory()
    keep_few_kernels()
    threads = set_threads(options, sharing=world.local_size)
    torch.manual_seed(options.seed)
    device = choose_device(options.device, world.local_rank)
    bundle = new_bundle(config, corpus.tokenizers)
    give_pretrained(bundle.model, config.model)
    model = bundle.model.to(device).train()
    objective = Objective(model, options.label_smoothing)
    is_sharded = options.parallel == "shard" and world.size > 1
    if is_sharded:
        spread(objective, world, device)
    if options.compile:
        objective.compile(dynamic=True)  # batches differ in their lengths
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=0.0, betas=options.betas, eps=1e-9, weight_decay=options.weight_decay, fused=True
    )
    average = MovingAverage(model, options.moving_average) if options.moving_average else None
    size = crew_size(model, threads=threads, device=device, compiled=options.compile, sharded=is_sharded)
    return Trainer(config, run, corpus, bundle, device, objective, optimiser, average, Crew(size, objective), world)


def take_step(trainer: Trainer, drawn: list[Drawn], meter: Meter) -> Skipped | None:
    """One update from one or more batches; an update that is not a finite number is left out and counted."""
    options = trainer.config.training
    trainer.step += 1
    trainer.position, trainer.epoch = drawn[-1].resume, drawn[-1].epoch
    tokens = int(trainer.world.total(sum(one.tokens for one in drawn)))
    statistics = [(buffer, buffer.clone()) for buffer in trainer.model.buffers()]  # a forward pass changes BatchNorm's
    loss = _backward(trainer, drawn, tokens)
    norm = whole(nn.utils.clip_grad_norm_(trainer.model.parameters(), options.clip or float("inf")))
    if not torch.tensor([loss, float(norm)]).isfinite().all():
        for buffer, before in statistics:
            buffer.copy_(before)
        return _skip(trainer, loss)
    trainer.skips_in_a_row = 0
    for group in trainer.optimiser.param_groups:
        group["lr"] = rate_at(trainer.step, options)
    trainer.optimiser.step()
    if trainer.average is not None:
        trainer.average.update(trainer.step)
    meter.add(loss * tokens, tokens)
    return None


def _backward(trainer: Trainer, drawn: list[Drawn], tokens: int) -> float:
    """The loss per token of all ranks' batches together, and its gradients, the same on every rank."""
    options, world = trainer.config.training, trainer.world
    # Everything random in this step follows from the seed, the step's number and the rank alone.
    trainer.crew.seed(Random(f"{options.seed}:{trainer.step}:{world.rank}").getrandbits(63))  # noqa: S311
    trainer.optimiser.zero_grad(set_to_none=False)
    total = 0.0
    for one in drawn:
        total += trainer.crew.add_gradients(one.parts, partial(_loss, trainer, one.share / tokens))
    add_up_gradients(trainer.model.parameters(), world)
    return world.total(total)


def _loss(trainer: Trainer, scale: float, objective: nn.Module, batch: Batch) -> Tensor:
    with precision_of(trainer.config.training, trainer.device):
        loss: Tensor = objective(batch) * scale
    return loss


def _skip(trainer: Trainer, loss: float) -> Skipped:
    trainer.skips_in_a_row += 1
    if trainer.skips_in_a_row >= SKIPS_IN_A_ROW:
        saved, clip = checkpoints(trainer.run / "checkpoints"), trainer.config.training.clip
        raise RegardError(
            f"the loss was not a finite number for {SKIPS_IN_A_ROW} steps in a row, up to step {trainer.step}. "
            f"The last good checkpoint is {saved[-1] if saved else 'the beginning'}. "
            f"Lower training.learning_rate{' or training.clip' if clip else ', or set training.clip=1'}, "
            "then go on with --resume."
        )
    known = loss if math.isfinite(loss) else None
    return Skipped(step=trainer.step, loss=known, in_a_row=trainer.skips_in_a_row)


def with_weights(trainer: Trainer, weights: dict[str, Tensor]) -> Bundle:
    """The run's model with other weights, apart from the one that is being trained."""
    bundle = new_bundle(trainer.config, trainer.corpus.tokenizers)
    bundle.model.to(trainer.device).eval()
    restore(bundle.model, weights, origin="the run's own weights")
    return bundle


def current_weights(trainer: Trainer) -> dict[str, Tensor]:
    """The weights to be used now: the moving average where there is one."""
    tensors = dict([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    return whole_tensors((tensors | (trainer.average.average if trainer.average else {})).items())

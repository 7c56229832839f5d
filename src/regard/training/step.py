"""One training step, and what it needs: the trainer's state, the learning rate, weight averages, device and precision.

Everything random in a step follows from the seed, the step's number and the rank, so a run that stops anywhere can be
resumed exactly.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import torch
from torch import Tensor, nn

from regard.batch import Batch
from regard.bundle import Bundle, load_weights, new_bundle
from regard.config import Config, TrainingConfig
from regard.cpu_speedups import MicrobatchThreads, microbatch_thread_count, set_threads
from regard.data.batch_order import EpochPosition
from regard.errors import RegardError
from regard.interop.efficientnet import load_pretrained_encoder
from regard.process import configure_malloc, limit_kernel_cache
from regard.training.corpora import Corpus, RankBatch
from regard.training.distributed import (
    SINGLE_PROCESS,
    ProcessGroup,
    all_reduce_gradients,
    full_state,
    full_tensor,
    shard_parameters,
)
from regard.training.events import StepSkipped, StepsLogged
from regard.training.fine_tuning import freeze_parameters, load_start_weights
from regard.training.objective import Objective

ADAM_BETAS = (0.9, 0.98)  # as published with the Transformer
MAX_CONSECUTIVE_SKIPS = 5
LOG_EVERY_SECONDS = 5.0  # between two progress events


@dataclass
class Trainer:
    """The state of a run between two steps."""

    config: Config
    run: Path
    corpus: Corpus
    bundle: Bundle
    device: str
    objective: Objective
    optimizer: torch.optim.Optimizer
    ema: "ExponentialMovingAverage | None"
    microbatches: MicrobatchThreads
    group: ProcessGroup = SINGLE_PROCESS
    notes: list[str] = field(default_factory=list)  # about the initial weights
    step: int = 0
    position: EpochPosition = field(default_factory=EpochPosition)
    epoch: int = 0
    seconds: float = 0.0
    best_metric: float | None = None
    best_step: int = 0
    validations_without_improvement: int = 0
    consecutive_skips: int = 0

    @property
    def model(self) -> nn.Module:
        return self.bundle.model

    @property
    def precision(self) -> str:
        """The name of the precision of products."""
        return str(compute_dtype(self.config.training, self.device)).removeprefix("torch.")

    @property
    def is_finished(self) -> bool:
        options = self.config.training
        patience = options.early_stopping_patience
        return self.step >= options.steps or bool(patience and self.validations_without_improvement >= patience)


def create_trainer(config: Config, run: Path, corpus: Corpus, group: ProcessGroup = SINGLE_PROCESS) -> Trainer:
    """The trainer before its first step."""
    options = config.training
    configure_malloc()
    limit_kernel_cache()
    threads = set_threads(options.threads, processes=group.local_size)
    torch.manual_seed(options.seed)
    device = choose_device(options.device, group.local_rank)
    bundle = new_bundle(config, corpus.tokenizers)
    notes = []
    if options.start_from:
        notes.append(load_start_weights(bundle.model, config.model, run).describe(options.start_from))
    else:
        load_pretrained_encoder(bundle.model, config.model)
    model = bundle.model.to(device).train()
    freeze_parameters(model, options.freeze)
    objective = Objective(model, options.label_smoothing)
    is_sharded = options.parallelism == "fsdp" and group.size > 1
    if is_sharded:
        shard_parameters(objective, group, device)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(
        trained, lr=0.0, betas=ADAM_BETAS, eps=1e-9, weight_decay=options.weight_decay, fused=True
    )
    ema = ExponentialMovingAverage(model, options.ema_decay) if options.ema_decay else None
    size = microbatch_thread_count(model, threads=threads, device=device, sharded=is_sharded)
    microbatches = MicrobatchThreads(size, objective)
    return Trainer(
        config, run, corpus, bundle, device, objective, optimizer, ema, microbatches, group=group, notes=notes
    )


def train_step(trainer: Trainer, drawn: list[RankBatch], meter: "ThroughputMeter") -> StepSkipped | None:
    """One update from one or more batches; an update that is not finite is skipped and counted."""
    options = trainer.config.training
    with trainer.microbatches.update_threads():
        trainer.step += 1
        trainer.position, trainer.epoch = drawn[-1].next_position, drawn[-1].epoch
        tokens = int(trainer.group.sum(sum(one.tokens for one in drawn)))
        # A forward pass changes the statistics of BatchNorm.
        statistics = [(buffer, buffer.clone()) for buffer in trainer.model.buffers()]
        loss = _backward(trainer, drawn, tokens)
        norm = full_tensor(nn.utils.clip_grad_norm_(trainer.model.parameters(), options.max_grad_norm or float("inf")))
        if not torch.tensor([loss, float(norm)]).isfinite().all():
            for buffer, before in statistics:
                buffer.copy_(before)
            return _skip_step(trainer, loss)
        trainer.consecutive_skips = 0
        for group in trainer.optimizer.param_groups:
            group["lr"] = learning_rate_at(trainer.step, options)
        trainer.optimizer.step()
        if trainer.ema is not None:
            trainer.ema.update(trainer.step)
        meter.add(loss * tokens, tokens)
    return None


def _backward(trainer: Trainer, drawn: list[RankBatch], tokens: int) -> float:
    """The loss per token over the batches of all ranks; the gradients are the same on every rank."""
    options, group = trainer.config.training, trainer.group
    # Everything random in this step follows from the seed, the step's number and the rank alone.
    trainer.microbatches.seed(Random(f"{options.seed}:{trainer.step}:{group.rank}").getrandbits(63))  # noqa: S311
    trainer.optimizer.zero_grad(set_to_none=False)
    total = 0.0
    for one in drawn:
        total += trainer.microbatches.add_gradients(one.parts, partial(_scaled_loss, trainer, one.weight / tokens))
    all_reduce_gradients(trainer.model.parameters(), group)
    return group.sum(total)


def _scaled_loss(trainer: Trainer, scale: float, objective: nn.Module, batch: Batch) -> Tensor:
    with autocast_context(trainer.config.training, trainer.device):
        loss: Tensor = objective(batch) * scale
    return loss


def _skip_step(trainer: Trainer, loss: float) -> StepSkipped:
    trainer.consecutive_skips += 1
    if trainer.consecutive_skips >= MAX_CONSECUTIVE_SKIPS:
        has_clipping = trainer.config.training.max_grad_norm
        advice = " or training.max_grad_norm" if has_clipping else ", or set training.max_grad_norm=1"
        raise RegardError(
            f"the loss was not a finite number for {MAX_CONSECUTIVE_SKIPS} steps in a row, up to step {trainer.step}. "
            f"Lower training.learning_rate{advice}, and continue from the latest checkpoint with --resume."
        )
    known = loss if math.isfinite(loss) else None
    return StepSkipped(step=trainer.step, loss=known, consecutive=trainer.consecutive_skips)


def bundle_with_weights(trainer: Trainer, weights: dict[str, Tensor]) -> Bundle:
    """A copy of the run's model with other weights."""
    bundle = new_bundle(trainer.config, trainer.corpus.tokenizers)
    bundle.model.to(trainer.device).eval()
    load_weights(bundle.model, weights, origin="the run's own weights")
    return bundle


def current_bundle(trainer: Trainer) -> Bundle:
    """A copy of the model with the weights to use now: the moving average if there is one. Every rank calls this."""
    tensors = dict([*trainer.model.named_parameters(), *trainer.model.named_buffers()])
    return bundle_with_weights(trainer, full_state((tensors | (trainer.ema.weights if trainer.ema else {})).items()))


class ThroughputMeter:
    """The loss and the speed since the last progress event, and the total training time."""

    def __init__(self, previous_seconds: float) -> None:
        self.previous_seconds = previous_seconds  # of training before this process
        self.started = self.logged_at = time.monotonic()
        self.loss, self.tokens = 0.0, 0

    def add(self, loss: float, tokens: int) -> None:
        """Add a step's summed loss and its non-padding target tokens."""
        self.loss += loss
        self.tokens += tokens

    @property
    def seconds(self) -> float:
        return self.previous_seconds + time.monotonic() - self.started

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self.logged_at >= LOG_EVERY_SECONDS and self.tokens > 0

    def log_steps(self, step: int, *, learning_rate: float, epoch: int) -> StepsLogged:
        """The progress event, after which the counts start again."""
        now = time.monotonic()
        event = StepsLogged(
            step=step,
            loss=self.loss / max(self.tokens, 1),
            learning_rate=learning_rate,
            tokens_per_second=self.tokens / max(now - self.logged_at, 1e-9),
            seconds=self.seconds,
            epoch=epoch,
        )
        self.loss, self.tokens, self.logged_at = 0.0, 0, now
        return event

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock: validation and saving are not training."""
        started = time.monotonic()
        yield
        pause = time.monotonic() - started
        self.logged_at += pause
        self.started += pause


def learning_rate_at(step: int, config: TrainingConfig) -> float:
    """The learning rate of a step, from 1: a linear warm-up, then the decay of the schedule."""
    if step <= config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    match config.schedule:
        case "inverse_sqrt":
            decay = math.sqrt(max(config.warmup_steps, 1) / step)
        case "cosine":
            progress = (step - config.warmup_steps) / max(1, config.steps - config.warmup_steps)
            decay = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        case "constant":
            decay = 1.0
    return config.learning_rate * decay


def average_weights(count: int, load: Callable[[int], dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights, loaded one at a time; float64 sums do not depend on their order."""
    total: dict[str, Tensor] = {}
    for index in range(count):
        for name, tensor in load(index).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / count).float() for name, tensor in total.items()}


class ExponentialMovingAverage:
    """An exponential moving average of a model's trained parameters; its decay is smaller in the first steps."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
        self.weights = {name: parameter.detach().clone() for name, parameter in self.parameters}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the parameters after a step."""
        decay = min(self.decay, (1 + step) / (10 + step))
        averages = [self.weights[name] for name, _ in self.parameters]
        torch._foreach_lerp_(averages, [parameter.detach() for _, parameter in self.parameters], 1 - decay)


def choose_device(name: str, local_rank: int = 0) -> str:
    """The given device; for "auto" the fastest one, and of several GPUs a different one for each rank."""
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


def compute_dtype(config: TrainingConfig, device: str) -> torch.dtype:
    """The precision of products: bfloat16 if it is set, or if "auto" finds hardware support."""
    is_narrow = config.precision == "bfloat16" or (config.precision == "auto" and supports_bfloat16(device))
    return torch.bfloat16 if is_narrow else torch.float32


def supports_bfloat16(device: str) -> bool:
    """Whether the hardware has bfloat16 instructions; without them a CPU is slower than in float32."""
    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    has = torch.cpu.get_capabilities() if device.startswith("cpu") else {}
    return any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def autocast_context(config: TrainingConfig, device: str) -> AbstractContextManager[object]:
    """The context of a forward pass in this precision."""
    dtype, kind = compute_dtype(config, device), device.split(":")[0]
    # Without the cache of cast weights on a CPU: threads would share it, and clear it at random moments.
    return nullcontext() if dtype == torch.float32 else torch.autocast(kind, dtype, cache_enabled=kind != "cpu")

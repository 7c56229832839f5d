"""What a run will cost: a few real steps are timed, and memory and disk are measured, before training starts."""

import resource
import sys
import time
from itertools import islice
from pathlib import Path

import msgspec

from regard.config import Config
from regard.training.checkpoint import KEPT_CHECKPOINTS, explain_out_of_memory
from regard.training.corpora import Corpus, rank_batches
from regard.training.step import ThroughputMeter, create_trainer, train_step

WARM_UP_STEPS, TIMED_STEPS = 2, 5  # the first steps allocate memory that later ones reuse
ADVICE = "The model does not fit. Lower training.batch_tokens, or choose a smaller model."


class CostEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a run; time and memory are those of a few real steps on this machine."""

    parameters: int
    model_bytes: int  # of the bundle's weights
    steps: int
    seconds_per_step: float
    tokens_per_second: float  # target tokens without padding
    training_seconds: float  # all steps, without validations; early stopping may end sooner
    validations: int
    memory_bytes: int  # the most that this process has used
    disk_bytes: int  # checkpoints, model and token store


def estimate_cost(config: Config, corpus: Corpus, run: Path) -> CostEstimate:
    """Take a few steps and measure; nothing is saved but what the corpus needs in `run`."""
    options = config.training
    with explain_out_of_memory(ADVICE):
        trainer = create_trainer(config, run, corpus)
        batches = rank_batches(corpus, config, trainer.position, device=trainer.device, parts=trainer.microbatches.size)
        meter, seconds, tokens = ThroughputMeter(0.0), 0.0, 0
        for step in range(min(options.steps, WARM_UP_STEPS + TIMED_STEPS)):
            drawn = list(islice(batches, options.gradient_accumulation))
            started = time.perf_counter()
            train_step(trainer, drawn, meter)
            if step < WARM_UP_STEPS and options.steps > WARM_UP_STEPS:
                continue
            seconds, tokens = seconds + time.perf_counter() - started, tokens + sum(one.tokens for one in drawn)
    timed = max(1, min(options.steps, WARM_UP_STEPS + TIMED_STEPS) - WARM_UP_STEPS)
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    weight_bytes = sum(tensor.nbytes for tensor in (*trainer.model.parameters(), *trainer.model.buffers()))
    checkpoint_bytes = weight_bytes * (4 if trainer.ema is not None else 3)  # Adam has two moments for each weight
    kept = min(max(KEPT_CHECKPOINTS, options.average_checkpoints) + 1, -(-options.steps // options.checkpoint_every))
    stored = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return CostEstimate(
        parameters=parameters,
        model_bytes=weight_bytes,
        steps=options.steps,
        seconds_per_step=seconds / timed,
        tokens_per_second=tokens / seconds,
        training_seconds=options.steps * seconds / timed,
        validations=-(-options.steps // options.validate_every),
        memory_bytes=peak if sys.platform == "darwin" else peak * 1024,
        disk_bytes=checkpoint_bytes * kept + weight_bytes + stored,
    )

"""The training loop: steps, validations, probes and checkpoints, as an iterator of events.

Each event is written to the event log before it is yielded. The loop does not depend on the kind of model.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import torch

from regard.bundle import Bundle, save_bundle
from regard.config import Config, MetricName
from regard.data.batch_order import plan_epoch
from regard.locks import lock_run
from regard.training.checkpoint import (
    explain_out_of_memory,
    load_weights,
    remove_stale_files,
    resume_trainer,
    save_trainer,
    scheduled_checkpoints,
)
from regard.training.corpora import Corpus, rank_batches, validate_old
from regard.training.distributed import SINGLE_PROCESS, ProcessGroup
from regard.training.events import (
    EVENT_LOG,
    EventLog,
    ProbesSaved,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
    Validated,
)
from regard.training.step import (
    ThroughputMeter,
    Trainer,
    average_weights,
    bundle_with_weights,
    create_trainer,
    current_bundle,
    learning_rate_at,
    train_step,
)
from regard.training.validation import Validation, save_probes

StopSignal = Callable[[], int | None]
MILESTONE_STEPS = 25  # between the first probes, from the untrained model on
OUT_OF_MEMORY_ADVICE = (
    "Lower training.batch_tokens, raise training.gradient_accumulation by the same factor, and continue with --resume. "
    "Saved checkpoints are unchanged."
)


class TrainingInterrupted(Exception):  # noqa: N818  (not an error: the user stops the run)
    """A signal stopped training, after a checkpoint was saved."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"stopped by signal {signal}")
        self.signal = signal


def train(
    config: Config,
    run: Path,
    corpus: Corpus,
    *,
    resume: bool = False,
    stop_signal: StopSignal = lambda: None,
    group: ProcessGroup = SINGLE_PROCESS,
) -> Iterator[TrainingEvent]:
    """Train to the end, or until `stop_signal` returns a signal; every event is logged and yielded.

    Every rank must call this; only rank 0 writes files.
    """
    event_log = EventLog(run / EVENT_LOG) if group.is_rank0 else None
    with lock_run(run) if group.is_rank0 else nullcontext(), explain_out_of_memory(OUT_OF_MEMORY_ADVICE):
        if group.is_rank0:
            remove_stale_files(run)
        trainer = create_trainer(config, run, corpus, group)
        notes = [*trainer.notes, *(resume_trainer(trainer) if resume else [])]
        if event_log is not None:
            event_log.truncate_after(trainer.step)
        for event in _train_events(trainer, notes, stop_signal):
            if event_log is not None:
                event_log.write(event)
            yield event


def _train_events(trainer: Trainer, notes: list[str], stop_signal: StopSignal) -> Iterator[TrainingEvent]:
    config, group = trainer.config, trainer.group
    yield _started_event(trainer, notes)
    batches = rank_batches(
        trainer.corpus,
        config,
        trainer.position,
        device=trainer.device,
        group=group,
        parts=trainer.microbatches.size,
    )
    meter = ThroughputMeter(trainer.seconds)
    if trainer.step == 0:
        yield from _validate_start(trainer, meter)
    while not trainer.is_finished:
        skipped = train_step(trainer, list(islice(batches, config.training.gradient_accumulation)), meter)
        if skipped is not None:
            yield skipped
        if meter.is_due or trainer.is_finished:
            yield meter.log_steps(
                trainer.step, learning_rate=learning_rate_at(trainer.step, config.training), epoch=trainer.epoch
            )
        yield from _validate_and_save(trainer, meter)
        signal = int(group.max(stop_signal() or 0))  # whichever rank received it, all stop after the same step
        if signal:
            yield save_trainer(trainer, meter.seconds)
            group.barrier()  # rank 0 still writes, and the launcher stops all ranks when one ends
            raise TrainingInterrupted(signal)
    yield _finish_training(trainer, meter)


def _validate_start(trainer: Trainer, meter: ThroughputMeter) -> Iterator[TrainingEvent]:
    """Probe the weights before the first step; those of a fine-tuned model have a score to improve on."""
    with meter.paused():
        bundle = current_bundle(trainer)
        validated = _run_validation(trainer, bundle) if trainer.config.training.start_from else None
        probed = _run_probes(trainer, bundle)
    if validated is not None:
        yield validated
        _save_if_best(trainer, bundle, validated)
    yield probed


def _validate_and_save(trainer: Trainer, meter: ThroughputMeter) -> Iterator[TrainingEvent]:
    options = trainer.config.training
    is_due = trainer.step % options.validate_every == 0 or trainer.step == options.steps
    if is_due or is_milestone(trainer.step):
        with meter.paused():
            bundle = current_bundle(trainer)
            validated = _run_validation(trainer, bundle) if is_due else None
            probed = _run_probes(trainer, bundle)
        if validated is not None:
            yield validated
        yield probed
        if validated is not None:
            _save_if_best(trainer, bundle, validated)
    if trainer.step % options.checkpoint_every == 0 or trainer.is_finished:
        with meter.paused():
            saved = save_trainer(trainer, meter.seconds)
        yield saved


def is_milestone(step: int) -> bool:
    """0, 25, 50, 75, 100, 150, 200, 300, ...: often while attention forms, 31 times in a million steps."""
    times, between = divmod(step, MILESTONE_STEPS)
    largest_power_of_two = times & -times
    return between == 0 and times in (0, largest_power_of_two, 3 * largest_power_of_two)


def _save_if_best(trainer: Trainer, bundle: Bundle, validated: Validated) -> None:
    """Write the model with the best score; a mean of checkpoints is written at the end instead."""
    if validated.is_best and trainer.config.training.average_checkpoints < 2 and trainer.group.is_rank0:
        save_bundle(trainer.run / "model", bundle)


def _run_validation(trainer: Trainer, bundle: Bundle) -> Validated:
    group = trainer.group
    found = trainer.corpus.validate(bundle) if group.is_rank0 else Validation.empty()
    # Only numbers can be broadcast.
    names = get_args(MetricName)
    own = [getattr(found, name) for name in names]
    values = group.broadcast_from_rank0([math.nan if one is None else one for one in own])
    scores: dict[str, Any] = {name: None if math.isnan(one) else one for name, one in zip(names, values, strict=True)}
    found = replace(found, **scores)
    score = found.score(trainer.config.training.validation_metric)
    before = -math.inf if trainer.best_metric is None else trainer.best_metric
    is_best = score >= before  # of equal scores the later one, as long as all are 0
    trainer.validations_without_improvement = 0 if score > before else trainer.validations_without_improvement + 1
    if is_best:
        trainer.best_metric, trainer.best_step = score, trainer.step
    old = validate_old(trainer.corpus, bundle) if group.is_rank0 else None
    return Validated(
        step=trainer.step,
        **scores,
        signature=found.signature,
        old_loss=old.loss if old else None,
        old_bleu=old.bleu if old else None,
        old_chrf=old.chrf if old else None,
        is_best=is_best,
        samples=found.samples,
    )


def _run_probes(trainer: Trainer, bundle: Bundle) -> ProbesSaved:
    directory = trainer.run / "probes" / f"step-{trainer.step:08d}"
    if trainer.group.is_rank0:
        save_probes(directory, trainer.corpus.probes(bundle, trainer.config.training.probes))
    return ProbesSaved(step=trainer.step, path=str(directory.relative_to(trainer.run)))


def _finish_training(trainer: Trainer, meter: ThroughputMeter) -> TrainingEnded:
    options = trainer.config.training
    if options.average_checkpoints > 1 and trainer.group.is_rank0:
        scheduled = scheduled_checkpoints(trainer.run / "checkpoints", options.checkpoint_every)
        saved = scheduled[-options.average_checkpoints :]
        weights = average_weights(len(saved), lambda index: load_weights(saved[index]))
        save_bundle(trainer.run / "model", bundle_with_weights(trainer, weights))
    reason = "all steps are done" if trainer.step >= options.steps else f"{options.validation_metric} did not improve"
    if options.start_from and trainer.best_step == 0 and options.average_checkpoints < 2:
        reason += f"; no {options.validation_metric} was better than that of {options.start_from}, which is the result"
    return TrainingEnded(step=trainer.step, reason=reason, model=str(trainer.run / "model"), seconds=meter.seconds)


def _started_event(trainer: Trainer, notes: list[str]) -> TrainingStarted:
    corpus, options = trainer.corpus, trainer.config.training
    plan = plan_epoch(
        *corpus.lengths,
        batch_tokens=options.batch_tokens,
        seed=options.seed,
        epoch=trainer.position.epoch,
        bucket_by_length=corpus.bucket_by_length,
        corpora=corpus.weights,
    )
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    trained = sum(parameter.numel() for parameter in trainer.model.parameters() if parameter.requires_grad)
    return TrainingStarted(
        step=trainer.step,
        examples=len(corpus.lengths[0]),
        parameters=parameters,
        trained_parameters=None if trained == parameters else trained,
        device=trainer.device,
        precision=trainer.precision,
        threads=torch.get_num_threads(),
        non_padding_fraction=plan.non_padding_fraction,
        notes=notes,
    )

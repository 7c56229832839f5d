"""The training loop: steps, validations, probes and checkpoints, told as events.

`train` is an iterator: each event is written to the journal, then given to whoever watches (a terminal, a page, a
test). It knows no model by name.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch

from regard.bundle import Bundle, save_bundle
from regard.config import Config
from regard.data import plan_epoch
from regard.training.checkpoint import load_weights, regular
from regard.training.corpus import Corpus, batches
from regard.training.distributed import ALONE, World
from regard.training.journal import AnyEvent, Began, Ended, Journal, Probed, Validated
from regard.training.lock import locked
from regard.training.meter import Meter
from regard.training.probes import is_milestone, save_probes
from regard.training.resuming import go_on, save, sweep
from regard.training.schedule import rate_at
from regard.training.space import told_of_memory
from regard.training.trainer import Trainer, begin, current_weights, take_step, with_weights
from regard.training.validation import Validation
from regard.training.weights import mean_of

StopSignal = Callable[[], int | None]
MEMORY_ADVICE = (
    "Lower training.batch_tokens, and raise training.accumulate as much for updates of as many tokens; then go on with "
    "--resume. What was saved is as it was."
)


class Interrupted(Exception):  # noqa: N818  (not an error: the user asked for it)
    """Training was asked to stop, and stopped after saving a checkpoint."""

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
    world: World = ALONE,
) -> Iterator[AnyEvent]:
    """Train to the end, or until a signal asks to stop; what happens is written to the journal and given as events.

    Of several ranks each must call this; the first one alone writes.
    """
    journal = Journal(run / "journal.jsonl" if world.is_first else Path(os.devnull))
    with locked(run) if world.is_first else nullcontext(), told_of_memory(MEMORY_ADVICE):
        if world.is_first:
            sweep(run)
        trainer = begin(config, run, corpus, world)
        notes = go_on(trainer) if resume else []
        journal.go_back_to(trainer.step)
        for event in _events(trainer, notes, stop_signal):
            journal.write(event)
            yield event


def _events(trainer: Trainer, notes: list[str], stop_signal: StopSignal) -> Iterator[AnyEvent]:
    config, world = trainer.config, trainer.world
    yield _began(trainer, notes)
    place, parts = trainer.device, trainer.crew.size
    drawn = batches(trainer.corpus, config, trainer.position, device=place, world=world, parts=parts)
    meter = Meter(trainer.seconds)
    if trainer.step == 0:
        yield _probe(trainer, _bundle_now(trainer))
    while not trainer.is_over:
        skipped = take_step(trainer, list(islice(drawn, config.training.accumulate)), meter)
        if skipped is not None:
            yield skipped
        if meter.is_due or trainer.is_over:
            yield meter.read(trainer.step, rate=rate_at(trainer.step, config.training), epoch=trainer.epoch)
        yield from _after_step(trainer, meter)
        signal = int(world.largest(stop_signal() or 0))  # whichever rank it came to, all stop after the same step
        if signal:
            yield save(trainer, meter.seconds)
            world.wait()  # whoever ended sooner would have the first one, which still writes, ended as well
            raise Interrupted(signal)
    yield _end(trainer, meter)


def _after_step(trainer: Trainer, meter: Meter) -> Iterator[AnyEvent]:
    options = trainer.config.training
    is_due = trainer.step % options.validate_every == 0 or trainer.step == options.steps
    if is_due or is_milestone(trainer.step):
        with meter.paused():
            bundle = _bundle_now(trainer)
            validated = _validate(trainer, bundle) if is_due else None
            probed = _probe(trainer, bundle)
        if validated is not None:
            yield validated
        yield probed
        if validated is not None and validated.is_best and options.average < 2:
            _publish(trainer, bundle)
    if trainer.step % options.checkpoint_every == 0 or trainer.is_over:
        with meter.paused():
            saved = save(trainer, meter.seconds)
        yield saved


def _bundle_now(trainer: Trainer) -> Bundle:
    """The model as it would be used now, apart from the one that is being trained; every rank has a part in it."""
    return with_weights(trainer, current_weights(trainer))


def _publish(trainer: Trainer, bundle: Bundle) -> None:
    if trainer.world.is_first:
        save_bundle(trainer.run / "model", bundle)


def _validate(trainer: Trainer, bundle: Bundle) -> Validated:
    world = trainer.world
    found = trainer.corpus.validate(bundle) if world.is_first else Validation.unknown()
    scores = [math.nan if one is None else one for one in (found.bleu, found.chrf, found.cider)]  # None cannot be told
    loss, *told = world.told_by_first([found.loss, *scores])
    bleu, chrf, cider = (None if math.isnan(one) else one for one in told)
    found = replace(found, loss=loss, bleu=bleu, chrf=chrf, cider=cider)
    score = found.score(trainer.config.training.metric)
    before = -math.inf if trainer.best_score is None else trainer.best_score
    is_best = score >= before  # of equals the one that has learnt longer, as while all score nothing yet
    trainer.without_better = 0 if score > before else trainer.without_better + 1
    if is_best:
        trainer.best_score, trainer.best_step = score, trainer.step
    return Validated(
        step=trainer.step,
        loss=found.loss,
        bleu=found.bleu,
        chrf=found.chrf,
        cider=found.cider,
        is_best=is_best,
        samples=found.samples,
    )


def _probe(trainer: Trainer, bundle: Bundle) -> Probed:
    directory = trainer.run / "probes" / f"step-{trainer.step:08d}"
    if trainer.world.is_first:
        save_probes(directory, trainer.corpus.probes(bundle, trainer.config.training.probes))
    return Probed(step=trainer.step, file=str(directory.relative_to(trainer.run)))


def _end(trainer: Trainer, meter: Meter) -> Ended:
    options = trainer.config.training
    if options.average > 1 and trainer.world.is_first:
        saved = regular(trainer.run / "checkpoints", options.checkpoint_every)[-options.average :]
        weights = mean_of(len(saved), lambda index: load_weights(saved[index]))
        _publish(trainer, with_weights(trainer, weights))
    reason = "all steps were taken" if trainer.step >= options.steps else f"no better {options.metric} for long"
    return Ended(step=trainer.step, reason=reason, model=str(trainer.run / "model"), seconds=meter.seconds)


def _began(trainer: Trainer, notes: list[str]) -> Began:
    corpus, options = trainer.corpus, trainer.config.training
    plan = plan_epoch(
        *corpus.lengths,
        batch_tokens=options.batch_tokens,
        seed=options.seed,
        epoch=trainer.position.epoch,
        is_mixed=corpus.is_mixed,
    )
    return Began(
        step=trainer.step,
        pairs=len(corpus.lengths[0]),
        parameters=sum(parameter.numel() for parameter in trainer.model.parameters()),
        device=trainer.device,
        precision=trainer.precision,
        threads=torch.get_num_threads(),
        real_share=plan.real_share,
        notes=notes,
    )

"""Running `regard train`."""

import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import click

from regard.cli.running.places import CONFIG, note_place
from regard.cli.running.recipes import Plan, Wish, plan
from regard.cli.running.stopping import answered_signals, noted_signals
from regard.cli.running.telling import tell, try_to_tell
from regard.cli.running.watching import SilentWatcher, Watcher, choose_watcher
from regard.config import to_toml
from regard.errors import RegardError
from regard.staged import staged_file
from regard.training.corpus import Corpus, prepare
from regard.training.distributed import World, is_restarted, joined_world
from regard.training.lock import locked
from regard.training.loop import Interrupted, train
from regard.training.prepared import HELD_OUT


def run_training(wish: Wish, *, as_json: bool) -> None:
    """Train as wished, alone or as one of several processes, and say what to do next."""
    wish = replace(wish, resume=wish.resume or is_restarted())
    with joined_world() as world:
        planned = world.after_first(lambda: plan(wish))
        world.wait()  # the first rank writes from here on, and the others must have planned before that
        with (
            _locked(planned.run) if world.is_first else nullcontext(),
            closing(_watcher(planned, world, as_json)) as told,
        ):
            with _stoppable_preparation(resume=wish.resume) if world.is_first else nullcontext():
                corpus = world.after_first(lambda: _prepare(planned, told, world, resume=wish.resume))
            stopped_by = _train(planned, corpus, told, world, resume=wish.resume)
        if world.is_first:
            _tell_what_next(planned, corpus, stopped_by, as_json=as_json)
    if stopped_by:
        raise click.exceptions.Exit(128 + stopped_by)


def _watcher(planned: Plan, world: World, as_json: bool) -> Watcher:
    return choose_watcher(as_json=as_json, steps=planned.config.training.steps) if world.is_first else SilentWatcher()


def _tell_what_next(planned: Plan, corpus: Corpus, stopped_by: int | None, *, as_json: bool) -> None:
    if stopped_by:
        run = shlex.quote(str(planned.run))
        try_to_tell(f"stopped and saved. To go on: regard train --run {run} --resume")
        return
    model = planned.run / "model"
    tell(f"The model is in {model}. To try it:", to_error=as_json)
    tell(f"  {corpus.trial(model)}", to_error=as_json)


def _prepare(planned: Plan, watcher: Watcher, world: World, *, resume: bool) -> Corpus:
    """Vocabularies and tokens; the config is written once they are made, so that a failure here begins no run."""
    if world.is_first and not resume:
        _remove_leftovers(planned.run)
    for note in planned.notes:
        watcher.note(note)
    corpus = prepare(planned.config, planned.run, progress=watcher.preparing)
    watcher.note(corpus.describe())
    if world.is_first:
        note_place(planned.run)
        with staged_file(planned.run / CONFIG) as file:
            file.write(to_toml(planned.config).encode())
    return corpus


@contextmanager
def _stoppable_preparation(*, resume: bool) -> Iterator[None]:
    """Whoever stops before training begins is told that nothing is lost."""
    try:
        with answered_signals():
            yield
    except (KeyboardInterrupt, SystemExit):
        anew = "goes on" if resume else "begins anew"
        tell(f"stopped; there is nothing to save yet, and the same command {anew}", to_error=True)
        raise


def _train(planned: Plan, corpus: Corpus, watcher: Watcher, world: World, *, resume: bool) -> int | None:
    """Train to the end; the signal that stopped it, if one did; SIGPIPE where its output was lost."""
    with noted_signals() as stopping:
        try:
            for event in train(
                planned.config, planned.run, corpus, resume=resume, stop_signal=stopping.asked, world=world
            ):
                with stopping.if_untold():
                    watcher.see(event)
        except Interrupted as stop:
            return stop.signal
    return None


def _remove_leftovers(run: Path) -> None:
    """What a try that never began has kept: it may come from other data or options."""
    for name in ("tokens/source.tokens", "tokens/target.tokens", HELD_OUT):
        (run / name).unlink(missing_ok=True)


def _locked(run: Path) -> AbstractContextManager[None]:
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegardError(f"{run} cannot be made: {error.strerror}. Choose another directory with --run.") from None
    return locked(run)

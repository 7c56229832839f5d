"""Running `regard train`."""

import shlex
from contextlib import closing
from pathlib import Path

import click

from regard.cli.running.recipes import CONFIG, Plan, Wish, plan
from regard.cli.running.stopping import noted_signals
from regard.cli.running.telling import tell
from regard.cli.running.watching import Watcher, choose_watcher
from regard.config import to_toml
from regard.errors import RegardError
from regard.staged import staged_file
from regard.training.corpus import Corpus, prepare
from regard.training.loop import Interrupted, train


def run_training(wish: Wish, *, as_json: bool) -> None:
    """Train as wished, and say what to do next."""
    planned = plan(wish)
    if not wish.resume:
        _remove_leftovers(planned.run)
    with closing(choose_watcher(as_json=as_json, steps=planned.config.training.steps)) as watcher:
        for note in planned.notes:
            watcher.note(note)
        corpus = _prepare(planned, watcher)
        stopped_by = _train(planned, corpus, watcher, resume=wish.resume)
    run = shlex.quote(str(planned.run))
    if stopped_by:
        tell(f"stopped and saved. To go on: regard train --run {run} --resume", to_error=True)
        raise click.exceptions.Exit(128 + stopped_by)
    example = shlex.quote(min((pair.source for pair in corpus.valid), key=len))
    tell(f"The model is in {planned.run / 'model'}. To try it:", to_error=as_json)
    tell(f"  echo {example} | regard translate {run}/model", to_error=as_json)


def _prepare(planned: Plan, watcher: Watcher) -> Corpus:
    """Vocabularies and tokens; the config is written once they are made, so that a failure here begins no run."""
    _make_directory(planned.run)
    corpus = prepare(planned.config, planned.run, progress=watcher.preparing)
    watcher.note(f"{corpus.store.report.describe()}; {_sizes(corpus)}")
    with staged_file(planned.run / CONFIG) as file:
        file.write(to_toml(planned.config).encode())
    return corpus


def _train(planned: Plan, corpus: Corpus, watcher: Watcher, *, resume: bool) -> int | None:
    """Train to the end; the signal that stopped it, if one did."""
    with noted_signals() as stop_signal:
        try:
            for event in train(planned.config, planned.run, corpus, resume=resume, stop_signal=stop_signal):
                watcher.see(event)
        except Interrupted as stop:
            return stop.signal
    return None


def _remove_leftovers(run: Path) -> None:
    """Vocabularies of a try that never began: they may come from other data or options."""
    for name in ("source.tokens", "target.tokens"):
        (run / "tokens" / name).unlink(missing_ok=True)


def _make_directory(run: Path) -> None:
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegardError(f"{run} cannot be made: {error.strerror}. Choose another directory with --run.") from None


def _sizes(corpus: Corpus) -> str:
    both = corpus.tokenizers
    if both.shared:
        return f"one vocabulary of {both.source.size:,} pieces"
    return f"vocabularies of {both.source.size:,} and {both.target.size:,} pieces"

"""`regard train`: train a model from a recipe or from text files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli import acknowledged_signals, deferred_signals, stop_signals
from regard.cli.console import echo
from regard.cli.data_report import check_report_path, describe_report, inspect_run, write_report
from regard.cli.options import PATH, json_option
from regard.cli.training_data import data_options, read_data_options
from regard.cli.training_display import SilentDisplay, TrainingDisplay, make_display
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.training.corpora import Corpus
    from regard.training.distributed import ProcessGroup
    from regard.training.plan import TrainingPlan, TrainOptions


# What other toolkits call the options of a run.
OTHER_OPTIONS = {
    "--src": "--source",
    "--tgt": "--target",
    "--trg": "--target",
    "--out": "--run",
    "--output": "--run",
    "--output-dir": "--run",
    "--save-dir": "--run",
    "--epochs": "--set training.steps=N: regard counts steps, not epochs",
    "--batch-size": "--set training.batch_tokens=N: regard counts tokens, not sentences",
    "--lr": "--set training.learning_rate=RATE",
    "--warmup": "--set training.warmup_steps=N",
}


class TrainCommand(click.Command):
    """A command that says how to set an option of a recipe, such as --learning-rate, which it does not have itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if hint := _find_option(error.option_name):
                raise click.UsageError(f"No such option {error.option_name!r}. Use {hint}.", ctx) from None
            raise


def _find_option(name: str) -> str | None:
    if name in OTHER_OPTIONS:
        return OTHER_OPTIONS[name]

    from regard.config import Config
    from regard.struct_decoding import key_paths

    fields = {field.name: field.type for field in msgspec.structs.fields(Config)}
    key = name.removeprefix("--").replace("-", "_")
    paths = [path for path in key_paths(fields) if path.partition(".")[2] == key]
    return f"--set {paths[0]}=VALUE" if paths else None


@click.command(
    name="train",
    cls=TrainCommand,
    epilog="""\b
Examples:
  regard train recipes/world-transformer.toml --set training.steps=500
  regard train world-transformer
  regard train --source train.en --target train.de
  regard train --pairs train.tsv --pairs more.po --valid-pairs valid.tsv --languages en,de
  regard train --pairs train.tsv --languages en,de --dry-run --report data.html
  regard train --text novel.txt --run runs/novel
  regard train --labels reviews.tsv --run runs/reviews
  regard train --labels photographs/ --run runs/photographs
  regard train --from opus-mt-en-de --pairs own.tsv
  regard train --from opus-mt-en-de --pairs own.tsv --replay old.tsv --old-valid old-valid.tsv
  regard train --run runs/world-transformer --resume
  regard train world-transformer --processes 2
  torchrun --nproc-per-node 8 -m regard train recipes/world-transformer.toml""",
)
@click.argument("recipe", type=PATH, required=False)
@click.option(
    "--from",
    "start_from",
    metavar="MODEL",
    help="Fine-tune this model or run, with its own architecture and vocabulary, instead of random weights.",
)
@click.option(
    "--replay",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="With --from: data like those of MODEL, used beside the new ones so that it does not forget. A file of pairs "
    "or of text; for a source and a target file, give the option twice.",
)
@click.option(
    "--replay-weight",
    type=click.FloatRange(0, 100, min_open=True),
    help="Uses of each replayed example in an epoch. [default: three old examples for each new one, each at most once]",
)
@click.option(
    "--old-valid",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Examples like those of MODEL, scored at each validation beside the new ones; given as --replay is.",
)
@click.option(
    "--run",
    "--run-directory",
    "run",
    type=PATH,
    help="Directory of the run (under torchrun use the long name). [default: runs/NAME-OF-THE-RECIPE]",
)
@click.option("--resume", is_flag=True, help="Continue from the latest valid checkpoint of the run.")
@click.option(
    "--dry-run", is_flag=True, help="Report the data, take a few steps, print size, time, memory and disk, and stop."
)
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    default=1,
    help="Processes on this machine that train one model together. [default: 1]",
)
@click.option(
    "--probe",
    "probes",
    multiple=True,
    metavar="TEXT",
    help="Sentence whose attention is saved while it forms; repeatable.",
)
@data_options
@json_option
def command(
    recipe: Path | None,
    start_from: str | None,
    replay: tuple[Path, ...],
    replay_weight: float | None,
    old_valid: tuple[Path, ...],
    run: Path | None,
    resume: bool,
    dry_run: bool,
    processes: int,
    probes: tuple[str, ...],
    report: Path | None,
    as_json: bool,
    **data: Any,
) -> None:
    """Train a model by RECIPE.toml, or with defaults that fit the given text files; a recipe without a [model] section
    gets a model that fits its files too. RECIPE may be the name of a recipe that comes with regard. With --text the
    model is decoder-only, or with --set model.kind=encoder-only a masked language model. With --labels it is a
    classifier of texts or of images.

    With --from a saved or imported model is fine-tuned: a lower learning rate, few steps, and the score of the model
    as it was before the first step. RECIPE then needs no [model] and no [tokenizer] section.

    Before training, a report of the data is printed: what is dropped and why, untranslated copies, wrong languages,
    numbers and placeholders that differ, duplicates, and validation pairs that are training pairs.

    The run's directory gets the complete config, the event log (JSON lines), checkpoints, and model/ for the other
    commands. Ctrl-C, SIGTERM, a closed terminal and a closed output save and stop; --resume continues.
    """
    if processes > 1 and int(os.environ.get("WORLD_SIZE", "1")) == 1 and not dry_run:
        from regard.training.distributed import launch

        context = click.get_current_context()
        context.exit(launch(processes, context.find_root().obj, stop_signals()))
    check_report_path(report)
    options = replace(
        read_data_options(recipe, data), start_from=start_from or "", run=run, resume=resume, probes=probes
    )
    if replay or replay_weight or old_valid:
        options = _with_old_data(options, replay, replay_weight, old_valid)
    if dry_run:
        inspect_run(options, with_cost=True, report=report, as_json=as_json)
    else:
        run_training(options, report=report, as_json=as_json)


def _with_old_data(
    options: TrainOptions, replay: tuple[Path, ...], weight: float | None, old_valid: tuple[Path, ...]
) -> TrainOptions:
    """The options with data like those of the start model."""
    if options.files is None:
        raise RegardError(
            "--replay and --old-valid need --from and files to train on. In a recipe, name the replayed corpus in "
            "[[data.sources]] with its weight, and data.old_valid."
        )
    if not options.start_from and not options.resume:
        raise RegardError("--replay and --old-valid are for fine-tuning. Give the model with --from.")
    if weight and not replay:
        raise RegardError("--replay-weight needs --replay.")
    files = replace(options.files, replay=replay, replay_weight=weight, old_valid=old_valid)
    return replace(options, files=files)


def run_training(options: TrainOptions, *, report: Path | None = None, as_json: bool) -> None:
    """Train by these options, in one process or as one of several, and print what to do next."""

    from regard.training.distributed import is_restarted, join_process_group
    from regard.training.plan import make_plan, prepare_run
    from regard.training.run_directory import locked_run_directory

    options = replace(options, resume=options.resume or is_restarted())
    with join_process_group() as group:
        plan = group.rank0_first(lambda: make_plan(options))
        group.barrier()  # rank 0 writes from here on: the other ranks must have planned before
        display = make_display(as_json=as_json, steps=plan.config.training.steps) if group.is_rank0 else SilentDisplay()

        def prepare() -> Corpus:
            for note in plan.notes:
                display.note(note)
            corpus = prepare_run(plan, resume=options.resume, is_rank0=group.is_rank0, progress=display.preparing)
            display.note(corpus.describe())
            is_inspected = group.is_rank0 and (corpus.is_new or not options.resume or report is not None)
            data_report = corpus.inspect(plan.config) if is_inspected else None
            if data_report is not None:
                display.note("\n".join(describe_report(data_report)))
                write_report(report, data_report, class_counts=corpus.class_counts)
            return corpus

        with locked_run_directory(plan.run) if group.is_rank0 else nullcontext(), closing(display):
            with _interruptible_preparation(resume=options.resume) if group.is_rank0 else nullcontext():
                corpus = group.rank0_first(prepare)
            stopped_by = _train(plan, corpus, display, group, resume=options.resume)
        if group.is_rank0 and stopped_by:
            echo(
                f"stopped and saved. To continue: regard train --run {shlex.quote(str(plan.run))} --resume",
                to_error=True,
            )
        elif group.is_rank0:
            model = plan.run / "model"
            echo(f"The model is in {model}. To try it:", to_error=as_json)
            echo(f"  {corpus.example_command(model)}", to_error=as_json)
    if stopped_by:
        raise click.exceptions.Exit(128 + stopped_by)


@contextmanager
def _interruptible_preparation(*, resume: bool) -> Iterator[None]:
    """A stop before the first step loses nothing; a message is printed."""
    try:
        with acknowledged_signals():
            yield
    except (KeyboardInterrupt, SystemExit):
        effect = "continues" if resume else "starts over"
        echo(f"stopped; there is nothing to save yet, and the same command {effect}", to_error=True)
        raise


def _train(
    plan: TrainingPlan, corpus: Corpus, display: TrainingDisplay, group: ProcessGroup, *, resume: bool
) -> int | None:
    """Train to the end; returns the signal that stopped it, SIGPIPE for a closed output, or None."""
    from regard.training.loop import TrainingInterrupted, train

    with deferred_signals() as stop:
        try:
            for event in train(plan.config, plan.run, corpus, resume=resume, stop_signal=stop.requested, group=group):
                with stop.stop_on_closed_output():
                    display.on_event(event)
        except TrainingInterrupted as interruption:
            return interruption.signal
    return None

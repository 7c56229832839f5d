"""`regard probe`: what each layer of a model encodes about its words, by linear classifiers with a control task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import print_json, print_table, progress_bar
from regard.cli.inputs import check_outputs
from regard.cli.options import PATH, json_option, model_argument, plot_option
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.conll import TaggedSentence
    from regard.tracing.layer_vectors import Pooling, ProbedStack
    from regard.tracing.probing import ProbeReport


@click.command(
    name="probe",
    epilog="""\b
Examples:
  regard probe runs/x/model --plot layers.svg
  regard probe runs/x/model --stack decoder --seeds 3
  regard probe bert --words train.conllu --task "part of speech"
""",
)
@model_argument
@click.option(
    "--words",
    type=PATH,
    metavar="FILE",
    help="Words with tags: `word TAB tag` on each line and an empty line between sentences, or CoNLL-U. "
    "[default: sentences of the generated world]",
)
@click.option(
    "--source", type=PATH, help="For the decoder of a translator: the source of each sentence of --words, line by line."
)
@click.option("--language", type=click.Choice(["en", "ko"]), help="Of the generated sentences. [default: the model's]")
@click.option(
    "--stack", type=click.Choice(["encoder", "decoder"]), help="Whose layers. [default: the encoder, if there is one]"
)
@click.option(
    "--task", "tasks", multiple=True, metavar="NAME", help="Only this task: word, position, or a column of tags."
)
@click.option(
    "--pooling",
    type=click.Choice(["mean", "first", "last"]),
    default="mean",
    show_default=True,
    help="The vector of a word: the mean of its pieces, or one of them.",
)
@click.option("--max-words", type=click.IntRange(50), default=6_000, show_default=True, help="Of all sentences.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="Random splits and control tags.")
@plot_option("accuracy by layer")
@json_option
def command(
    model: Path,
    words: Path | None,
    source: Path | None,
    language: str | None,
    stack: ProbedStack | None,
    tasks: tuple[str, ...],
    pooling: Pooling,
    max_words: int,
    seeds: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Train a linear classifier on the vectors of each layer of MODEL, for every property of a word: its identity,
    its position, its part of speech, its role.

    Beside each accuracy stands that of a control task with a random tag for each word type: what a probe of this size
    can learn by heart. Layer 0 is the embedding.
    """
    from regard.inference.open import load
    from regard.tracing.probing import probe

    check_outputs({"--plot": plot}, [words, source])
    if source is not None and words is None:
        raise click.UsageError("--source is for the sentences of --words. Give --words too, or remove it.")
    sentences = None if words is None else _read_sentences(words, source)
    opened = load(model, engine="torch")
    with progress_bar("training probes", None) as advance:
        report = probe(
            opened,
            sentences,
            stack=stack,
            tasks=tasks,
            pooling=pooling,
            max_words=max_words,
            seeds=seeds,
            language=language,
            progress=advance,
        )
    if plot is not None:
        _plot(report, plot)
    if as_json:
        print_json(report)
    else:
        _print_report(report)


def _print_report(report: ProbeReport) -> None:
    """The baselines of each task, and a table of accuracies by layer."""
    for task in report.tasks:
        click.echo(
            f"{task.task}: {task.classes} classes, {task.words:,} words; without a model: {task.majority:.1%} by the "
            f"commonest tag, {task.word_baseline:.1%} by that of each word"
        )
    names = ["layer", *(f"{task.task}{kind}" for task in report.tasks for kind in ("", " (control)"))]
    rows = [
        [
            layer.name,
            *(
                f"{100 * accuracy:.1f}"
                for own in (task.layers[layer.layer] for task in report.tasks)
                for accuracy in (own.accuracy, own.control_accuracy)
            ),
        ]
        for layer in report.tasks[0].layers
    ]
    print_table(names, rows)


def _read_sentences(words: Path, source: Path | None) -> list[TaggedSentence]:
    from regard.data.conll import read_tagged_words
    from regard.data.text_lines import read_lines

    sentences = read_tagged_words(words)
    if source is None:
        return sentences
    texts = list(read_lines(source))
    if len(texts) != len(sentences):
        raise RegardError(f"{source} has {len(texts)} lines, and {words} has {len(sentences)} sentences.")
    return [replace(sentence, source=text) for sentence, text in zip(sentences, texts, strict=True)]


def _plot(report: ProbeReport, path: Path) -> None:
    """Two lines for each task, over the layers: its accuracy, and that of its control task."""
    from regard.plotting.line_plot import Line, plot_curves, save_figure

    lines = []
    for task in report.tasks:
        lines.append(Line(task.task, [(one.layer, 100 * one.accuracy) for one in task.layers]))
        lines.append(Line(f"{task.task}, control", [(one.layer, 100 * one.control_accuracy) for one in task.layers]))
    figure = plot_curves(
        lines,
        title=f"Linear probes of {report.model or 'the model'}, {report.stack}",
        x_label="layer",
        y_label="accuracy (%)",
        x_ticks=[(one.layer, one.name) for one in report.tasks[0].layers],
    )
    save_figure(figure, path)

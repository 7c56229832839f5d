"""`regard classify`: the class of texts or images, with probabilities."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from regard.cli.console import on_one_line, progress_bar
from regard.cli.inputs import check_outputs, text_batches
from regard.cli.options import PATH, json_option, model_argument, none_for_standard_output
from regard.errors import RegardError
from regard.files import atomic_file, printable

if TYPE_CHECKING:
    from regard.inference.classifier import Classification

MAX_SHOWN_CLASSES = 5


@click.command(
    name="classify",
    epilog="""\b
Examples:
  regard classify runs/reviews/model "What a wonderful film"
  regard classify runs/photographs/model *.jpg
  regard classify runs/reviews/model --input reviews.txt --output labels.txt""",
)
@model_argument
@click.argument("inputs", nargs=-1, metavar="[TEXT|IMAGE]...")
@click.option(
    "--input", "source", type=PATH, help="File of texts, or of image names, one per line; - is standard input."
)
@click.option(
    "--output",
    type=PATH,
    callback=none_for_standard_output,
    help="File for the results, a label per line. [default: standard output]",
)
@click.option(
    "--top-k",
    type=click.IntRange(1, 1000),
    help="Number of classes to print for each input. [default: 5; with --input, 1; with --json, all]",
)
@json_option
def command(
    model: Path, inputs: tuple[str, ...], source: Path | None, output: Path | None, top_k: int | None, as_json: bool
) -> None:
    """Classify each TEXT, or each IMAGE if MODEL classifies images. Without --input, each label is printed with the
    probabilities of the classes, the most probable first.
    """
    from regard.inference.open import load

    check_outputs({"--output": output}, [source])
    classifier, done = load(model, task="classification"), 0
    with (
        atomic_file(output) if output else nullcontext(sys.stdout.buffer) as file,
        progress_bar("classifying", None, is_shown=output is not None or not sys.stdout.isatty()) as progress,
    ):
        for batch in text_batches(inputs, source):
            if source is not None and not all(line.strip() for line in batch):
                number = done + next(number for number, line in enumerate(batch, start=1) if not line.strip())
                raise RegardError(f"{source}:{number}: the line is blank. Remove it, or write a text.")
            for given, found in zip(batch, classifier.iter_classes(batch, progress=progress), strict=True):
                shown = top_k or (len(found.probabilities) if as_json else 1 if source else MAX_SHOWN_CLASSES)
                prefix = f"{on_one_line(given)}\t" if len(inputs) > 1 else ""
                file.write(_format(given, found, shown, as_json=as_json, prefix=prefix))
                file.flush()
            done += len(batch)


def _format(given: str, found: Classification, shown: int, *, as_json: bool, prefix: str) -> bytes:
    """One line: a JSON object, or the label, and where several classes are wanted their probabilities."""
    ranked = dict(list(found.probabilities.items())[:shown])
    if as_json:
        return msgspec.json.encode({"input": printable(given), "label": found.label, "probabilities": ranked}) + b"\n"
    text = found.label if shown == 1 else ", ".join(f"{label} {value:.3f}" for label, value in ranked.items())
    return f"{prefix}{text}\n".encode(errors="surrogateescape")

"""`regard fill`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, json_option, model_argument


@click.command(
    name="fill",
    epilog="""\b
Examples:
  regard fill runs/world-encoder-only/model "AI가 ___ 바꾼다"
  regard fill runs/x/model --input cloze.txt --json""",
)
@model_argument
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--input", "source", type=PATH, help="File of texts with blanks, one a line; - is standard input.")
@click.option(
    "--guesses",
    type=click.IntRange(0, 1000),
    help="What else may stand in each blank, below each text. [default: 5; of a file, none]",
)
@json_option
def command(model: Path, texts: tuple[str, ...], source: Path | None, guesses: int | None, as_json: bool) -> None:
    """Fill the blanks of each TEXT by MODEL, an encoder-only one. A blank is ___ (or <mask>) and stands for one piece
    of the model's vocabulary, which may be a part of a word.

    The surest blank is filled first, and helps with the others.
    """
    from regard.cli.running.language import Beginnings, run_filling

    run_filling(model, Beginnings(texts, source), guesses=guesses, as_json=as_json)

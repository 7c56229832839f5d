"""`regard translate`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    engine_option,
    json_option,
    model_argument,
    quantization_option,
    unless_standard_output,
)


@click.command(
    name="translate",
    epilog="""\b
Examples:
  echo "Robots must obey orders" | regard translate runs/world-transformer/model
  regard translate runs/x/model --input test.en --output test.ko --alignments test.align""",
)
@model_argument
@click.option("--input", "source", type=PATH, default=Path("-"), help="File to translate. [default: standard input]")
@click.option("--output", type=PATH, callback=unless_standard_output, help="File to write. [default: standard output]")
@beam_option
@click.option(
    "--nbest", type=click.IntRange(1, 1024), default=1, help="Translations of each line: NUMBER ||| TEXT ||| SCORE."
)
@click.option("--alignments", type=PATH, help="File for the word links of each line, in Pharaoh format.")
@click.option("--scores", is_flag=True, help="Add a tab and the score to each line.")
@engine_option
@quantization_option
@json_option
def command(
    model: Path,
    source: Path,
    output: Path | None,
    beam: int | None,
    nbest: int,
    engine: str | None,
    quantization: str | None,
    **form: bool | Path | None,
) -> None:
    """Translate with MODEL, a directory such as runs/NAME/model or an export: as many lines out as in, in their order.

    A line is one sentence to the model: of several, some may be left out. A blank line stays blank. Lines end at a
    newline only; text is UTF-8 whatever the locale.
    """
    from regard.cli.running.models import Choice
    from regard.cli.running.translate import Form, run_translation

    choice = Choice(model, engine, quantization)  # type: ignore[arg-type]
    run_translation(choice, source, output, options={"beam": beam, "nbest": nbest}, form=Form(nbest=nbest, **form))  # type: ignore[arg-type]

"""`regard align`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, gold_base_option, json_option, unless_standard_output

SYMMETRIES = ["intersection", "union", "grow-diag-final-and"]


@click.command(
    name="align",
    epilog="""\b
Examples:
  regard align runs/x/model --source test.en --target test.ko --gold test.align --best
  regard align --hypothesis found.align --gold gold.align --gold-base 1""",
)
@click.argument("model", type=PATH, required=False)
@click.option("--source", type=PATH, help="Source sentences, one a line.")
@click.option("--target", type=PATH, help="Their translations, line by line.")
@click.option("--gold", type=PATH, help="Links that are known to be right, in Pharaoh format (1-2 sure, 1p2 possible).")
@gold_base_option
@click.option("--hypothesis", type=PATH, help="Instead of a model: links from a file, counted from 0, to be scored.")
@click.option("--layer", type=click.IntRange(1), help="Layer to read, counted from 1. [default: the mean of all]")
@click.option("--head", type=click.IntRange(1), help="Head to read, counted from 1. [default: the mean of all]")
@click.option(
    "--when",
    type=click.Choice(["said", "read"]),
    help="Read the attention as a target word is said, or as it is read as the next step's input. [default: said]",
)
@click.option("--best", is_flag=True, help="Choose layer, head and moment by the error on --dev-*, or else on --gold.")
@click.option("--every", is_flag=True, help="Instead of links: each layer, head and moment with its error, best first.")
@click.option("--dev-source", type=PATH, help="With --best: source sentences to choose by.")
@click.option("--dev-target", type=PATH, help="Their translations.")
@click.option("--dev-gold", type=PATH, help="Their links.")
@click.option("--reverse", type=PATH, help="A model of the other direction; the links of both are joined.")
@click.option("--symmetry", type=click.Choice(SYMMETRIES), help=f"How they are joined. [default: {SYMMETRIES[-1]}]")
@click.option(
    "--output", type=PATH, callback=unless_standard_output, help="File for the links. [default: standard output]"
)
@json_option
def command(model: Path | None, output: Path | None, as_json: bool, **wish: object) -> None:
    """Link the words of each sentence pair by MODEL's attention, in Pharaoh format, counted from 0.

    With --gold, precision, recall and the alignment error rate (AER) are told too.
    """
    from regard.cli.running.align import run_alignment
    from regard.cli.running.align_wish import Wish

    run_alignment(Wish(model=model, **wish), output=output, as_json=as_json)  # type: ignore[arg-type]

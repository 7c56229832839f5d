"""`regard show`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, beam_option, model_argument

USES = ["cross", "encoder-self", "decoder-self"]


@click.command(
    name="show",
    epilog="""\b
Examples:
  regard show runs/x/model "AI changes the world"
  regard show runs/x/model "AI changes the world" --layer 2 --head 1 --out map.svg
  regard show runs/x/model "AI changes the world" --out page.html
  regard show runs/captioner/model picture.png --out words.svg
  regard show runs/captioner/model *.jpg --out sheet.png""",
)
@model_argument
@click.argument("given", nargs=-1, required=True, metavar="SENTENCE|PICTURE...")
@click.option("--target", metavar="TEXT", help="A translation, or a caption, that the model is made to say.")
@click.option("--use", type=click.Choice(USES), help="Which attention. [default: the last one, as cross]")
@click.option("--layer", type=click.IntRange(1), help="Layer to show, counted from 1. [default: the mean of all]")
@click.option("--head", type=click.IntRange(1), help="Head to show, counted from 1. [default: the mean of all]")
@click.option(
    "--when",
    type=click.Choice(["said", "read"]),
    default="said",
    show_default=True,
    help="Cross-attention as a target word is said, or as it is read as the next step's input.",
)
@click.option("--pieces", is_flag=True, help="Show the model's pieces, not whole words.")
@beam_option
@click.option("--out", type=PATH, metavar="FILE", help="FILE.svg, FILE.png, or FILE.html with everything in it.")
def command(model: Path, given: tuple[str, ...], out: Path | None, **wish: object) -> None:
    """Show what MODEL looks at when it translates SENTENCE: as a map in the terminal, a picture, or a page.

    Of a decoder-only or encoder-only model, show how the words of SENTENCE look at each other.

    Of a captioner, show where it looks in a PICTURE at each word; several pictures become one sheet.

    A page is one HTML file with every layer, head and number; it works from a disk, without a network.
    """
    from regard.cli.running.show import Wish, run_show

    run_show(model, given, out, wish=Wish(**wish))  # type: ignore[arg-type]

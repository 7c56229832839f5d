"""`regard show`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, beam_option

USES = ["cross", "encoder-self", "decoder-self", "picture", "picture-self"]


@click.command(
    name="show",
    epilog="""\b
Examples:
  regard show runs/x/model "AI changes the world"
  regard show runs/x/model "AI changes the world" --layer 2 --head 1 --out map.svg
  regard show runs/x/model "AI changes the world" --out page.html
  regard show runs/captioner/model picture.png --out words.svg
  regard show runs/captioner/model *.jpg --out sheet.png
  regard show --run runs/x --out training.html""",
)
@click.argument("model", type=PATH, required=False)
@click.argument("given", nargs=-1, metavar="[SENTENCE|PICTURE...]")
@click.option("--run", type=PATH, metavar="RUN", help="Show a run's training instead: a page of curves and maps.")
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
def command(model: Path | None, given: tuple[str, ...], run: Path | None, out: Path | None, **wish: object) -> None:
    """Show what MODEL looks at when it translates SENTENCE: as a map in the terminal, a picture, or a page.

    Of a decoder-only or encoder-only model, show how the words of SENTENCE look at each other.

    Of a captioner, show where it looks in a PICTURE at each word; several pictures become one sheet.

    A page is one HTML file with every layer, head and number; it works from a disk, without a network. With --run, it
    is the course of a training: the losses, what was said, and the attention as it formed.
    """
    if run is not None:
        from regard.cli.running.show_run import run_show_run

        run_show_run(run, out, others=_besides(model, wish))
        return
    if model is None or not given:
        raise click.UsageError("Give a MODEL and a SENTENCE or PICTURE, or --run with a run.")
    from regard.cli.running.show import Wish, run_show

    run_show(model, given, out, wish=Wish(**wish))  # type: ignore[arg-type]


def _besides(model: Path | None, wish: dict[str, object]) -> list[str]:
    """The names of what was given, of all that a run has no use for."""
    options = [f"--{name}" for name, value in wish.items() if value not in (None, False, "said")]
    return ["MODEL"] * (model is not None) + options

"""`regard caption`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, beam_option, json_option, model_argument


@click.command(
    name="caption",
    epilog="""\b
Examples:
  regard caption runs/scenes-attention/model picture.png
  regard caption runs/scenes-attention/model *.jpg --json --maps""",
)
@model_argument
@click.argument("pictures", type=PATH, nargs=-1, required=True, metavar="PICTURE...")
@beam_option
@click.option(
    "--nbest", type=click.IntRange(1, 1024), default=1, help="Captions of each picture: NUMBER ||| TEXT ||| SCORE."
)
@click.option("--maps", is_flag=True, help="With --json: where the model looked at each word, as a grid of weights.")
@json_option
def command(model: Path, pictures: tuple[Path, ...], beam: int | None, nbest: int, maps: bool, as_json: bool) -> None:
    """Describe pictures with MODEL, a directory such as runs/NAME/model: one line for each, in the same order.

    Of several pictures each line begins with the picture's name and a tab; with --nbest, with its number, from 0.
    """
    from regard.cli.running.caption import Form, run_captions

    run_captions(model, pictures, options={"beam": beam, "nbest": nbest}, form=Form(nbest, maps, as_json))

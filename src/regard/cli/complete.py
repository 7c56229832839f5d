"""`regard complete`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, beam_option, json_option, model_argument


@click.command(
    name="complete",
    epilog="""\b
Examples:
  regard complete runs/world-decoder-only/model "AI가"
  regard complete runs/world-decoder-only/model "AI가" --sample --nbest 5 --seed 1
  regard complete runs/x/model --input beginnings.txt""",
)
@model_argument
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--input", "source", type=PATH, help="File of beginnings, one a line; - is standard input.")
@beam_option
@click.option("--nbest", type=click.IntRange(1, 1024), default=1, help="Ways in which each text goes on.")
@click.option("--sample", is_flag=True, help="Draw each next token at random, as likely as the model finds it.")
@click.option("--temperature", type=click.FloatRange(0, min_open=True), help="With --sample: below 1 is more careful.")
@click.option("--top-k", type=click.IntRange(1), help="With --sample: draw among this many likeliest tokens.")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="With --sample: among those that hold this.")
@click.option("--seed", type=click.IntRange(0), help="With --sample: the same number draws the same. [default: chance]")
@click.option("--length", type=click.IntRange(1), help="Tokens that are added at most. [default: the model's]")
@json_option
def command(
    model: Path,
    texts: tuple[str, ...],
    source: Path | None,
    beam: int | None,
    seed: int | None,
    length: int | None,
    as_json: bool,
    **drawing: object,
) -> None:
    """Go on with each TEXT by MODEL, a decoder-only one: each comes back with what follows it, on a line of its own.

    An empty text is begun. With --nbest, several lines for each: NUMBER ||| TEXT ||| SCORE.
    """
    from regard.cli.running.language import Beginnings, Drawing, run_completion

    drawn = Drawing(beam=beam, seed=seed, length_extra=length, **drawing)  # type: ignore[arg-type]
    run_completion(model, Beginnings(texts, source), drawn, as_json=as_json)

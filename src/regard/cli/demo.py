"""`regard demo`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH


@click.command(name="demo")
@click.option("--directory", type=PATH, default=Path("runs/demo"), show_default=True, help="Where everything is kept.")
@click.option("--recipes", type=PATH, help="Directory of other recipes by the same names. [default: regard's own]")
@click.option("--pairs", type=click.IntRange(1), default=60_000, show_default=True, help="Sentence pairs to train on.")
@click.option("--pictures", type=click.IntRange(1), default=40_000, show_default=True, help="Pictures to train on.")
@click.option(
    "--probe",
    "probes",
    multiple=True,
    metavar="TEXT",
    help="English sentence whose attention is seen as it forms; repeatable. [default: AI changes the world, and two]",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0: any free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page where there is a browser to open it with.")
@click.option("--leave", is_flag=True, help="Stop when everything is trained, instead of serving on.")
def command(recipes: Path | None, **wish: object) -> None:
    """Open the page, and train every generation of the lineage before your eyes, on sentences regard makes itself.

    The Transformer comes first; last comes a captioner, on pictures that regard draws. Ctrl-C stops; the next call goes
    on from there, or starts at once if all is trained.
    """
    from regard.cli.running.demo import Demo, run_demo
    from regard.cli.running.recipe_files import own_recipes

    demo = Demo(recipes=recipes or own_recipes(), **wish)  # type: ignore[arg-type]
    click.get_current_context().exit(run_demo(demo))

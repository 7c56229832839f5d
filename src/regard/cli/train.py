"""`regard train`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, json_option


@click.command(
    name="train",
    epilog="""\b
Examples:
  regard train recipes/world-transformer.toml --set training.steps=500
  regard train world-transformer
  regard train --source train.en --target train.de
  regard train --pairs train.tsv --valid-pairs valid.tsv --languages en,de
  regard train --text novel.txt --run runs/novel
  regard train --run runs/world-transformer --resume
  torchrun --nproc-per-node 8 -m regard train recipes/world-transformer.toml""",
)
@click.argument("recipe", type=PATH, required=False)
@click.option(
    "--set", "settings", multiple=True, metavar="SECTION.KEY=VALUE", help="Change an option of the recipe; repeatable."
)
@click.option(
    "--run",
    "--run-directory",
    "run",
    type=PATH,
    help="Directory of the run (torchrun takes --run for its own). [default: runs/NAME-OF-THE-RECIPE]",
)
@click.option("--resume", is_flag=True, help="Go on from the newest good checkpoint of the run.")
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    default=1,
    help="Processes on this machine that train one model together. [default: 1]",
)
@click.option(
    "--probe",
    "probes",
    multiple=True,
    metavar="TEXT",
    help="Sentence whose attention is saved as it forms; repeatable.",
)
@click.option("--source", type=PATH, help="Without a recipe: source sentences to train on.")
@click.option("--target", type=PATH, help="Their translations, line by line.")
@click.option(
    "--pairs", type=PATH, help="Instead of these two: one file of pairs (.tsv, .jsonl, .po or .tmx; .gz too)."
)
@click.option("--text", type=PATH, help="Instead of these three: plain text, a line an example, for a language model.")
@click.option("--valid-source", type=PATH, help="Source sentences to validate on. [default: pairs that are held out]")
@click.option("--valid-target", type=PATH, help="Their translations.")
@click.option("--valid-pairs", type=PATH, help="Instead of these two: one file of pairs.")
@click.option(
    "--valid-text", type=PATH, help="With --text: plain text to validate on. [default: lines that are held out]"
)
@click.option("--languages", metavar="SOURCE,TARGET", help="Language codes, as in en,de. [default: the files' endings]")
@json_option
def command(
    recipe: Path | None,
    run: Path | None,
    settings: tuple[str, ...],
    probes: tuple[str, ...],
    resume: bool,
    processes: int,
    as_json: bool,
    languages: str | None,
    **files: Path | None,
) -> None:
    """Train a model by RECIPE.toml, or with defaults that fit the given text files; a recipe without a [model] section
    gets a model that fits its files too. A name that is no file is that of a recipe that comes with regard. With --text
    the model is a decoder-only one, or with --set model.kind=encoder-only one that fills blanks.

    The run's directory gets the whole config, a journal (JSON lines), checkpoints, and model/, which the other commands
    take. Ctrl-C saves and stops, as do SIGTERM, a closed terminal, and output that nobody reads any more; --resume
    goes on.
    """
    from regard.cli.running.launching import is_member, launch

    if processes > 1 and not is_member():
        context = click.get_current_context()
        context.exit(launch(processes, context.find_root().obj))

    from regard.cli.running.recipe_files import found_recipe
    from regard.cli.running.recipes import Wish
    from regard.cli.running.text_files import TextFiles
    from regard.cli.running.train import run_training

    texts = TextFiles.given(languages, recipe=recipe, **files)
    recipe = recipe and found_recipe(recipe)
    run_training(Wish(recipe, texts, settings=settings, probes=probes, run=run, resume=resume), as_json=as_json)

"""`regard data world ...`: what can be asked."""

from pathlib import Path
from typing import Any

import click

from regard.cli.options import PATH

COUNT = click.IntRange(0)


@click.group(name="data")
def command() -> None:
    """Make the corpora that regard generates itself."""


@command.group()
def world() -> None:
    """Small worlds, in which the truth about every sentence is known."""


@world.command()
@click.option("--out", type=PATH, required=True, help="Directory to write to.")
@click.option("--train", type=COUNT, default=60_000, show_default=True, help="Pairs to train on.")
@click.option("--valid", type=COUNT, default=500, show_default=True, help="Pairs to validate on.")
@click.option("--test", type=COUNT, default=1_000, show_default=True, help="Pairs to test on.")
@click.option("--seed", type=COUNT, default=0, show_default=True, help="Another seed gives other sentences.")
def sentences(out: Path, seed: int, **counts: int) -> None:
    """English and Korean sentences that mean the same, with the links between their words.

    The splits share no sentence. NAME.en and NAME.ko go together line by line; NAME.align links their words.
    """
    from regard.cli.running.data import run_sentences

    run_sentences(out, counts, seed=seed)


@world.command()
@click.option("--out", type=PATH, required=True, help="Directory to write to.")
@click.option("--train", type=COUNT, default=10_000, show_default=True, help="Pictures to train on.")
@click.option("--valid", type=COUNT, default=500, show_default=True, help="Pictures to validate on.")
@click.option("--test", type=COUNT, default=1_000, show_default=True, help="Pictures to test on.")
@click.option("--language", type=click.Choice(["en", "ko"]), default="en", show_default=True, help="Of the captions.")
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Pixels of a side.")
@click.option("--seed", type=COUNT, default=0, show_default=True, help="Another seed gives other scenes.")
def scenes(out: Path, **wish: Any) -> None:
    """Pictures of coloured shapes, with captions, and the boxes of what each word speaks of.

    Each picture has one right caption, and no caption of one split is in another. captions.txt, train.txt, valid.txt
    and test.txt are as Flickr8k has them, the pictures are in images/, the boxes in boxes.jsonl.
    """
    from regard.cli.running.data import run_scenes

    run_scenes(out, wish)

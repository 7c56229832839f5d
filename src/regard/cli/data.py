"""`regard data inspect`: what is wrong with a corpus; `extract`: images out of IDX files; `generate`: own corpora."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from regard.cli.console import echo
from regard.cli.data_report import check_report_path, inspect_run
from regard.cli.options import PATH, json_option
from regard.cli.training_data import data_options, read_data_options
from regard.errors import RegardError

COUNT = click.IntRange(0, 1_000_000)
SPLITS = ("train", "valid", "test")


@click.group(name="data")
def command() -> None:
    """Inspect a corpus, extract the images of IDX files, or generate the corpora that come with regard."""


@command.command(
    short_help="Report what training would make of a corpus.",
    epilog="""\b
Examples:
  regard data inspect --pairs docs.tsv --pairs strings.po --languages en,ko --report data.html
  regard data inspect recipes/multi30k-transformer.toml""",
)
@click.argument("recipe", type=PATH, required=False)
@data_options
@json_option
def inspect(recipe: Path | None, report: Path | None, as_json: bool, **data: Any) -> None:
    """Report what `regard train` would make of the same files or recipe: what is dropped and why, untranslated copies,
    wrong languages, numbers and placeholders that differ, duplicates, and validation pairs that are training pairs.

    The text is filtered and tokenised as in training, in a temporary directory. Nothing is trained.
    """
    check_report_path(report)
    inspect_run(read_data_options(recipe, data), with_cost=False, report=report, as_json=as_json)


@command.command(
    short_help="Write the images of IDX files as PNG files.",
    epilog="""\b
Examples:
  regard data extract train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz --out runs/mnist/train
  regard data extract images.idx labels.idx --out pets --classes cat,dog""",
)
@click.argument("images", type=PATH)
@click.argument("labels", type=PATH)
@click.option("--out", type=PATH, required=True, help="Output directory; it gets one folder for each class.")
@click.option("--classes", metavar="NAME,NAME,...", help="The names of the classes 0, 1, ... [default: their numbers]")
def extract(images: Path, labels: Path, out: Path, classes: str | None) -> None:
    """Write the images of IDX files (MNIST, Fashion-MNIST; .gz too) as PNG files, one folder for each class.

    The folder is what `regard train --labels` and `regard evaluate --labels` take.
    """
    from regard.data.idx import extract_idx_images
    from regard.data.labelled_examples import describe_labels

    names = [name.strip() for name in classes.split(",")] if classes else []
    counts = extract_idx_images(images, labels, out, names=names)
    echo(f"{out}: {sum(counts.values()):,} images")
    for line in describe_labels(counts):
        echo(line)


@command.group(short_help="Generate a corpus with gold annotations.")
def generate() -> None:
    """Generate a small artificial corpus with gold annotations of every sentence or image."""


@generate.command(
    short_help="English and Korean sentences, with word alignments.",
    epilog="""\b
Examples:
  regard data generate sentences --out runs/world/data
  regard data generate sentences --labels who-acts --out runs/who-acts/data""",
)
@click.option("--out", type=PATH, required=True, help="Output directory.")
@click.option("--train", type=COUNT, default=60_000, show_default=True, help="Training pairs.")
@click.option("--valid", type=COUNT, default=500, show_default=True, help="Validation pairs.")
@click.option("--test", type=COUNT, default=1_000, show_default=True, help="Test pairs.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed gives other sentences."
)
@click.option(
    "--labels",
    "task",
    type=click.Choice(["type", "tense", "who-acts"]),
    help="Sentences of a classification task, with their labels: statement, question or command; the tense; or which "
    "of two people acts, which in English only the word order tells.",
)
@click.option(
    "--word-labels", is_flag=True, help="Also write the part of speech and the role of every word, for `regard probe`."
)
def sentences(out: Path, task: str | None, word_labels: bool, **options: int) -> None:
    """English and Korean sentences with the same meaning, and the gold alignment of their words.

    The splits share no sentence. NAME.en and NAME.ko are parallel line by line; NAME.align has the word links. With
    --labels, NAME.en.tsv and NAME.ko.tsv have `text TAB label` instead. With --word-labels, NAME.en.conllup and
    NAME.ko.conllup have `word TAB part of speech TAB role`.
    """
    from regard.worlds import sentences as generator

    endings = ["en", "ko", "align"] if task is None else ["en.tsv", "ko.tsv"]
    endings += ["en.conllup", "ko.conllup"] if word_labels else []
    _check_output(out, [f"{split}.{ending}" for split in SPLITS for ending in endings], generator.README)
    written = generator.write_world(out, task=task, word_labels=word_labels, **options)
    counts = ", ".join(f"{count:,} {name}" for name, count in written.items())
    echo(f"{out}: {counts} {'pairs' if task is None else 'texts'} ({', '.join(f'.{ending}' for ending in endings)})")


@generate.command(
    short_help="Images of coloured shapes, with captions and boxes.",
    epilog="""\b
Examples:
  regard data generate scenes --out runs/scenes/data --train 40000
  regard data generate scenes --labels count --out runs/count/data""",
)
@click.option("--out", type=PATH, required=True, help="Output directory.")
@click.option("--train", type=COUNT, default=10_000, show_default=True, help="Training images.")
@click.option("--valid", type=COUNT, default=500, show_default=True, help="Validation images.")
@click.option("--test", type=COUNT, default=1_000, show_default=True, help="Test images.")
@click.option("--language", type=click.Choice(["en", "ko"]), default="en", show_default=True, help="Of the captions.")
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Pixels of a side.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed gives other scenes.")
@click.option(
    "--labels",
    "task",
    type=click.Choice(["count", "left-of"]),
    help="Images of a classification task, with their labels instead of captions: how many shapes there are, or "
    "whether the red circle is to the left of the blue square.",
)
def scenes(out: Path, task: str | None, **options: object) -> None:
    """Images of coloured shapes with captions, and a gold box for each word that names an object.

    Each image has one correct caption, and no caption is in two splits. captions.txt, train.txt, valid.txt and test.txt
    have the format of Flickr8k; the images are in images/, the boxes in boxes.jsonl. With --labels, train.tsv,
    valid.tsv and test.tsv have `image TAB label` instead.
    """
    from regard.worlds import scenes as generator

    names = ["captions.txt", "boxes.jsonl", *(f"{split}.txt" for split in SPLITS)]
    names = names if task is None else [f"{split}.tsv" for split in SPLITS]
    _check_output(out, ["images", *names], generator.README if task is None else generator.LABELS_README)
    written = generator.write_world(out, generator.SceneWorldOptions(task=task, **options))  # type: ignore[arg-type]
    counts = ", ".join(f"{count:,} {name}" for name, count in written.items())
    echo(f"{out}: {counts} images with {'captions' if task is None else 'labels'}")


def _check_output(out: Path, names: Sequence[str], readme: str) -> None:
    """An error if a file would be overwritten that is not of a generated corpus."""
    from regard.worlds import FINISHED_README, UNFINISHED_README, is_generated_corpus

    if out.exists() and not out.is_dir():
        raise RegardError(f"{out} is not a directory. Choose another one with --out.")
    existing = [str(out / name) for name in [*names, FINISHED_README, UNFINISHED_README] if (out / name).exists()]
    if existing and not is_generated_corpus(out, readme):
        raise RegardError(
            f"{existing[0]} exists and is not of a generated corpus. Choose another directory with --out."
        )

"""`regard fill`: fill the masks in texts with an encoder-only model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from regard.cli.console import print_json, print_line, progress_bar
from regard.cli.inputs import text_batches
from regard.cli.options import PATH, json_option, model_argument


@click.command(
    name="fill",
    epilog="""\b
Examples:
  regard fill world-encoder-only "가수 열두 ___ 간호사를 부른다"
  regard fill runs/world-encoder-only/model "AI가 ___ 바꾼다"
  regard fill runs/x/model --input cloze.txt --json""",
)
@model_argument
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--input", "source", type=PATH, help="File of texts with masks, one per line; - is standard input.")
@click.option(
    "--top-k",
    type=click.IntRange(0, 1000),
    help="Number of candidates to print for each mask. [default: 5; with --input, 0]",
)
@json_option
def command(model: Path, texts: tuple[str, ...], source: Path | None, top_k: int | None, as_json: bool) -> None:
    """Fill the masks of each TEXT with MODEL, an encoder-only model. A mask is ___ (or <mask>) and stands for one token
    of the model's vocabulary, which may be a part of a word.

    The mask with the highest probability is filled first, and the next predictions depend on it.
    """

    from regard.inference.open import load

    if top_k is None:
        top_k = 5 if as_json or source is None else 0
    filler = load(model, task="fill-mask")
    with progress_bar("filling", None, is_shown=not sys.stdout.isatty()) as progress:
        for batch in text_batches(texts, source):
            for text in batch:
                [filled] = filler.fill([text], top_k=max(1, top_k))
                if as_json:
                    print_json({"text": filled.text, "masks": filled.predictions})
                else:
                    print_line(filled.text)
                    for number, predictions in enumerate(filled.predictions if top_k else [], start=1):
                        candidates = ", ".join(f"{one.token} {one.probability:.2f}" for one in predictions)
                        print_line(f"    mask {number}: {candidates}")
                progress(1)

"""`regard fill`: fill the masks in texts with an encoder-only model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from regard.cli.complete import print_bytes, text_batches
from regard.cli.console import progress_bar
from regard.cli.options import PATH, json_option, model_argument

if TYPE_CHECKING:
    from regard.inference.mask_filler import FilledText


@click.command(
    name="fill",
    epilog="""\b
Examples:
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
                print_bytes(_filled_record(filled) if as_json else _filled_lines(filled, top_k))
                progress(1)


def _filled_lines(filled: FilledText, shown: int) -> str:
    lines = [filled.text]
    for number, predictions in enumerate(filled.predictions if shown else [], start=1):
        candidates = ", ".join(f"{one.token} {one.probability:.2f}" for one in predictions)
        lines.append(f"    mask {number}: {candidates}")
    return "\n".join(lines)


def _filled_record(filled: FilledText) -> str:
    return msgspec.json.encode({"text": filled.text, "masks": filled.predictions}).decode()

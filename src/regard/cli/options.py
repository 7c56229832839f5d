"""The options and arguments that several commands share, with their callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from regard.errors import RegardError

PATH = click.Path(path_type=Path)
STANDARD_OUTPUT = Path("-")
PLOT_SUFFIXES = (".svg", ".png", ".pdf")


def none_for_standard_output(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """The output file; None for `-`, which is standard output, the default."""
    return None if path == STANDARD_OUTPUT else path


def _check_plot_path(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """The file of a plot; an error for another format, before the long work."""
    if path is not None and path.suffix.lower() not in PLOT_SUFFIXES:
        raise RegardError(f"{path.name} does not end with .svg, .png or .pdf. Give one of these names.")
    return path


def plot_option(content: str) -> Callable[[Any], Any]:
    """The option of a file for a plot of this content."""
    text = f"Plot {content} (.svg, .png or .pdf)."
    return click.option("--plot", type=PATH, metavar="FILE.svg", callback=_check_plot_path, help=text)


model_argument = click.argument("model", type=PATH)

beam_option = click.option(
    "--beam", "beam_size", type=click.IntRange(1, 1024), help="Beam size; 1 is greedy. [default: the model's own]"
)

nbest_option = click.option(
    "--nbest",
    type=click.IntRange(1, 1024),
    default=1,
    help="Number of outputs for each input, written as NUMBER ||| TEXT ||| SCORE.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON for programs.")

source_option = click.option("--source", type=PATH, help="Source sentences, one per line (.gz is read too).")

reference_option = click.option("--reference", type=PATH, help="Reference translations, line by line.")

pairs_option = click.option(
    "--pairs", type=PATH, help="Instead of these two: one file of pairs (.tsv, .csv, .jsonl, .po or .tmx; .gz too)."
)

skip_language_check_option = click.option(
    "--skip-language-check", is_flag=True, help="Accept sources and references that seem to be swapped."
)

captions_option = click.option(
    "--captions", type=PATH, help="For captioners: a file of captions, or a folder with a captions.txt."
)

labels_option = click.option(
    "--labels",
    type=PATH,
    help="For classifiers: texts or images with labels (.tsv, .jsonl, .csv), or a folder of images.",
)

split_option = click.option("--split", metavar="NAME", help="Only the images of this split, such as test.")

tokenize_option = click.option(
    "--tokenize",
    metavar="NAME",
    help="Tokenizer of BLEU: 13a, intl, zh, ja-mecab, ko-mecab, char or none. [default: by the target language, or by "
    "the script of the reference]",
)

lowercase_option = click.option("--lowercase", is_flag=True, help="Ignore upper and lower case in the scores.")

resamples_option = click.option(
    "--resamples",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Bootstrap samples for the confidence intervals.",
)

gold_index_base_option = click.option(
    "--gold-index-base",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Index of the first word in the gold links.",
)

engine_option = click.option(
    "--engine",
    type=click.Choice(["torch", "ctranslate2", "auto"]),
    help="Decoding engine. auto is the fastest one with the same output: ctranslate2 in float32 if it supports the "
    "model, else torch. [default: auto]",
)

quantization_option = click.option(
    "--quantization",
    type=click.Choice(["int8", "int8_float32", "int16", "float16", "float32"]),
    help="Number format of ctranslate2; it implies --engine ctranslate2. All but float32 change some outputs; "
    "`regard export` measures how many. [default: float32]",
)


def reject_options(options: Mapping[str, object], whose: str, given: str) -> None:
    """An error if an option is given that is for other models than `given` is for."""
    unfit = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if unfit:
        raise click.UsageError(f"{', '.join(unfit)} is for {whose}. Remove it, or remove {given}.")

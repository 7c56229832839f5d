"""Options that several commands share, checks of the files that a command reads and writes, and models to open."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.config import Config
from regard.errors import RegardError
from regard.files import CONFIG_FILE, atomic_file, check_writable, find_model_directory, model_name, printable
from regard.languages import base_code, languages_swapped
from regard.process import configure_malloc

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.inference.interface import EngineName
    from regard.inference.translator import Translator
    from regard.interop.ctranslate2 import Quantization

PATH = click.Path(path_type=Path)
STANDARD_OUTPUT = Path("-")
PLOT_SUFFIXES = (".svg", ".png", ".pdf")
TEXTS_PER_BATCH = 256


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


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """An error if an output file, named by its option, cannot be written or is read by the command as well."""
    read = [path for path in inputs if path is not None and path.is_file()]
    for option, output in outputs.items():
        if output is None:
            continue
        if output.is_file() and any(output.samefile(path) for path in read):
            raise RegardError(f"{option} {output} is also an input file. Give another name.")
        check_writable(output)


def check_new_directory(path: Path) -> None:
    """An error if there is something at the path that would be overwritten."""
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):  # a link may lead nowhere
        raise RegardError(f"{path} exists already. Remove it, or give another directory.")


def text_batches(texts: Sequence[str], source: Path | None) -> Iterator[list[str]]:
    """The texts of the command line, or those of a file, in batches."""
    from regard.data.readers import check_monolingual
    from regard.data.readers.lines import read_lines

    if bool(texts) == (source is not None):
        raise RegardError("give texts in quotation marks, or --input with a file of texts; - is standard input.")
    if source is None:
        yield list(texts)
        return
    check_monolingual(source)
    lines = read_lines(source)
    while batch := list(islice(lines, TEXTS_PER_BATCH)):
        yield batch


def write_texts(output: Path, texts: Iterable[str]) -> None:
    """Write the texts, one per line."""
    with atomic_file(output) as file:
        file.writelines(f"{text}\n".encode() for text in texts)


def check_direction(models: Iterable[Path], source: Path, target: Path, options: tuple[str, str]) -> None:
    """An error if both files are one, or if their names end in the models' languages in the wrong order."""
    both = " and ".join(options)
    if source.is_file() and target.is_file() and source.samefile(target):
        raise RegardError(f"{both} are the same file, {source}. Give the sentences and their translations.")
    for model in models:
        languages = languages_of(model)
        if ending := languages_swapped(source, target, languages):
            raise RegardError(
                f"{source} and {target} end in {ending[0]} and {ending[1]}, but {model} translates "
                f"{' to '.join(languages)}. Swap {both}, or rename the files if they are in these languages."
            )


def languages_of(model: Path) -> list[str]:
    """The language codes in the config of a model or an export, read without its weights."""
    try:
        return Config.load(find_model_directory(model) / CONFIG_FILE).data.languages
    except RegardError:
        return []  # opening the model reports the problem


def base_codes(languages: Sequence[str]) -> list[str]:
    """The codes without regions: en of en-GB."""
    return [base_code(code) for code in languages]


def load_translator(
    model: Path,
    engine: EngineName | None = None,
    quantization: Quantization | None = None,
    *,
    with_weights: bool = False,
) -> Translator:
    """The translator with the chosen engine, which is printed."""

    from regard.inference.open import load

    translator = load(
        model, task="translation", engine=engine or "auto", quantization=quantization, with_weights=with_weights
    )
    if translator.engine.name == "torch":
        configure_malloc()
    click.echo(f"engine: {translator.engine.description}", err=True)
    return translator


def load_torch_model(model: Path) -> Bundle:
    """The torch model of a translator, whose attention is read."""

    from regard.inference.open import load

    configure_malloc()
    return load(model, task="translation", engine="torch").require_bundle("alignments")


def distinct_names(models: Sequence[Path]) -> list[str]:
    """A name for each model in a table: the name of its run, or its path if another model has the same name."""
    names = [model_name(find_model_directory(model)) for model in models]
    return [printable(str(path)) if names.count(name) > 1 else name for path, name in zip(models, names, strict=True)]

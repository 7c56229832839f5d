"""What a command is given: models to open, texts to read, and files to check before the long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.console import echo
from regard.cli.options import STANDARD_OUTPUT
from regard.config import Config
from regard.errors import RegardError
from regard.files import CONFIG_FILE, check_writable, find_model_directory, model_name, printable
from regard.languages import base_code, languages_swapped
from regard.process import configure_malloc

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.inference.interface import EngineName
    from regard.inference.translator import Translator
    from regard.interop.ctranslate2 import Quantization

TEXTS_PER_BATCH = 256


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
    echo(f"engine: {translator.engine.description}", to_error=True)
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


def text_batches(texts: Sequence[str], source: Path | None) -> Iterator[list[str]]:
    """The texts of the command line, or those of a file, in batches."""
    from regard.data.pair_readers import check_monolingual
    from regard.data.text_lines import read_lines

    if bool(texts) == (source is not None):
        raise RegardError("give texts in quotation marks, or --input with a file of texts; - is standard input.")
    if source is None:
        yield list(texts)
        return
    check_monolingual(source)
    lines = read_lines(source)
    while batch := list(islice(lines, TEXTS_PER_BATCH)):
        yield batch


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """An error if an output file, named by its option, cannot be written or is read by the command as well."""
    read = [path for path in inputs if path is not None and path.is_file()]
    for option, output in outputs.items():
        if output is None or output == STANDARD_OUTPUT:
            continue
        if output.is_file() and any(output.samefile(path) for path in read):
            raise RegardError(f"{option} {output} is also an input file. Give another name.")
        check_writable(output)


def check_new_directory(path: Path) -> None:
    """An error if there is something at the path that would be overwritten."""
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):  # a link may lead nowhere
        raise RegardError(f"{path} exists already. Remove it, or give another directory.")


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

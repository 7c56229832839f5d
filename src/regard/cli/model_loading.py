"""Translators for commands, with the chosen engine; the languages and names of models, read without their weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.config import Config
from regard.errors import RegardError
from regard.files import CONFIG_FILE, find_model_directory, model_name, printable
from regard.languages import base_code
from regard.process import configure_malloc

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.inference.interface import EngineName
    from regard.inference.translator import Translator
    from regard.interop.ctranslate2 import Quantization


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

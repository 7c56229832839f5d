"""`regard export`: write a model in the format of another program."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import echo
from regard.cli.options import PATH, model_argument
from regard.errors import RegardError
from regard.files import MAX_METADATA_BYTES, find_model_directory
from regard.input_files import read_input

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.interop.ctranslate2 import Quantization


@click.command(
    name="export",
    epilog="""\b
Examples:
  regard export runs/x/model --to ctranslate2 x-int8 --quantization int8
  regard export runs/x/model --to huggingface x-marian
  regard export runs/x/model --to argos x.argosmodel""",
)
@model_argument
@click.option(
    "--to",
    "target",
    type=(click.Choice(["ctranslate2", "huggingface", "argos"]), PATH),
    required=True,
    metavar="FORMAT PATH",
    help="ctranslate2, huggingface or argos, and the directory (argos: the file) to write.",
)
@click.option(
    "--quantization",
    type=click.Choice(["int8", "int8_float32", "int16", "float16", "float32"]),
    help="Number format of the ctranslate2 or argos export. All but float32 change some outputs; for ctranslate2 the "
    "difference is measured on the run's validation set and printed. [default: float32]",
)
@click.option("--shortlist", type=PATH, help="Vocabulary map for the ctranslate2 export (vmap.txt).")
def command(model: Path, target: tuple[str, Path], quantization: Quantization | None, shortlist: Path | None) -> None:
    """Write MODEL in another program's format: CTranslate2, Hugging Face's transformers, or Argos Translate.

    `regard translate DIR` reads a CTranslate2 export like a model. Translators become Marian models for transformers;
    an imported BERT, DistilBERT, RoBERTa, GPT-2 or Llama model is written with its own tensors and ids. A model that
    the format cannot hold is an error that lists every reason.
    """
    kind, directory = target
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RegardError(f"{directory} exists already. Remove it, or give another directory.")

    from regard.bundle import load_bundle

    bundle = load_bundle(find_model_directory(model))
    if kind == "huggingface":
        if quantization or shortlist:
            raise RegardError("--quantization and --shortlist are for --to ctranslate2. Remove them.")
        _export_huggingface(bundle, directory)
    elif kind == "argos":
        from regard.interop.argos import export_argos

        if shortlist:
            raise RegardError("--shortlist is for --to ctranslate2. Remove it.")
        export_argos(bundle, directory, quantization=quantization or "float32")
        echo(f"{directory} is for Argos Translate: argospm install {shlex.quote(str(directory))}")
    else:
        from regard.interop.ctranslate2 import export_ctranslate2

        advice = "Give a vocabulary map."
        words = read_input(shortlist, max_bytes=MAX_METADATA_BYTES, advice=advice) if shortlist else None
        export_ctranslate2(bundle, directory, quantization=quantization or "float32", shortlist=words)
        if shortlist or quantization not in (None, "float32"):
            print_export_difference(model, directory)
        echo(f"To use it: regard translate {shlex.quote(str(directory))}")


def print_export_difference(model: Path, export: Path) -> None:
    """Translate the validation set of the model's run with the export and with the model, and print the difference."""
    from regard.inference.export_difference import MAX_LINES, measure_export
    from regard.inference.open import load
    from regard.training.plan import validation_pairs

    pairs = validation_pairs(find_model_directory(model).resolve().parent)
    quick = load(export, task="translation")
    name = quick.engine.description.partition(", ")[2]
    if not pairs:
        echo(f"{model} has no validation set here: how many lines {name} changes is not known.", to_error=True)
        return
    exact = load(model, task="translation", quantization="float32", with_weights=False)
    echo(measure_export(quick, exact, pairs[:MAX_LINES]).describe(name))


def _export_huggingface(bundle: Bundle, directory: Path) -> None:
    from regard.config import LanguageModelConfig

    if isinstance(bundle.config.model, LanguageModelConfig):
        from regard.interop.huggingface import export_family

        name = export_family(bundle, directory)
        echo(f"{directory} is for {name}.from_pretrained and AutoTokenizer.from_pretrained.")
    else:
        from regard.interop.marian import export_huggingface

        export_huggingface(bundle, directory)
        echo(f"{directory} is for MarianMTModel.from_pretrained and MarianTokenizer.from_pretrained.")

"""`regard export`: write a model in the format of another program."""

import os
from pathlib import Path

import click

from regard.cli.console import echo
from regard.cli.inputs import check_new_directory
from regard.cli.options import PATH, model_argument
from regard.files import MAX_METADATA_BYTES, find_model_directory, read_input
from regard.interop.export_model import EXPORT_FORMATS, FLOAT32

QUANTIZATIONS = list(dict.fromkeys(name for one in EXPORT_FORMATS.values() for name in one.quantizations))


@click.command(
    name="export",
    epilog="""\b
Examples:
  regard export runs/x/model --to ctranslate2 x-int8 --quantization int8
  regard export runs/x/model --to huggingface x-marian
  regard export runs/x/model --to marian x-firefox --quantization int8
  regard export runs/x/model --to argos x.argosmodel""",
)
@model_argument
@click.option(
    "--to",
    "target",
    type=(click.Choice(list(EXPORT_FORMATS)), PATH),
    required=True,
    metavar="FORMAT PATH",
    help=f"{', '.join(EXPORT_FORMATS)}, and the directory (argos: the file) to write.",
)
@click.option(
    "--quantization",
    type=click.Choice(QUANTIZATIONS),
    help="Number format. All but float32 change some outputs; for ctranslate2 the difference is measured on the run's "
    "validation set and printed. [default: float32]",
)
@click.option("--shortlist", type=PATH, help="Vocabulary map for the ctranslate2 export (vmap.txt).")
def command(model: Path, target: tuple[str, Path], quantization: str | None, shortlist: Path | None) -> None:
    """Write MODEL in another program's format: CTranslate2, Hugging Face's transformers, Marian, or Argos Translate.

    `regard translate DIR` reads a CTranslate2 export like a model. Translators become Marian models for transformers;
    an imported BERT, DistilBERT, RoBERTa, GPT-2, Llama, T5 or ViT model is written with its own tensors and ids.
    `marian` is the format of Firefox's engine. A model that the format cannot hold is an error that lists every reason.
    """
    name, path = target
    chosen = EXPORT_FORMATS[name]
    check_new_directory(path)
    precision = chosen.check(quantization, shortlist)
    advice = "Give a vocabulary map."
    words = read_input(shortlist, max_bytes=MAX_METADATA_BYTES, advice=advice) if shortlist else None

    from regard.bundle import load_bundle

    usage = chosen.write(load_bundle(find_model_directory(model)), path, precision, words)
    if chosen.is_engine and (words or precision != FLOAT32):
        print_export_difference(model, path)
    echo(usage)


def print_export_difference(model: Path, export: Path) -> None:
    """Translate the validation set of the model's run with the export and with the model, and print the difference."""
    from regard.inference.export_difference import MAX_LINES, measure_export
    from regard.inference.open import load
    from regard.training.run_directory import validation_pairs

    pairs = validation_pairs(Path(os.path.realpath(find_model_directory(model))).parent)
    quick = load(export, task="translation")
    name = quick.engine.description.partition(", ")[2]
    if not pairs:
        echo(f"{model} has no validation set here: how many lines {name} changes is not known.", to_error=True)
        return
    exact = load(model, task="translation", quantization="float32", with_weights=False)
    echo(measure_export(quick, exact, pairs[:MAX_LINES]).describe(name))

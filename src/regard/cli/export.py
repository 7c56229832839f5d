"""`regard export`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, model_argument


@click.command(
    name="export",
    epilog="""\b
Examples:
  regard export runs/x/model --to ctranslate2 x-int8 --quantization int8
  regard export runs/x/model --to safetensors-hf x-marian""",
)
@model_argument
@click.option(
    "--to",
    "target",
    type=(click.Choice(["ctranslate2", "safetensors-hf"]), PATH),
    required=True,
    metavar="FORMAT DIR",
    help="ctranslate2 or safetensors-hf, and the directory to write.",
)
@click.option(
    "--quantization",
    type=click.Choice(["int8", "int8_float32", "int16", "float16", "float32"]),
    help="Numbers of the ctranslate2 export. [default: int8]",
)
@click.option("--shortlist", type=PATH, help="Vocabulary map to put into the ctranslate2 export (vmap.txt).")
def command(model: Path, target: tuple[str, Path], quantization: str | None, shortlist: Path | None) -> None:
    """Write MODEL in another program's format: a directory for CTranslate2, or one for Hugging Face's Marian classes.

    `regard translate DIR` takes a CTranslate2 export as it takes a model. What a format cannot hold is refused, with
    every reason.
    """
    from regard.cli.running.export import run_export

    run_export(model, target, quantization=quantization, shortlist=shortlist)

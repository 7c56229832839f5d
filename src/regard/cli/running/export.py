"""Running `regard export`."""

import shlex
from pathlib import Path

from regard.bundle import load_bundle
from regard.cli.running.telling import tell
from regard.errors import RegardError
from regard.export.ctranslate2 import export_ctranslate2
from regard.export.huggingface import export_huggingface
from regard.manifest import model_directory


def run_export(
    model: Path, target: tuple[str, Path], *, quantization: str | None = None, shortlist: Path | None = None
) -> None:
    """Write the model in the format asked for, and say how to use it."""
    kind, directory = target
    _refuse_to_overwrite(directory)
    bundle = load_bundle(model_directory(model))
    if kind == "safetensors-hf":
        if quantization or shortlist:
            raise RegardError("--quantization and --shortlist are for --to ctranslate2; leave them out.")
        export_huggingface(bundle, directory)
        tell(f"{directory} is for MarianMTModel.from_pretrained and MarianTokenizer.from_pretrained.")
        return
    words = _read(shortlist) if shortlist else None
    export_ctranslate2(bundle, directory, quantization=quantization or "int8", shortlist=words)
    tell(f"To use it: regard translate {shlex.quote(str(directory))}")


def _refuse_to_overwrite(directory: Path) -> None:
    """A directory is replaced whole, so that one with something in it is left alone."""
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RegardError(f"{directory} is there already. Remove it, or give another directory.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give a vocabulary map.") from None

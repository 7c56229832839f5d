"""Finding and loading the model that a command was given."""

from pathlib import Path

from regard.manifest import NAME as MANIFEST
from regard.translation.translator import Translator, load


def model_directory(path: Path) -> Path:
    """The bundle's directory: the one given or, where that is a run, the model in it."""
    inside = path / "model"
    return inside if (inside / MANIFEST).exists() and not (path / MANIFEST).exists() else path


def load_model(path: Path) -> Translator:
    """The model in a bundle's or a run's directory."""
    return load(model_directory(path))


def short_name(path: Path) -> str:
    """What to call a model in a table: the name of its run."""
    directory = model_directory(path).resolve()
    return directory.parent.name if directory.name == "model" else directory.name


def parameters_of(translator: Translator) -> int:
    """How many numbers the model has learnt."""
    return sum(parameter.numel() for parameter in translator.bundle.model.parameters())


def bytes_on_disk(path: Path) -> dict[str, int]:
    """The size of each file of a bundle."""
    return {file.name: file.stat().st_size for file in sorted(model_directory(path).iterdir()) if file.is_file()}

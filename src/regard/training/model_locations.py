"""The models in directories and runs, found by their files alone: nothing here imports torch."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from regard.errors import RegardError, suggest
from regard.files import MANIFEST_NAME, model_name, resolve_model_name
from regard.pretrained import names as pretrained_names
from regard.training.events import EVENT_LOG

MODEL = "model"  # the folder of a run that has its model


@dataclass(frozen=True)
class ModelLocation:
    """A model's directory, which may not exist yet, and the run that it comes from."""

    name: str
    directory: Path
    run: Path | None
    is_required: bool = False  # it was named itself, so that it must exist


def find_models(models: Iterable[Path], runs: Iterable[Path] = ()) -> list[ModelLocation]:
    """The models at the paths, each once; those with the same name get a number."""
    found = [one for path in models for one in _models_at(path)] + [_model_of_run(run) for run in runs]
    unique: dict[str, ModelLocation] = {}
    for one in {os.path.realpath(one.directory): one for one in found}.values():
        candidates = [one.name, *(f"{one.name}-{number}" for number in range(2, len(found) + 2))]
        name = next(candidate for candidate in candidates if candidate not in unique)
        unique[name] = replace(one, name=name)
    return list(unique.values())


def _models_at(path: Path) -> list[ModelLocation]:
    path = resolve_model_name(path)
    if (path / MANIFEST_NAME).exists():
        run = path.parent if (path.parent / EVENT_LOG).exists() else None
        return [ModelLocation(model_name(path), path, run, is_required=True)]
    if _is_run(path):
        return [replace(_model_of_run(path), is_required=(path / MODEL).exists())]
    inside = [_model_of_run(child) for child in sorted(path.iterdir()) if _is_run(child)] if path.is_dir() else []
    if not inside:
        near = suggest(str(path), pretrained_names())
        raise RegardError(
            f"{path} has no model{near}. Give a model's directory such as runs/NAME/model, a run, a folder of runs, or "
            f"the name of a model that comes with regard: {', '.join(pretrained_names())}."
        )
    return inside


def _is_run(path: Path) -> bool:
    return (path / MODEL / MANIFEST_NAME).exists() or (path / EVENT_LOG).exists()


def _model_of_run(run: Path) -> ModelLocation:
    return ModelLocation(Path(os.path.realpath(run)).name, run / MODEL, run)

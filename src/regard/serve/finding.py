"""Where models and runs are: a bundle's directory, a run's, or a folder of runs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from regard.errors import RegardError
from regard.manifest import NAME as MANIFEST

MODEL, JOURNAL, CONFIG = "model", "journal.jsonl", "config.toml"


@dataclass(frozen=True)
class Found:
    """A model's directory, which may not be there yet, and the run that it comes from."""

    name: str
    directory: Path
    run: Path | None
    is_required: bool = False  # named by itself: without it there is nothing to serve


def find_models(models: Iterable[Path], runs: Iterable[Path] = ()) -> list[Found]:
    """All that the paths lead to, each once; those of the same name are told apart by a number."""
    found = [one for path in models for one in _found(path)] + [_of_run(run) for run in runs]
    once = {one.directory.resolve(): one for one in found}
    return _told_apart(list(once.values()))


def _found(path: Path) -> list[Found]:
    if (path / MANIFEST).exists():
        run = path.parent if (path.parent / JOURNAL).exists() else None
        own = path.resolve()
        return [Found(own.parent.name if own.name == MODEL else own.name, path, run, is_required=True)]
    if _is_run(path):
        return [replace(_of_run(path), is_required=(path / MODEL).exists())]
    inside = [_of_run(child) for child in sorted(path.iterdir()) if _is_run(child)] if path.is_dir() else []
    if not inside:
        raise RegardError(
            f"{path} holds no model. Give a model's directory such as runs/NAME/model, a run, or a folder of runs."
        )
    return inside


def _is_run(path: Path) -> bool:
    return (path / MODEL / MANIFEST).exists() or (path / JOURNAL).exists()


def _of_run(run: Path) -> Found:
    return Found(run.resolve().name, run / MODEL, run)


def _told_apart(found: list[Found]) -> list[Found]:
    names: set[str] = set()
    unique = []
    for one in found:
        candidates = [one.name, *(f"{one.name}-{number}" for number in range(2, len(found) + 2))]
        name = next(candidate for candidate in candidates if candidate not in names)
        names.add(name)
        unique.append(replace(one, name=name))
    return unique

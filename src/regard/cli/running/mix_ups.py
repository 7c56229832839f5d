"""Files to train on that are taken for one another: told by their names, before hours are spent on the wrong ones."""

from collections.abc import Sequence
from pathlib import Path

from regard.cli.running.directions import is_one_file, swapped
from regard.cli.running.endings import languages_by_ending
from regard.config import DataConfig
from regard.errors import RegardError


def refuse_mix_ups(data: DataConfig) -> None:
    """An error where one file is both sides of a set, or where endings tell that the sides are swapped."""
    direction = data.languages or (languages_by_ending(*map(Path, data.train)) if len(data.train) == 2 else ())
    for name, files in (("data.train", data.train), ("data.valid", data.valid)):
        if len(files) == 2:
            _refuse(name, Path(files[0]), Path(files[1]), direction)


def warn_of_known_pairs(data: DataConfig) -> list[str]:
    """A warning where a model is to be validated on what it learns."""
    if not data.valid or _resolved(data.train) != _resolved(data.valid):
        return []
    return [
        f"warning: data.valid is what data.train is ({', '.join(data.valid)}): scores will tell what was learnt by "
        "heart, and choose the checkpoint by it. Give others to validate on."
    ]


def _refuse(name: str, source: Path, target: Path, direction: Sequence[str]) -> None:
    if is_one_file(source, target):
        raise RegardError(f"{name}: {target} is given as source and as target. Give the translations as target.")
    if ending := swapped(source, target, direction):
        raise RegardError(
            f"{name}: {source} and {target} are {' to '.join(ending)} by their endings, and the model is to translate "
            f"{' to '.join(direction)}. Swap the files, or name other languages with --languages or data.languages."
        )


def _resolved(files: Sequence[str]) -> list[Path]:
    return [Path(path).resolve() for path in files]

"""Checks of the files that a command reads and writes, before the long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from regard.cli.model_loading import languages_of
from regard.errors import RegardError
from regard.files import check_writable
from regard.languages import languages_swapped


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """An error if an output file, named by its option, cannot be written or is read by the command as well."""
    read = [path for path in inputs if path is not None and path.is_file()]
    for option, output in outputs.items():
        if output is None:
            continue
        if output.is_file() and any(output.samefile(path) for path in read):
            raise RegardError(f"{option} {output} is also an input file. Give another name.")
        check_writable(output)


def check_new_directory(path: Path) -> None:
    """An error if there is something at the path that would be overwritten."""
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):  # a link may lead nowhere
        raise RegardError(f"{path} exists already. Remove it, or give another directory.")


def check_direction(models: Iterable[Path], source: Path, target: Path, options: tuple[str, str]) -> None:
    """An error if both files are one, or if their names end in the models' languages in the wrong order."""
    both = " and ".join(options)
    if source.is_file() and target.is_file() and source.samefile(target):
        raise RegardError(f"{both} are the same file, {source}. Give the sentences and their translations.")
    for model in models:
        languages = languages_of(model)
        if ending := languages_swapped(source, target, languages):
            raise RegardError(
                f"{source} and {target} end in {ending[0]} and {ending[1]}, but {model} translates "
                f"{' to '.join(languages)}. Swap {both}, or rename the files if they are in these languages."
            )

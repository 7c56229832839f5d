"""Whether two files of sentences stand in the order in which they are translated, as far as their names tell."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.cli.running.endings import languages_by_ending
from regard.cli.running.models import base_codes, languages_of, plain_codes
from regard.errors import RegardError


def check_direction(models: Iterable[Path], source: Path, target: Path, options: tuple[str, str]) -> None:
    """Refuse one file for both sides, and names that end in the models' languages the other way round."""
    both = " and ".join(options)
    if is_one_file(source, target):
        raise RegardError(f"{both} are the same file, {source}. Give the sentences, and their translations.")
    for model in models:
        languages = languages_of(model)
        if ending := swapped(source, target, languages):
            raise RegardError(
                f"{source} and {target} end as {ending[0]} and {ending[1]} do, and {model} translates "
                f"{' to '.join(languages)}. Exchange {both}, or rename the files if they are in these languages."
            )


def is_one_file(source: Path, target: Path) -> bool:
    """Whether both names lead to the same file."""
    return source.is_file() and target.is_file() and source.samefile(target)


def swapped(source: Path, target: Path, direction: Sequence[str]) -> tuple[str, ...]:
    """The languages that the names end in, if they are those of the direction the other way round."""
    ending = languages_by_ending(source, target)
    # Of two kinds of one language, as zh-CN and zh-TW, only whole codes tell which is which.
    codes = plain_codes if len(set(base_codes(direction))) == 1 else base_codes
    return ending if ending and codes(ending) == codes(direction)[::-1] else ()

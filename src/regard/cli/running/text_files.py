"""The files of a run without a recipe: a source and a target, one file of pairs, or plain text; and maybe more to
validate on."""

from dataclasses import dataclass
from pathlib import Path

from regard.cli.running.endings import languages_by_ending
from regard.config import DataConfig
from regard.data import PAIR_FORMATS
from regard.errors import RegardError

Given = dict[str, Path | None]  # by the names of the options


@dataclass(frozen=True)
class TextFiles:
    """What to train and to validate on; where there is nothing to validate on, some of the first is held out."""

    train: tuple[Path, ...]
    valid: tuple[Path, ...]
    languages: tuple[str, ...]
    is_told_by_endings: bool = False  # nobody named the languages: they are read off the names of the training files
    is_text: bool = False  # of one language

    @classmethod
    def given(cls, languages: str | None, *, recipe: Path | None, **files: Path | None) -> "TextFiles | None":
        """The files if any was given; there must be some to train on then, and no recipe."""
        given = {f"--{name.replace('_', '-')}": path for name, path in files.items()}
        present = [name for name, path in given.items() if path]
        if not present:
            _refuse_languages_alone(languages)
            return None
        _refuse_recipe(recipe, present)
        train, valid = _files(given, "--"), _files(given, "--valid-")
        if not train:
            raise RegardError(f"{', '.join(present)} without a file to train on. {_wanted('--')}.")
        is_text = given["--text"] is not None
        if valid and is_text != (given["--valid-text"] is not None):
            raise RegardError("--text is validated on --valid-text, and pairs on pairs. Give both of one kind.")
        if languages:
            return cls(train, valid, tuple(code.strip() for code in languages.split(",")), is_text=is_text)
        codes = languages_by_ending(*train) if len(train) == 2 else ()
        return cls(train, valid, codes, is_told_by_endings=bool(codes), is_text=is_text)

    def data(self) -> DataConfig:
        """The data section that names the files."""
        train, valid = ([str(path) for path in files] for files in (self.train, self.valid))
        return DataConfig(train=train, valid=valid, languages=list(self.languages))


def _files(given: Given, prefix: str) -> tuple[Path, ...]:
    """The files of the options that begin so: none, one of text, one of pairs, or a source and a target."""
    text, pairs, *sides = (given[f"{prefix}{name}"] for name in ("text", "pairs", "source", "target"))
    if text and (pairs or any(sides)):
        raise RegardError(f"{prefix}text is of one language, for a language model. {_wanted(prefix)}, or text alone.")
    if pairs and any(sides):
        raise RegardError(f"{prefix}pairs holds sources and targets both. {_wanted(prefix)}, and not all of them.")
    if any(sides) and not all(sides):
        missing = f"{prefix}target" if sides[0] else f"{prefix}source"
        raise RegardError(f"{missing} is missing. {_wanted(prefix)}.")
    return tuple(path for path in (text, pairs, *sides) if path)


def _wanted(prefix: str) -> str:
    formats = ", ".join(PAIR_FORMATS)
    return f"Give {prefix}source and {prefix}target, or {prefix}pairs with one file of pairs ({formats})"


def _refuse_languages_alone(languages: str | None) -> None:
    if languages:
        raise RegardError(
            f"--languages {languages} goes with --source and --target, or with --pairs. With a recipe, change its own: "
            '--set \'data.languages=["en", "ko"]\'.'
        )


def _refuse_recipe(recipe: Path | None, present: list[str]) -> None:
    if recipe is not None:
        raise RegardError(
            f"a recipe ({recipe}) and text files ({', '.join(present)}) exclude each other. Leave one of them out; "
            "--set data.train=... and --set data.valid=... change a recipe's files."
        )

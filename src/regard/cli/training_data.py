"""The options that name the data of a run, which `regard train` and `regard data inspect` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.options import PATH
from regard.errors import RegardError
from regard.languages import languages_from_names

if TYPE_CHECKING:
    from regard.training.default_config import ExampleKind
    from regard.training.plan import TextFiles, TrainOptions


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that name the corpora of a run; `regard data inspect` has them too."""
    options = [
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="SECTION.KEY=VALUE",
            help="Override an option of the recipe; repeatable.",
        ),
        click.option("--source", type=PATH, help="Without a recipe: source sentences to train on."),
        click.option("--target", type=PATH, help="Their translations, line by line."),
        click.option(
            "--pairs",
            type=PATH,
            multiple=True,
            help="A file of pairs (.tsv, .csv, .jsonl, .po or .tmx; .gz too), added to --source and --target; "
            "repeatable.",
        ),
        click.option("--text", type=PATH, help="For a language model: plain text, one example per line."),
        click.option(
            "--labels",
            type=PATH,
            help="For a classifier: texts with labels (.tsv, .jsonl or .csv; .gz too), or a folder of images with one "
            "folder for each class.",
        ),
        click.option("--valid-source", type=PATH, help="Source sentences to validate on. [default: held-out pairs]"),
        click.option("--valid-target", type=PATH, help="Their translations."),
        click.option("--valid-pairs", type=PATH, help="Instead of these two: one file of pairs."),
        click.option("--valid-text", type=PATH, help="With --text: text to validate on. [default: held-out lines]"),
        click.option(
            "--valid-labels", type=PATH, help="With --labels: examples to validate on. [default: held-out ones]"
        ),
        click.option(
            "--languages",
            metavar="SOURCE,TARGET",
            help="Language codes, such as en,de. [default: the endings of the files]",
        ),
        click.option("--skip-language-check", is_flag=True, help="Accept sources and targets that seem to be swapped."),
        click.option("--report", type=PATH, metavar="FILE.html", help="Write the report of the data as a page, too."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def read_data_options(recipe: Path | None, data: dict[str, Any]) -> TrainOptions:
    """What to train, by the options of `data_options`."""
    from regard.training.plan import TrainOptions
    from regard.training.recipes import find_recipe

    languages, overrides, skips_check = (data.pop(name) for name in ("languages", "overrides", "skip_language_check"))
    files = read_text_options(recipe, languages, data)
    return TrainOptions(recipe and find_recipe(recipe), files, overrides=overrides, checks_languages=not skips_check)


def read_text_options(recipe: Path | None, languages: str | None, files: dict[str, Any]) -> TextFiles | None:
    """The text files to train and validate on, if any option names one; an error if the options do not fit."""

    from regard.training.plan import TextFiles

    given = {f"--{name.replace('_', '-')}": path for name, path in files.items()}
    given["--valid-pairs"] = (given["--valid-pairs"],) if given["--valid-pairs"] else ()
    present = ", ".join(name for name, path in given.items() if path)
    if not present:
        if languages:
            raise RegardError(
                f"--languages {languages} needs --source and --target, or --pairs. With a recipe use "
                '--set \'data.languages=["en", "ko"]\'.'
            )
        return None
    if recipe is not None:
        raise RegardError(
            f"a recipe ({recipe}) and text files ({present}) exclude each other. Remove one of them; "
            "--set data.train=... and --set data.valid=... change the files of a recipe."
        )
    corpora, valid = _corpora_of_role(given, "--"), _corpora_of_role(given, "--valid-")
    if not corpora:
        raise RegardError(f"{present} without a file to train on. {_expected_files('--')}.")
    if len(valid) > 1:
        raise RegardError(f"--valid-pairs has sources and targets. {_expected_files('--valid-')}, but not both.")
    kind, valid_kind = _kind_of_examples(given, "--"), _kind_of_examples(given, "--valid-")
    if valid and kind != valid_kind:
        raise RegardError(
            "--text needs --valid-text, --labels needs --valid-labels, and pairs need pairs to validate on. Give both "
            "of one kind."
        )
    codes = tuple(code.strip() for code in languages.split(",")) if languages else ()
    endings = languages_from_names(*corpora[0]) if not codes and len(corpora[0]) == 2 else ()
    return TextFiles(corpora, (*valid, ())[0], codes or endings, is_by_endings=bool(endings), kind=kind)


def _corpora_of_role(given: dict[str, Any], prefix: str) -> tuple[tuple[Path, ...], ...]:
    """The corpora of the options with this prefix: of text or labels, of a source and a target, or of pairs."""
    text, labels, pairs, *sides = (given[f"{prefix}{name}"] for name in ("text", "labels", "pairs", "source", "target"))
    if text and (pairs or labels or any(sides)):
        raise RegardError(f"{prefix}text is for a language model. {_expected_files(prefix)}, or {prefix}text alone.")
    if labels and (pairs or any(sides)):
        raise RegardError(f"{prefix}labels is for a classifier. {_expected_files(prefix)}, or {prefix}labels alone.")
    if any(sides) and not all(sides):
        missing = f"{prefix}target" if sides[0] else f"{prefix}source"
        raise RegardError(f"{missing} is missing. {_expected_files(prefix)}.")
    single = text or labels
    return tuple(
        files
        for files in ((single,) if single else (), tuple(filter(None, sides)), *((one,) for one in pairs))
        if files
    )


def _kind_of_examples(given: dict[str, Any], prefix: str) -> ExampleKind:
    return "text" if given[f"{prefix}text"] else "labels" if given[f"{prefix}labels"] else "pairs"


def _expected_files(prefix: str) -> str:
    from regard.data.pair_readers import PAIR_FORMATS

    formats = ", ".join(PAIR_FORMATS)
    return f"Give {prefix}source and {prefix}target, or {prefix}pairs with one file of pairs ({formats})"

"""Finding and loading the model that a command was given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.running.telling import tell
from regard.config import load as load_config
from regard.errors import RegardError
from regard.export.opening import EngineName, open_translator
from regard.manifest import model_directory
from regard.memory import keep_freed_memory
from regard.starting import without_collecting
from regard.translation.exported import CONFIG
from regard.translation.lines import LineTranslator

if TYPE_CHECKING:  # it brings torch, which an export does without
    from regard.translation.translator import Translator


@dataclass(frozen=True)
class Choice:
    """A model, and who decodes with it."""

    model: Path
    engine: EngineName | None = None
    quantization: str | None = None


def load_model(path: Path) -> "Translator":
    """The model in a bundle's or a run's directory."""
    with without_collecting():
        from regard.translation.translator import load

    return load(model_directory(path))


def open_model(choice: Choice, *, is_looked_into: bool = False) -> LineTranslator:
    """The model with the engine that was chosen; where the choice was left open, it is told."""
    opened = open_translator(
        model_directory(choice.model),
        engine=choice.engine,
        quantization=choice.quantization,
        is_looked_into=is_looked_into,
    )
    if opened.translator.engine.name == "torch":
        keep_freed_memory()  # a command ends when its work does: nobody waits for the memory
    if choice.engine == "auto":
        tell(f"engine: {opened.engine}", to_error=True)
    return opened.translator


def languages_of(path: Path) -> list[str]:
    """The codes that a model's or an export's recipe names, read without its weights."""
    try:
        return load_config(model_directory(path) / CONFIG).data.languages
    except RegardError:
        return []  # opening it says what is wrong with it


def base_codes(languages: Sequence[str]) -> list[str]:
    """The codes without what tells the kinds of one language apart: en of en-GB."""
    return [code.split("-")[0] for code in plain_codes(languages)]


def plain_codes(languages: Sequence[str]) -> list[str]:
    """The codes in one way of writing: zh-cn of zh_CN."""
    return [code.lower().replace("_", "-") for code in languages]


def short_name(path: Path) -> str:
    """What to call a model in a table: the name of its run."""
    directory = model_directory(path).resolve()
    return directory.parent.name if directory.name == "model" else directory.name


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """What to call each of several models: its short name, or its path where another has the same."""
    names = [short_name(path) for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def bytes_on_disk(path: Path) -> dict[str, int]:
    """The size of each file of a bundle."""
    return {file.name: file.stat().st_size for file in sorted(model_directory(path).iterdir()) if file.is_file()}

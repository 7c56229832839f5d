"""A picture and what people said of it: how the lines of any format become one record for each picture."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RegardError
from regard.spelling import composed

FOLDERS = ("images", "Images", "Flicker8k_Dataset", ".")  # where pictures lie beside their captions, as published
SHOWN = 5  # names in a list of many


@dataclass(frozen=True, slots=True)
class Captioned:
    """A picture's file and its captions, each one line of text, no two the same."""

    picture: Path
    captions: list[str]


@dataclass(frozen=True, slots=True)
class Described:
    """One caption as a file has it: the picture's name, the words, and the split that the file puts it in."""

    name: str
    caption: str
    split: str | None = None


def gather(described: Iterable[Described], folders: Sequence[Path]) -> list[Captioned]:
    """The captions of each picture together, in the order in which pictures first come up; every file must be there."""
    captions: dict[str, dict[str, None]] = {}  # a dict keeps the order and drops what comes twice
    names: dict[str, str] = {}  # of the spellings of a name, the first that comes up
    for one in described:
        name = names.setdefault(composed(one.name), one.name)
        captions.setdefault(name, {})[one.caption] = None
    found = {name: _find(name, folders) for name in captions}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        places = " or ".join(str(folder) for folder in folders)
        raise RegardError(
            f"{len(missing):,} of {len(captions):,} pictures are not in {places}: {listed(missing)}. "
            "Give the folder that holds them, or leave them out of the captions."
        )
    return [Captioned(path, list(captions[name])) for name, path in found.items() if path is not None]


def folders_beside(path: Path) -> list[Path]:
    """Where the pictures of a captions file may lie, the likeliest place first."""
    return [folder for name in FOLDERS if (folder := path.parent / name).is_dir()]


def listed(names: Sequence[str]) -> str:
    """The first few of many names."""
    return ", ".join(name[:80] for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    """The file of that name; a Korean one may be spelled otherwise on the disk, as archives from a Mac have it."""
    spellings = dict.fromkeys([name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))])
    return next((path for folder in folders for one in spellings if (path := folder / one).is_file()), None)

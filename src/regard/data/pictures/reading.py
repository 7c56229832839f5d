"""Captioned pictures, whatever the format: a folder with captions.txt, a file of captions, JSON or JSON lines."""

from collections.abc import Iterable
from pathlib import Path

from regard.data.pictures.annotations import read_json, read_jsonl
from regard.data.pictures.captioned import Captioned, Described, folders_beside, gather, listed
from regard.data.pictures.captions_file import read_captions_file, read_names
from regard.errors import RegardError
from regard.spelling import composed

CAPTIONS = "captions.txt"
CAPTION_FORMATS = (".txt", ".csv", ".tsv", ".token", ".json", ".jsonl")


def read_captioned(
    place: Path | str, *, split: str | None = None, pictures: Path | str | None = None
) -> list[Captioned]:
    """The pictures of a captions file, or of a folder with a captions.txt, each with all its captions.

    A split is a name: that of a list of pictures beside the captions (`train` for train.txt), or one that the file
    itself gives; `train+restval` takes both. Pictures lie in `pictures`, or beside the captions, in `images` or not.
    """
    path = captions_of(Path(place))
    described = _chosen(path, list(_read(path)), split)
    return gather(described, [Path(pictures)] if pictures is not None else folders_beside(path))


def captions_of(place: Path) -> Path:
    """The file with the captions, where a folder may be named in its stead."""
    path = place / CAPTIONS if place.is_dir() else place
    if not path.is_file():
        raise RegardError(
            f"{path} does not exist. Give a folder that has a {CAPTIONS}, or a file of captions: "
            f"{', '.join(CAPTION_FORMATS)}."
        )
    return path


def _read(path: Path) -> Iterable[Described]:
    match path.suffix.lower():
        case ".json":
            return read_json(path)
        case ".jsonl":
            return read_jsonl(path)
        case suffix if suffix in CAPTION_FORMATS:
            return read_captions_file(path)
    raise RegardError(f"{path} has an unknown format; captions are read from {', '.join(CAPTION_FORMATS)}. Rename it.")


def _chosen(path: Path, described: list[Described], split: str | None) -> list[Described]:
    if split is None:
        return described
    parts = [part.strip() for part in split.split("+")]
    chosen = [one for part in parts for one in _part(path, described, part)]
    if not chosen:
        raise RegardError(f"{path} has no pictures in the split {split!r}.")
    return chosen


def _part(path: Path, described: list[Described], split: str) -> list[Described]:
    names = path.parent / (split if split.endswith(".txt") else f"{split}.txt")
    if names.is_file() and names != path:
        return _of_list(path, described, names)
    chosen = [one for one in described if one.split == split]
    if not chosen:
        there = sorted({one.split for one in described if one.split} | _lists_beside(path, described))
        raise RegardError(
            f"{path} has no split {split!r}: neither a list {names.name} beside it nor pictures that it marks so. "
            f"There are: {', '.join(there) or 'none'}."
        )
    return chosen


def _lists_beside(path: Path, described: list[Described]) -> set[str]:
    """The text files beside the captions that name pictures of theirs, one on each line."""
    known = {composed(one.name) for one in described}
    return {other.stem for other in path.parent.glob("*.txt") if composed(_first_line(other)) in known}


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(1000).strip()
    except OSError:
        return ""  # a folder of such a name, or a file that may not be read: no list


def _of_list(path: Path, described: list[Described], names: Path) -> list[Described]:
    wanted = {composed(name) for name in read_names(names)}
    chosen = [one for one in described if composed(one.name) in wanted]
    lacking = wanted - {composed(one.name) for one in chosen}
    if lacking:
        raise RegardError(
            f"{path} has no caption for {len(lacking):,} of the {len(wanted):,} pictures that {names} lists: "
            f"{listed(sorted(lacking))}. Add their captions, or remove them from the list."
        )
    return chosen

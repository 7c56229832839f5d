"""Files to sentence pairs, one at a time, whatever the format; the memory needed does not grow with the file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.readers.lines import read_lines
from regard.data.readers.pair import Pair, PairBlock, in_blocks
from regard.data.readers.parallel import parallel_blocks, read_parallel
from regard.data.readers.po import read_po
from regard.data.readers.tables import read_jsonl, read_tsv
from regard.data.readers.texts import read_texts, text_blocks
from regard.data.readers.tmx import read_tmx
from regard.errors import RegardError

__all__ = [
    "PAIR_FORMATS",
    "Pair",
    "PairBlock",
    "check_one_side",
    "in_blocks",
    "read_blocks",
    "read_lines",
    "read_pairs",
    "read_texts",
    "text_blocks",
]

PAIR_FORMATS = (".tsv", ".jsonl", ".po", ".tmx")


def read_pairs(
    paths: Sequence[Path | str], *, languages: Sequence[str] = (), keys: tuple[str, str] = ("source", "target")
) -> Iterator[Pair]:
    """The pairs of one file of pairs, or of a source and a target file; each may be packed with gzip.

    `languages` are the source's and the target's codes; `keys` are those of a .jsonl file's objects.
    """
    files = [Path(path) for path in paths]
    codes = _two_codes(languages)
    if len(files) == 2:
        return read_parallel(*_plain(files))
    if len(files) != 1:
        raise RegardError(f"{len(files)} files given. Give one file of pairs, or a source and a target file.")
    path = files[0]
    match _format(path):
        case ".tsv":
            return read_tsv(path)
        case ".jsonl":
            return read_jsonl(path, names=[keys, codes] if codes else [keys])
        case ".po":
            return read_po(path)
        case ".tmx" if codes:
            return read_tmx(path, languages=codes)
        case ".tmx":
            raise RegardError(f'{path} may hold many languages. Name two, as in data.languages = ["en", "ko"].')
    raise RegardError(
        f"{path} is one file of an unknown format; one file must be {', '.join(PAIR_FORMATS)}, or these with .gz. "
        "Rename it, or give a source and a target file."
    )


def read_blocks(paths: Sequence[Path | str], *, languages: Sequence[str] = ()) -> Iterator[PairBlock]:
    """The pairs of `read_pairs`, many at a time."""
    pairs = read_pairs(paths, languages=languages)
    # Two text files are cut into blocks as they are; the other formats have to be taken apart pair by pair.
    return parallel_blocks(*map(Path, paths)) if len(paths) == 2 else in_blocks(pairs)


def check_one_side(path: Path) -> None:
    """Refuse a file of pairs where the lines of one language are read: both sides would pass for one sentence."""
    if _format(path) in PAIR_FORMATS:
        raise RegardError(
            f"{path} holds pairs, and lines of one language are read here. Give its source side alone, as `cut -f 1` "
            "has it of a .tsv, or rename the file if it is plain text."
        )


def _two_codes(languages: Sequence[str]) -> tuple[str, str] | None:
    if not languages:
        return None
    if len(languages) != 2 or not all(languages) or languages[0] == languages[1]:
        raise RegardError(f'languages are {list(languages)}. Name the source and the target, as in ["en", "ko"].')
    return languages[0], languages[1]


def _plain(files: list[Path]) -> list[Path]:
    for path in files:
        if _format(path) in PAIR_FORMATS:
            raise RegardError(
                f"{path} holds pairs, but two files are a source and a target in plain text. Give it alone."
            )
    return files


def _format(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix

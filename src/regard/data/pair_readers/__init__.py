"""Files of any format to sentence pairs, one at a time; memory does not grow with the file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.data.pair_readers.csv_files import read_csv
from regard.data.pair_readers.po import read_po
from regard.data.pair_readers.text import (
    Pair,
    PairBlock,
    monolingual_blocks,
    pair_blocks,
    parallel_blocks,
    read_jsonl,
    read_monolingual,
    read_parallel,
    read_tsv,
)
from regard.data.pair_readers.tmx import read_tmx
from regard.errors import RegardError

__all__ = [
    "PAIR_FORMATS",
    "Pair",
    "PairBlock",
    "check_monolingual",
    "monolingual_blocks",
    "pair_blocks",
    "read_blocks",
    "read_monolingual",
    "read_pairs",
]

PAIR_FORMATS = (".tsv", ".csv", ".jsonl", ".po", ".tmx")


def read_pairs(
    paths: Sequence[Path | str], *, languages: Sequence[str] = (), keys: tuple[str, str] = ("source", "target")
) -> Iterator[Pair]:
    """The pairs of one file of pairs, or of a source and a target file; each may be compressed with gzip.

    `languages` are the source's and the target's codes; `keys` are those of a .jsonl file's objects or a
    .csv file's header.
    """
    files = [Path(path) for path in paths]
    if languages and (len(languages) != 2 or not all(languages) or languages[0] == languages[1]):
        raise RegardError(f'languages are {list(languages)}. Name the source and the target, as in ["en", "ko"].')
    codes = (languages[0], languages[1]) if languages else None
    if len(files) not in (1, 2):
        raise RegardError(f"{len(files)} files given. Give one file of pairs, or a source and a target file.")
    path = next((path for path in files if _file_format(path) in PAIR_FORMATS), files[0])
    if len(files) == 2:
        if _file_format(path) in PAIR_FORMATS:
            raise RegardError(
                f"{path} contains pairs, but two files must be a source and a target in plain text. Give it alone."
            )
        return read_parallel(files[0], files[1])
    return _read_one_file(path, codes, keys)


def _read_one_file(path: Path, codes: tuple[str, str] | None, keys: tuple[str, str]) -> Iterator[Pair]:
    names = [keys, codes] if codes else [keys]
    match _file_format(path):
        case ".tsv":
            return read_tsv(path)
        case ".csv":
            return read_csv(path, names=names)
        case ".jsonl":
            return read_jsonl(path, names=names)
        case ".po":
            return read_po(path)
        case ".tmx" if codes:
            return read_tmx(path, languages=codes)
        case ".tmx":
            raise RegardError(f'{path} may contain many languages. Name two, as in data.languages = ["en", "ko"].')
    raise RegardError(
        f"{path} is one file of an unknown format; one file must be {', '.join(PAIR_FORMATS)}, or these with .gz. "
        "Save the table or text in one of them, or give a source and a target file."
    )


def read_blocks(paths: Sequence[Path | str], *, languages: Sequence[str] = ()) -> Iterator[PairBlock]:
    """The pairs of `read_pairs`, many at a time."""
    pairs = read_pairs(paths, languages=languages)
    # Two text files are split into blocks as they are; the other formats have to be parsed pair by pair.
    return parallel_blocks(*map(Path, paths)) if len(paths) == 2 else pair_blocks(pairs)


def check_monolingual(path: Path) -> None:
    """Refuse a file of pairs where monolingual text is read: both sides would be taken for one sentence."""
    if _file_format(path) in PAIR_FORMATS:
        raise RegardError(
            f"{path} contains pairs, but monolingual text is read here. Give one side alone (`cut -f 1` extracts it "
            "from a .tsv), or rename the file if it is plain text."
        )


def _file_format(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix

"""Where a command is to write: what cannot be is told before its long work."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from regard.errors import RegardError
from regard.staged import check_file, staged_file


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse a file to write that cannot be, or that the command reads as well; it is told with its option."""
    read = [path for path in inputs if path is not None and path.is_file()]
    for option, output in outputs.items():
        if output is None:
            continue
        if output.is_file() and any(output.samefile(path) for path in read):
            raise RegardError(f"{option} {output} would be written over a file that is read. Give another name.")
        check_file(output)


def write_texts(output: Path, texts: Iterable[str]) -> None:
    """Write the texts, one a line."""
    with staged_file(output) as file:
        file.writelines(f"{text}\n".encode() for text in texts)

"""A written world's README.txt, which is there only when all the rest is.

Until then it has another name, by which a world that was stopped half-way is told from the files of others.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.staged import staged_file

FINISHED, UNFINISHED = "README.txt", "README.unfinished.txt"


@contextmanager
def described(directory: Path, text: str) -> Iterator[None]:
    """A directory to write a world into, made if need be; it has its README.txt once the block has ended well."""
    directory.mkdir(parents=True, exist_ok=True)
    with staged_file(directory / UNFINISHED) as file:
        file.write(text.encode())
    (directory / FINISHED).unlink(missing_ok=True)  # that of an earlier world, which is written over from here on
    yield
    (directory / UNFINISHED).rename(directory / FINISHED)


def is_finished(directory: Path) -> bool:
    """Whether a world was written there to its end."""
    return (directory / FINISHED).exists()


def is_of_world(directory: Path, readme: str) -> bool:
    """Whether a world with such a README was written there, to its end or not."""
    opening = readme.partition("{")[0].encode()
    there = [path for name in (FINISHED, UNFINISHED) if (path := directory / name).exists()]
    return bool(there) and all(path.is_file() and path.read_bytes().startswith(opening) for path in there)

"""A directory or a file that appears whole or not at all, whenever the process is killed.

It is filled under another name beside its own, flushed to the disk, and renamed. What a killed process leaves
behind has that process's id in its name, and is swept away by the next one.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from regard.errors import RegardError

MOST_LINKS = 40  # that lead from one to the next; Linux follows no more
_ORPHAN = re.compile(r"(?P<final>.+)\.(new|old)-\d+")


@contextmanager
def staged_directory(final: Path) -> Iterator[Path]:
    """A new directory to fill; when the block ends well it takes the place of `final`, else it is removed."""
    _sweep(final)
    staging = _beside(final, "new")
    try:
        staging.mkdir(parents=True)
        yield staging
        _publish(staging, final)
    except OSError as error:
        raise _cannot_write(final, staging, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def staged_file(final: Path) -> Iterator[BinaryIO]:
    """A new file to write; when the block ends well it takes the place of `final`, else it is removed.

    Where `final` is a link, the file that it leads to is replaced. A device, a pipe, or what this process has open
    already, as /dev/stdout is, is written as it is: nothing can take its place.
    """
    if _is_written_as_it_is(final):
        with _opened(final, final) as file:
            yield file
        return
    place = Path(os.path.realpath(final))
    _sweep(place)
    staging = _beside(place, "new")
    try:
        with _opened(staging, final) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(staging, place)
    except OSError as error:
        error.filename = error.filename or str(final)  # a failed write does not say where it was to go
        raise
    finally:
        _discard(staging)


def check_file(final: Path) -> None:
    """Refuse a file that cannot be written; asked before work whose end is to write it."""
    if final.is_dir():
        raise RegardError(f"{final} is a directory. Give the name of a file, in it or elsewhere.")
    if not _is_written_as_it_is(final):
        staging = _beside(Path(os.path.realpath(final)), "new")
        try:
            _opened(staging, final).close()
        finally:
            _discard(staging)


def _discard(staging: Path) -> None:
    with suppress(OSError):  # what cannot be removed was not made, and the reason is on its way
        staging.unlink(missing_ok=True)


def _is_written_as_it_is(final: Path) -> bool:
    return _descriptor(final) is not None or (final.exists() and not final.is_file())


def _descriptor(path: Path) -> int | None:
    """The number under which this process has open what a path names, itself or through links; else None."""
    own = re.compile(rf"(/proc/{os.getpid()}|/dev)/fd/([0-9]+)")
    for _ in range(MOST_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if match := own.fullmatch(str(path)):
            return int(match[2])
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None


def _opened(path: Path, final: Path) -> BinaryIO:
    descriptor = _descriptor(path)
    try:
        # Opened anew by its name, a file would be written from its beginning, over what the descriptor wrote before.
        return path.open("wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")
    except OSError as error:
        raise RegardError(
            f"{final} cannot be written: {error.strerror or error}. Choose a directory that can be written."
        ) from None


def _publish(staging: Path, final: Path) -> None:
    for path in staging.iterdir():
        _flush(path)
    _flush(staging)
    retired = _beside(final, "old")
    if final.exists():
        final.rename(retired)
    staging.rename(final)
    _flush(final.parent)
    shutil.rmtree(retired, ignore_errors=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(final: Path, role: str) -> Path:
    return final.with_name(f"{final.name}.{role}-{os.getpid()}")


def sweep_orphans(directory: Path) -> None:
    """Remove all that killed processes left in a directory; the caller holds a lock, so that none still fills it."""
    for orphan in directory.glob("*-*"):
        match = _ORPHAN.fullmatch(orphan.name)
        if match:
            _retire(orphan, directory / match["final"])


def _sweep(final: Path) -> None:
    """Remove what processes that no longer run left beside `final`."""
    for role in ("new", "old"):
        for orphan in final.parent.glob(f"{glob.escape(final.name)}.{role}-*"):
            process = orphan.name.rpartition("-")[2]
            if process.isdecimal() and not _runs(int(process)):
                _retire(orphan, final)


def _retire(orphan: Path, final: Path) -> None:
    """Remove an orphan; one that a kill kept from being replaced goes back to its place."""
    if not final.exists() and orphan.name.startswith(f"{final.name}.old-"):
        orphan.rename(final)
    else:
        _remove(orphan)


def _remove(orphan: Path) -> None:
    if orphan.is_dir():
        shutil.rmtree(orphan, ignore_errors=True)
    else:
        orphan.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    if process == os.getpid():
        return False  # an earlier try of our own, or of a process that had our number before
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _cannot_write(final: Path, staging: Path, error: OSError) -> RegardError:
    written = sum(path.stat().st_size for path in staging.glob("*"))
    return RegardError(
        f"{final} cannot be written: {error.strerror or error} (after {written:,} bytes). "
        "Make room, or choose a directory that can be written."
    )

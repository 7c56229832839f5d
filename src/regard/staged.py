"""A directory or a file that appears whole or not at all, whenever the process is killed.

It is filled under another name beside its own, flushed to the disk, and renamed. What a killed process leaves
behind has that process's id in its name, and is swept away by the next one.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from regard.errors import RegardError

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
    """A new file to write; when the block ends well it takes the place of `final`, else it is removed."""
    if final.exists() and not final.is_file():  # a device or a pipe is written as it is: nothing can take its place
        with _opened(final, final) as file:
            yield file
        return
    _sweep(final)
    staging = _beside(final, "new")
    try:
        with _opened(staging, final) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(staging, final)
    except OSError as error:
        error.filename = error.filename or str(final)  # a failed write does not say where it was to go
        raise
    finally:
        staging.unlink(missing_ok=True)


def _opened(path: Path, final: Path) -> BinaryIO:
    try:
        return path.open("wb")
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

"""Files that are read and written: bounded regular files, atomic writes, and a manifest with the hash of each file.

Someone else may have written a path or a file. A named pipe would block its reader, a device such as /dev/zero has no
end, and a sparse file of terabytes costs its author nothing. Each is an error before anything is read.

A directory or file is written under a temporary name beside its own, flushed to the disk, and renamed, so that it
appears whole or not at all whenever the process is killed. The temporary name contains the process id, so the next
process can remove what a killed one left.

The manifest lists the SHA-256 of every file. Of 400 single flipped bits in a weights file, the file format itself
detects four; a hash detects all.
"""

import errno
import glob
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from regard.errors import RegardError, suggest
from regard.pretrained import find as find_pretrained
from regard.pretrained import names as pretrained_names
from regard.process import available_memory
from regard.safetensors_header import TensorInfo, read_tensor_header
from regard.struct_decoding import decode_json, shorten

MEBIBYTE = 1 << 20
Result = TypeVar("Result")

# --- reading ---------------------------------------------------------------------------------------------------------

MAX_LINKS = 40  # symbolic links in a row; Linux follows no more
READABLE_FILE = "Give the path of a readable file."
_KINDS = {  # in the style of the system's own reasons
    stat.S_IFDIR: "Is a directory",
    stat.S_IFIFO: "Is a named pipe",
    stat.S_IFSOCK: "Is a socket",
    stat.S_IFCHR: "Is a device",
    stat.S_IFBLK: "Is a device",
}


def open_input(path: Path, *, advice: str = READABLE_FILE) -> BufferedReader:
    """A regular file, opened for reading; anything else is an error at once.

    What this process has open already, as /dev/stdin or the <(...) of a shell, may be a pipe.
    """
    try:
        descriptor = own_descriptor(path)
        if descriptor is not None:
            return os.fdopen(os.dup(descriptor), "rb")
        _check_regular(os.stat(path), path, advice)  # before it is opened: opening can have effects on a device
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        file = os.fdopen(descriptor, "rb")
        _check_regular(os.fstat(descriptor), path, advice)  # another file may have its name by now
    except OSError as error:
        raise unreadable_error(path, error.strerror or str(error), advice) from None
    except ValueError:  # of a NUL or half of a surrogate pair, which no file name can have
        raise unreadable_error(Path(repr(str(path))), "no file can have this name", advice) from None
    return file


def read_input(path: Path, *, max_bytes: int, advice: str = READABLE_FILE) -> bytes:
    """The content of a regular file of at most `max_bytes` bytes."""
    with open_input(path, advice=advice) as file:
        size = os.fstat(file.fileno()).st_size
        check_size(size, max_bytes, path, advice)
        content = file.read(size or MEBIBYTE)  # it allocates as many bytes, so not `max_bytes`
        while len(content) <= max_bytes and (more := file.read(MEBIBYTE)):  # a pipe, which has no size
            content += more
    check_size(len(content), max_bytes, path, advice)
    return content


def check_size(size: int, max_bytes: int, path: Path, advice: str) -> None:
    """Refuse a file that is larger than allowed."""
    if size > max_bytes:
        raise unreadable_error(path, f"it has {size:,} bytes, and at most {max_bytes:,} are allowed", advice)


def unreadable_error(path: Path, reason: str, advice: str) -> RegardError:
    """The error for a file that cannot be read, with what to do."""
    return RegardError(f"{path} cannot be read: {reason}. {advice}")


def own_descriptor(path: Path) -> int | None:
    """The descriptor of this process that a path leads to, directly or through links; else None."""
    own = (f"/proc/{os.getpid()}/fd", "/dev/fd")
    for _ in range(MAX_LINKS):
        parent = os.path.realpath(path.parent)
        if parent in own and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            break
        path = Path(parent, path.readlink())
    return None


def _check_regular(status: os.stat_result, path: Path, advice: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise unreadable_error(path, _KINDS.get(stat.S_IFMT(status.st_mode), "Is not a regular file"), advice)


# --- atomic writes ---------------------------------------------------------------------------------------------------

_STALE_NAME = re.compile(r"(?P<final>.+)\.(new|old)-\d+")


@contextmanager
def atomic_directory(final: Path) -> Iterator[Path]:
    """A new directory to fill; if the block succeeds it replaces `final`, else it is removed."""
    if final.exists() and not final.is_dir():  # what is not ours is not replaced; a pipe would block its removal
        raise RegardError(f"{final} cannot be written: it is not a directory. Remove it, or give another path.")
    _remove_stale_beside(final)
    staging = _temporary_path(final, "new")
    try:
        staging.mkdir(parents=True)
        yield staging
        _publish(staging, final)
    except OSError as error:
        written = sum(path.stat().st_size for path in staging.glob("*"))
        raise RegardError(
            f"{final} cannot be written: {error.strerror or error} (after {written:,} bytes). "
            "Free some space, or choose a directory that can be written."
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def atomic_file(final: Path) -> Iterator[BinaryIO]:
    """A new file to write; if the block succeeds it replaces `final`, else it is removed.

    If `final` is a link, its target is replaced. A device, a pipe, or a file that this process has open already, such
    as /dev/stdout, is written directly: it cannot be replaced.
    """
    if is_written_directly(final):
        with named_errors(str(final)), _open_for_writing(final, final) as file:
            yield file
        return
    target = Path(os.path.realpath(final))
    _remove_stale_beside(target)
    staging = _temporary_path(target, "new")
    try:
        with named_errors(str(final)):
            with _open_for_writing(staging, final) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(staging, target)
    finally:
        _unlink_temporary(staging)


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Add the name of a file to the error of a failed write, which has none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


def check_writable(final: Path) -> None:
    """Refuse a file that cannot be written; call it before long work whose result goes there."""
    if final.is_dir():
        raise RegardError(f"{final} is a directory. Give the path of a file.")
    if final.is_fifo():
        with _open_for_writing(final, final) as pipe:
            os.dup(pipe.fileno())  # stays open: its reader ends when the last writer closes it
    elif is_written_directly(final):
        _open_for_writing(final, final).close()
    else:
        staging = _temporary_path(Path(os.path.realpath(final)), "new")
        try:
            _open_for_writing(staging, final).close()
        finally:
            _unlink_temporary(staging)


def _unlink_temporary(staging: Path) -> None:
    with suppress(OSError):  # it was not created, and the reason is already raised
        staging.unlink(missing_ok=True)


def is_written_directly(final: Path) -> bool:
    """Whether a path is a device, a pipe or a file that this process has open: it cannot be replaced."""
    return own_descriptor(final) is not None or (final.exists() and not final.is_file())


def _open_for_writing(path: Path, final: Path) -> BinaryIO:
    descriptor = own_descriptor(path)
    try:
        if descriptor is not None:
            # Opened again by its name, a file would be written from its start, over earlier output of the descriptor.
            return os.fdopen(os.dup(descriptor), "wb")
        if not path.is_fifo():
            return path.open("wb")
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # fails without a reader, never waits
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "wb")
    except OSError as error:
        if error.errno == errno.ENXIO:
            if not final.is_fifo():
                raise RegardError(f"{final} is a socket. Give the path of a file.") from None
            raise RegardError(f"{final} is a named pipe that no program reads. Start its reader first.") from None
        raise RegardError(
            f"{final} cannot be written: {error.strerror or error}. Choose a directory that can be written."
        ) from None


def _publish(staging: Path, final: Path) -> None:
    for path in staging.iterdir():
        _fsync(path)
    _fsync(staging)
    retired = _temporary_path(final, "old")
    if final.exists():
        final.rename(retired)
    staging.rename(final)
    _fsync(final.parent)
    shutil.rmtree(retired, ignore_errors=True)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary_path(final: Path, role: str) -> Path:
    return final.with_name(f"{final.name}.{role}-{os.getpid()}")


def remove_stale_temporaries(directory: Path) -> None:
    """Remove what killed processes left in a directory; the caller holds its lock, so no other process writes there."""
    for orphan in directory.glob("*-*"):
        match = _STALE_NAME.fullmatch(orphan.name)
        if match:
            _remove_or_restore(orphan, directory / match["final"])


def _remove_stale_beside(final: Path) -> None:
    """Remove what killed processes left beside `final`."""
    for role in ("new", "old"):
        for orphan in final.parent.glob(f"{glob.escape(final.name)}.{role}-*"):
            process = orphan.name.rpartition("-")[2]
            if process.isdecimal() and not _is_process_running(int(process)):
                _remove_or_restore(orphan, final)


def _remove_or_restore(orphan: Path, final: Path) -> None:
    """Remove an orphan; if its replacement was never renamed, restore it."""
    if not final.exists() and orphan.name.startswith(f"{final.name}.old-"):
        orphan.rename(final)
    elif orphan.is_dir():
        shutil.rmtree(orphan, ignore_errors=True)
    else:
        orphan.unlink(missing_ok=True)


def _is_process_running(process: int) -> bool:
    if process == os.getpid():
        return False  # an earlier attempt of this process, or of one with the same id
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


# --- manifests and model directories ---------------------------------------------------------------------------------

MANIFEST_NAME = "manifest.json"
RESTORE = "Restore it from a copy."
EXPORT_WEIGHTS_FILE = "model.bin"
WEIGHT_ENDINGS = (".safetensors", EXPORT_WEIGHTS_FILE)  # may be as large as the memory
MAX_METADATA_BYTES = 64 * MEBIBYTE  # of any other file: the vocabulary of a million pieces has 30 MB
MAX_TOTAL_METADATA_BYTES = 2 * MAX_METADATA_BYTES  # of all of them
MAX_READS = 10  # of a directory that other processes replace again and again
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}", re.ASCII)
MODEL, EXPORT = "model", "ctranslate2"  # kinds of directories
MODEL_VERSION, EXPORT_VERSION = 1, 1  # of their formats

CONFIG_FILE, WEIGHTS_FILE = "config.toml", "model.safetensors"
SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE = "source.spm", "target.spm"


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kind and version of a directory, and the SHA-256 of each of its files."""

    kind: str
    version: int
    files: dict[str, str]


def write_manifest(directory: Path, kind: str, version: int) -> None:
    """List every file of the directory; call it last."""
    files = {path.name: _sha256_of_file(path) for path in sorted(directory.iterdir()) if path.name != MANIFEST_NAME}
    manifest = Manifest(kind=kind, version=version, files=files)
    (directory / MANIFEST_NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


class VerifiedFiles:
    """The files that the manifest of a directory lists, each checked against its hash when it is read."""

    def __init__(self, directory: Path, kind: str, version: int) -> None:
        self.directory = directory
        self.digests = read_manifest(directory, kind, version).files
        self._metadata_bytes = 0

    def require(self, *names: str, advice: str = RESTORE) -> None:
        """Refuse a directory without these files."""
        if missing := sorted(set(names) - set(self.digests)):
            raise RegardError(f"{self.directory / MANIFEST_NAME} does not list {', '.join(missing)}. {advice}")

    def read(self, name: str, check_header: Callable[[dict[str, TensorInfo]], None] | None = None) -> bytes:
        """The content of a file. Of a safetensors file the header is read and checked before the rest."""
        path = self.directory / name
        with self._open(path, may_be_large=name.endswith(WEIGHT_ENDINGS)) as file:
            size = os.fstat(file.fileno()).st_size
            if path.suffix == ".safetensors":
                header = read_tensor_header(file, path, RESTORE)
                if check_header is not None:
                    check_header(header)
                file.seek(0)
            content = file.read(size + 1)  # one byte more than there should be
        if hashlib.sha256(content).hexdigest() != self.digests[name]:
            raise _damaged_error(path)
        return content

    def verify(self, *names: str) -> None:
        """Check files that are not used against their hashes."""
        for name in names:
            path = self.directory / name
            with self._open(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != self.digests[name]:
                raise _damaged_error(path)

    @contextmanager
    def _open(self, path: Path, *, may_be_large: bool = False) -> Iterator[BufferedReader]:
        """A file, if it is not too large by itself and together with those before it."""
        with open_input(path, advice=f"{MANIFEST_NAME} lists it. {RESTORE}") as file:
            size = os.fstat(file.fileno()).st_size
            if may_be_large:
                check_size(size, available_memory(), path, RESTORE)
            else:
                check_size(size, MAX_METADATA_BYTES, path, RESTORE)
                self._metadata_bytes += size
                reason = f"These are the bytes of all files but the weights. {RESTORE}"
                check_size(self._metadata_bytes, MAX_TOTAL_METADATA_BYTES, self.directory, reason)
            yield file


def read_while_unchanged(directory: Path, kind: str, version: int, read: Callable[[VerifiedFiles], Result]) -> Result:
    """What `read` returns for the files of a directory; if another directory replaces it meanwhile, read again."""
    for _ in range(MAX_READS):
        files = VerifiedFiles(directory, kind, version)
        try:
            return read(files)
        except RegardError:
            if read_manifest(directory, kind, version).files == files.digests:
                raise
    raise RegardError(f"{directory} changed {MAX_READS} times while it was read. Wait until nothing writes to it.")


def read_verified(directory: Path, kind: str, version: int) -> dict[str, bytes]:
    """The contents of every listed file, each checked against its hash."""
    return read_while_unchanged(
        directory, kind, version, lambda files: {name: files.read(name) for name in files.digests}
    )


def verify_files(directory: Path, kind: str, version: int) -> None:
    """Check every listed file against its hash, without keeping the files in memory."""
    for name, digest in read_manifest(directory, kind, version).files.items():
        if _sha256_of_file(directory / name) != digest:
            raise _damaged_error(directory / name)


def directory_kind(directory: Path) -> str | None:
    """The kind in the manifest of a directory; None without a readable manifest."""
    try:
        return _decode_manifest(directory).kind
    except RegardError:
        return None


def resolve_model_name(path: Path) -> Path:
    """The path; if nothing exists there, the directory of the model with this name that comes with regard."""
    return path if path.exists() else find_pretrained(path) or path


def find_model_directory(path: Path) -> Path:
    """The directory itself; for a run its model directory; for the name of a model that comes with regard its own."""
    path = resolve_model_name(path)
    inside = path / "model"
    return inside if (inside / MANIFEST_NAME).exists() and not (path / MANIFEST_NAME).exists() else path


def model_name(directory: Path) -> str:
    """A short name for a model: that of its run, or of its own directory."""
    resolved = Path(os.path.realpath(directory))  # `resolve` fails for circular links
    return printable(resolved.parent.name if resolved.name == "model" else resolved.name)


def printable(name: str) -> str:
    """A file name as text for JSON and pages, which are UTF-8; the bytes of a file name need not be."""
    return name.encode(errors="backslashreplace").decode()


def weights_digest(directory: Path) -> str:
    """The SHA-256 of a model's weights, as its manifest lists it; empty if it has none."""
    return read_manifest(directory, MODEL, MODEL_VERSION).files.get(WEIGHTS_FILE, "")


def check_replaceable(directory: Path) -> None:
    """Refuse to write a model in place of a directory with other files, which would be lost."""
    if directory_kind(directory) not in (MODEL, EXPORT) and directory.is_dir() and any(directory.iterdir()):
        raise RegardError(f"{directory} has other files than those of a model. Give a new directory.")


def copy_model(source: Path, directory: Path) -> None:
    """Copy the model or the export in a directory, each file checked against its hash."""
    check_replaceable(directory)
    kind, version = (EXPORT, EXPORT_VERSION) if directory_kind(source) == EXPORT else (MODEL, MODEL_VERSION)
    files = read_verified(source, kind, version)
    with atomic_directory(directory) as staging:
        for name, content in files.items():
            (staging / name).write_bytes(content)
        write_manifest(staging, kind, version)


def read_manifest(directory: Path, kind: str, version: int) -> Manifest:
    """The manifest of a directory of this kind and version."""
    if not (directory / MANIFEST_NAME).exists():
        near = suggest(str(directory), pretrained_names())
        raise RegardError(
            f"{directory} is not a {kind}{near}: it has no {MANIFEST_NAME}. Give the directory of a {kind}, such as "
            f"runs/NAME/model, or the name of a model that comes with regard: {', '.join(pretrained_names())}."
        )
    manifest = _decode_manifest(directory)
    if (manifest.kind, kind) == (EXPORT, MODEL):
        raise RegardError(f"{directory} is an export for {EXPORT}. Give the model it was made from.")
    if (manifest.kind, manifest.version) != (kind, version):
        found = f"{shorten(manifest.kind)[1:-1]} of version {manifest.version}"
        raise RegardError(
            f"{directory} is a {found}, according to {MANIFEST_NAME}; expected is a {kind} of version {version}. "
            "Give another directory, or write it again with this version of regard."
        )
    return manifest


def _decode_manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST_NAME
    content = read_input(path, max_bytes=MEBIBYTE, advice=RESTORE)
    try:
        manifest = decode_json(content, Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegardError(f"{path} is damaged: {error}. {RESTORE}") from None
    if strays := [name for name in manifest.files if not _FILE_NAME.fullmatch(name)]:
        raise RegardError(
            f"{path} lists {shorten(strays[0])}, which is outside its directory, or not a plain name of letters, "
            "digits, dots, hyphens and underscores. Do not trust its source."
        )
    return manifest


def _damaged_error(path: Path) -> RegardError:
    return RegardError(f"{path} is damaged: its SHA-256 is not the one in {MANIFEST_NAME}. {RESTORE}")


def _sha256_of_file(path: Path) -> str:
    with open_input(path, advice=RESTORE) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""A directory's list of its own files with their SHA-256: what was written is what is read, or an error names the file.

Of 400 single flipped bits in a weights file, the file format itself notices four; a hash notices all.
"""

import hashlib
from pathlib import Path

import msgspec

from regard.errors import RegardError

NAME = "manifest.json"
MODEL, EXPORT = "model", "ctranslate2"  # kinds that people take for each other


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a directory is, and the SHA-256 of each of its files."""

    kind: str
    version: int
    files: dict[str, str]


def write_manifest(directory: Path, kind: str, version: int) -> None:
    """List every file that is in the directory now; to be written last."""
    files = {path.name: _digest_of_file(path) for path in sorted(directory.iterdir()) if path.name != NAME}
    manifest = Manifest(kind=kind, version=version, files=files)
    (directory / NAME).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def read_verified(directory: Path, kind: str, version: int) -> dict[str, bytes]:
    """The contents of every listed file, each checked against its hash."""
    return read_with_list(directory, kind, version)[0]


def read_with_list(directory: Path, kind: str, version: int) -> tuple[dict[str, bytes], Manifest]:
    """The contents of every listed file, each checked against its hash, and the list that they were checked by.

    A directory that another one takes the place of meanwhile is not damaged: it is read again.
    """
    while True:
        manifest = read_manifest(directory, kind, version)
        try:
            return {name: _read_file(directory / name, digest) for name, digest in manifest.files.items()}, manifest
        except RegardError:
            if read_manifest(directory, kind, version) == manifest:
                raise


def verify(directory: Path, kind: str, version: int) -> None:
    """Check every listed file against its hash, holding none of them in memory."""
    for name, digest in read_manifest(directory, kind, version).files.items():
        try:
            found = _digest_of_file(directory / name)
        except OSError as error:
            raise _unreadable(directory / name, error) from None
        if found != digest:
            raise _damaged(directory / name)


def kind_of(directory: Path) -> str | None:
    """What kind of directory it says it is; None where it says nothing that can be read."""
    try:
        return msgspec.json.decode((directory / NAME).read_bytes(), type=Manifest).kind
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def model_directory(path: Path) -> Path:
    """The directory itself or, where it is a run's, that of the model in it."""
    inside = path / "model"
    return inside if (inside / NAME).exists() and not (path / NAME).exists() else path


def read_manifest(directory: Path, kind: str, version: int) -> Manifest:
    """The list itself, of a directory of this kind and version."""
    path = directory / NAME
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        raise RegardError(
            f"{directory} is not a {kind}: {path.name} cannot be read ({error.strerror}). "
            f"Give the directory of a {kind}, such as runs/NAME/model."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegardError(f"{path} is damaged: {error}. Restore it from a copy.") from None
    strays = [name for name in manifest.files if Path(name).name != name or name in ("", ".", "..")]
    if strays:
        raise RegardError(f"{path} names files outside its directory: {strays}. Do not trust where it came from.")
    if (manifest.kind, kind) == (EXPORT, MODEL):
        raise RegardError(f"{directory} is an export for {EXPORT}. Give the model it was made from.")
    if (manifest.kind, manifest.version) != (kind, version):
        raise RegardError(
            f"{directory} holds a {manifest.kind} of version {manifest.version}, as {path.name} says; expected is a "
            f"{kind} of version {version}. Give another directory, or write it again with this version of regard."
        )
    return manifest


def _read_file(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path)
    return content


def _unreadable(path: Path, error: OSError) -> RegardError:
    return RegardError(f"{path}, which {NAME} lists, cannot be read: {error.strerror}. Restore it from a copy.")


def _damaged(path: Path) -> RegardError:
    return RegardError(f"{path} is damaged: its SHA-256 is not the one in {NAME}. Restore it from a copy.")


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

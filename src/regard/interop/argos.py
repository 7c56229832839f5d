"""`.argosmodel` archives of Argos Translate: a CTranslate2 directory, a sentencepiece model, and metadata, zipped.

To write one, a model is exported to CTranslate2 first. An archive is read in memory and never extracted. Before a
member is read, the names, links and declared sizes of all members are checked; no more than the declared size is read.
"""

import json
import stat
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from regard.bundle import Bundle
from regard.errors import RegardError
from regard.files import atomic_file, open_input
from regard.interop.ctranslate2 import export_ctranslate2, raise_unsupported, unsupported_features
from regard.interop.ctranslate2_import import Sources, import_ctranslate2
from regard.interop.foreign import MAX_JSON_BYTES, MAX_MODEL_BYTES, ZIP_ERRORS, ForeignModel, parse_json

METADATA_FILE, SENTENCEPIECE_FILE, BPE_FILE = "metadata.json", "sentencepiece.model", "bpe.model"
ZIP_MAGIC = b"PK\3\4"
MAX_MEMBERS = 10_000
MAX_RATIO = 200  # a weights file shrinks by a factor of 1 to 2, text by 10


class Archive:
    """The members of a package by their names inside its one folder."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except ZIP_ERRORS as error:
            raise RegardError(f"{path} is not a complete zip archive: {error}. Get the file again.") from None
        self.path = path
        self._members = _checked_members(self._zip.infolist(), path)
        roots = {name.partition("/")[0] for name in self._members}
        self._root = f"{roots.pop()}/" if len(roots) == 1 else ""

    def read(self, name: str) -> bytes | None:
        """The content of a member; None if there is none."""
        info = self._members.get(self._root + name)
        if info is None:
            return None
        limit = MAX_JSON_BYTES if name.endswith(".json") else MAX_MODEL_BYTES
        if info.file_size > limit:
            raise RegardError(f"{self.path}: {name} has {info.file_size:,} bytes; at most {limit:,} are read.")
        try:
            with self._zip.open(info) as file:
                content = file.read(info.file_size + 1)
        except ZIP_ERRORS as error:
            raise RegardError(f"{self.path}: {name} is damaged: {error}. Get the file again.") from None
        if len(content) != info.file_size:
            raise RegardError(f"{self.path}: {name} has another size than declared. Get the file again.")
        return content


def _checked_members(infos: list[zipfile.ZipInfo], path: Path) -> dict[str, zipfile.ZipInfo]:
    """The members by name; an archive with a link, a name outside of it, or a bomb is an error."""
    if len(infos) > MAX_MEMBERS:
        raise RegardError(f"{path} has {len(infos):,} members; a package has at most {MAX_MEMBERS:,}. Do not trust it.")
    for info in infos:
        parts = PurePosixPath(info.filename.replace("\\", "/")).parts
        if info.filename.startswith("/") or ".." in parts or "\0" in info.filename or ":" in info.filename:
            raise RegardError(f"{path} names a file outside of it: {info.filename!r}. Do not trust its source.")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise RegardError(f"{path} holds a link: {info.filename!r}. Do not trust its source.")
        if info.file_size > MAX_RATIO * max(info.compress_size, 4096):
            raise RegardError(
                f"{path}: {info.filename!r} would grow from {info.compress_size:,} to {info.file_size:,} bytes. "
                "Do not trust its source."
            )
    return {info.filename: info for info in infos if not info.is_dir()}


def is_argos(path: Path) -> bool:
    """Whether a file is a zip archive, or the beginning of one."""
    with open_input(path, advice="Give a complete model.") as file:
        return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC


def import_argos(path: Path) -> ForeignModel:
    """A package of Argos Translate."""
    archive = Archive(path)
    metadata = _metadata(archive)
    sentencepiece = archive.read(SENTENCEPIECE_FILE)
    if sentencepiece is None:
        what = "a BPE vocabulary" if archive.read(BPE_FILE) is not None else "no sentencepiece model"
        raise RegardError(f"{path} has {what}; supported: {SENTENCEPIECE_FILE}. Give another package.")
    languages = (str(metadata.get("from_code") or ""), str(metadata.get("to_code") or ""))
    sources = Sources(str(path), lambda name: archive.read(f"model/{name}"), sentencepiece, None, languages)
    model = import_ctranslate2(sources)
    version = metadata.get("package_version", "?")
    description = f"Argos Translate package {languages[0]}-{languages[1]} {version}: {model.description}"
    return ForeignModel(description, model.config, model.tokenizers, model.tensors, model.notes)


def _metadata(archive: Archive) -> dict[str, Any]:
    content = archive.read(METADATA_FILE)
    if content is None:
        raise RegardError(f"{archive.path} has no {METADATA_FILE}: it is not a package of Argos Translate.")
    metadata: dict[str, Any] = parse_json(content, f"{archive.path}/{METADATA_FILE}")
    return metadata


# --- export ----------------------------------------------------------------------------------------------------------

MODEL_FILES = ("model.bin", "config.json", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json")


def export_argos(bundle: Bundle, path: Path, *, quantization: str = "float32", version: str = "1.0") -> None:
    """Write a package that Argos Translate installs; the file appears complete or not at all."""
    raise_unsupported(unsupported_features(bundle.config), "CTranslate2, which Argos Translate runs,")
    source, target = bundle.languages
    if not (source and target):
        raise RegardError(
            "the model names no languages, and a package needs their codes. Train with data.languages, as in "
            '["en", "fr"], or set them in the config.toml of the model.'
        )
    root = f"translate-{source}_{target}-{version.replace('.', '_')}"
    metadata = {"package_version": version, "argos_version": "1.9.0", "from_code": source, "to_code": target}
    metadata |= {"from_name": source, "to_name": target}
    with TemporaryDirectory() as folder:
        directory = Path(folder) / "model"
        export_ctranslate2(bundle, directory, quantization=quantization)
        with atomic_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{root}/{METADATA_FILE}", json.dumps(metadata))
            archive.writestr(f"{root}/{SENTENCEPIECE_FILE}", bundle.tokenizers.source.to_bytes())
            for name in MODEL_FILES:
                if (directory / name).exists():
                    archive.write(directory / name, f"{root}/model/{name}")

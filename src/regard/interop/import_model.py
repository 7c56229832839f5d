"""`regard import WHAT --out MODEL`: detect the format by its content, convert, and write an ordinary bundle.

To add a format, write a file with a function that returns a `ForeignModel`, and add a row to `detect`.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from regard.bundle import Bundle, save_bundle
from regard.errors import RegardError
from regard.files import MODEL, directory_kind
from regard.interop.argos import import_argos, is_argos
from regard.interop.ctranslate2_import import MODEL_FILE, Sources, import_ctranslate2
from regard.interop.foreign import ForeignModel, read_file, read_json, read_weights
from regard.interop.gguf import import_gguf, is_gguf
from regard.interop.hub import download, is_hub_id
from regard.interop.huggingface import FAMILIES
from regard.interop.huggingface_family import import_huggingface
from regard.interop.marian_import import import_marian
from regard.interop.marian_native_import import find_checkpoint, import_marian_native
from regard.interop.vit import import_vit
from regard.struct_decoding import shorten

SENTENCEPIECE_NAMES = ("source.spm", "sentencepiece.model", "spm.model", "source.model", "sp.model")
HUGGINGFACE: dict[str, Callable[[Path], ForeignModel]] = {  # by the model_type in config.json
    "marian": import_marian,
    "vit": import_vit,
    **{name: partial(import_huggingface, family=family) for name, family in FAMILIES.items()},
}


class Format(NamedTuple):
    """A detected format, and the function that reads it."""

    name: str
    path: Path
    read: Callable[[], ForeignModel]

    def load(self) -> ForeignModel:
        """The model; a file may be damaged in ways that no check expects, so any failure is reported as such."""
        try:
            return self.read()
        except (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RuntimeError) as error:
            kind = type(error).__name__
            raise RegardError(f"{self.path} is damaged, or no {self.name}: {kind}: {error}. Get it again.") from error


def locate(what: str) -> Path:
    """The path of a model; one that is given by its id on the Hugging Face hub is downloaded."""
    return download(what) if is_hub_id(what) else Path(what)


def detect(path: Path, *, tokenizers: tuple[Path, ...] = ()) -> Format:
    """The format of a file or directory, from its content."""
    if not path.exists():
        raise RegardError(f"{path} does not exist. Give a directory, an archive, or a file of a model.")
    if (checkpoint := find_checkpoint(path)) is not None:
        return Format("Marian checkpoint", checkpoint, lambda: import_marian_native(checkpoint, tokenizers))
    if path.is_dir():
        return _detect_directory(path, tokenizers)
    if is_gguf(path):
        return Format("GGUF file", path, lambda: import_gguf(path))
    if is_argos(path):
        return Format("Argos Translate package", path, lambda: import_argos(path))
    raise _unknown(path)


def _detect_directory(path: Path, tokenizers: tuple[Path, ...]) -> Format:
    if directory_kind(path) == MODEL:
        raise RegardError(f"{path} is a model of regard already. Use it as it is.")
    if (path / MODEL_FILE).exists():
        return Format("CTranslate2 directory", path, lambda: _import_directory(path, tokenizers))
    if (path / "config.json").exists():
        kind = read_json(path / "config.json").get("model_type")
        if not isinstance(kind, str) or kind not in HUGGINGFACE:
            raise RegardError(
                f"{path} is a Hugging Face directory with the model_type {shorten(kind)}; supported: "
                f"{', '.join(HUGGINGFACE)}."
            )
        return Format(f"Hugging Face directory, {kind}", path, lambda: HUGGINGFACE[kind](path))
    raise _unknown(path)


def _unknown(path: Path) -> RegardError:
    return RegardError(
        f"{path} has no format that is supported. Give a Hugging Face directory with config.json, a CTranslate2 "
        "directory with model.bin, an .argosmodel archive, a GGUF file, or a .npz or .bin of Marian."
    )


def _import_directory(path: Path, tokenizers: tuple[Path, ...]) -> ForeignModel:
    """A CTranslate2 directory; its sentencepiece models are inside, beside it, or given."""
    places = [folder / name for folder in (path, path.parent) for name in SENTENCEPIECE_NAMES]
    source = tokenizers[0] if tokenizers else next((one for one in places if one.exists()), None)
    if source is None:
        raise RegardError(
            f"{path} has no sentencepiece model ({', '.join(SENTENCEPIECE_NAMES)}). Give it with --tokenizer FILE, "
            "and one more --tokenizer FILE if the target has another."
        )
    own_target = source.with_name(source.name.replace("source", "target"))
    target = tokenizers[1] if len(tokenizers) > 1 else own_target if own_target.exists() else None
    if target == source:
        target = source if tokenizers else None

    def read(name: str) -> bytes | None:
        read_one = read_weights if name == MODEL_FILE else read_file
        return read_one(path / name) if (path / name).exists() else None

    return import_ctranslate2(
        Sources(str(path), read, read_file(source), None if target is None else read_file(target))
    )


def write_model(foreign: ForeignModel, out: Path) -> Bundle:
    """Write the model as a bundle; it appears complete or not at all."""
    bundle = foreign.to_bundle()
    save_bundle(out, bundle)
    return bundle

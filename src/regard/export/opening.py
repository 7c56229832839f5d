"""From a directory and the name of an engine to something that translates; torch is imported only where it is needed.

What the ctranslate2 engine runs is made from a model when it is first asked for, and kept inside the model's directory
(docs/decisions/0008).
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from regard.errors import RegardError
from regard.manifest import MODEL, kind_of, read_manifest
from regard.starting import without_collecting
from regard.translation.ctranslate2_engine import is_installed, unknown_options
from regard.translation.exported import KIND, ORIGIN, load_export, read_origin
from regard.translation.lines import LineTranslator

EngineName = Literal["torch", "ctranslate2", "auto"]
SAME_TEXT, FASTEST = "float32", "int8"  # what is made for "ctranslate2", and for "auto"
KEPT = "engines"
MODEL_VERSION, WEIGHTS = 1, "weights.safetensors"  # as bundle.py has them, which brings torch


@dataclass(frozen=True)
class Opened:
    """A translator, and which engine it has, for people."""

    translator: LineTranslator
    engine: str


def open_translator(
    directory: Path, *, engine: EngineName | None = None, quantization: str | None = None, is_looked_into: bool = False
) -> Opened:
    """The model or the export in a directory, with the engine asked for; one that is looked into brings its weights.

    Without an engine's name a model has torch, and an export the one it was made for; a quantization is ctranslate2's,
    and names it too.
    """
    if quantization and engine == "torch":
        raise RegardError(
            f"the quantization {quantization} is for ctranslate2, and the engine is torch. Leave one of the two out."
        )
    if kind_of(directory) == KIND:
        return _export(directory, engine, quantization)
    engine = engine or ("ctranslate2" if quantization else "torch")
    if engine == "torch":
        return _with_torch(directory, "")
    reasons = [] if is_installed() else ["CTranslate2 is not installed: pip install 'regard[ctranslate2]'"]
    try:
        if not reasons:
            wanted = quantization or (FASTEST if engine == "auto" else SAME_TEXT)
            return _with_ctranslate2(directory, wanted, is_looked_into)
    except Unfit as unfit:
        reasons = unfit.reasons
    if engine == "ctranslate2":
        lines = "\n".join(f"  {reason}" for reason in reasons)
        raise RegardError(f"the ctranslate2 engine cannot run {directory}:\n{lines}\nUse --engine torch.")
    return _with_torch(directory, f" ({'; '.join(reasons)})")


class Unfit(Exception):  # noqa: N818  (not an error where another engine may do it)
    """This model is not for this engine."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def _export(directory: Path, engine: EngineName | None, quantization: str | None) -> Opened:
    if engine == "torch":
        raise RegardError(f"{directory} is an export for ctranslate2. For torch, give the model it was made from.")
    translator = load_export(directory)
    own = _quantization(directory)
    if quantization not in (None, own):
        raise RegardError(
            f"{directory} is an export in {own}, and {quantization} was asked for. Leave the quantization out, or give "
            "the model it was made from."
        )
    return Opened(translator, f"ctranslate2, {own}")


def _with_torch(directory: Path, why: str) -> Opened:
    with without_collecting():
        from regard.translation.translator import load

    return Opened(load(directory), f"torch{why}")


def _with_ctranslate2(directory: Path, quantization: str, is_looked_into: bool) -> Opened:
    kept = directory / KEPT / f"{KIND}-{quantization}"
    translator = _kept(kept, directory) or _converted(directory, kept, quantization)
    if unknown := unknown_options(translator.config.decoding):
        raise Unfit(unknown)
    if is_looked_into:
        from regard.bundle import load_bundle
        from regard.translation.translator import Translator

        translator = Translator(load_bundle(directory), engine=translator.engine)
    return Opened(translator, f"ctranslate2, {quantization}")


def _kept(kept: Path, directory: Path) -> LineTranslator | None:
    """The export that was kept, if it is whole and made from the weights that are there now."""
    if kind_of(kept) != KIND:
        return None
    try:
        is_fresh = read_origin((kept / ORIGIN).read_bytes(), kept).weights == _digest_of_weights(directory)
        return load_export(kept) if is_fresh else None
    except (RegardError, OSError):
        return None  # damaged: it is made again


def _converted(directory: Path, kept: Path, quantization: str) -> LineTranslator:
    """The model exported now, and kept for the next time where the directory can be written."""
    with without_collecting():
        from regard.bundle import load_bundle
        from regard.export.ctranslate2 import export_ctranslate2, reasons_against

    bundle = load_bundle(directory)
    if reasons := reasons_against(bundle.config):
        raise Unfit(reasons)
    try:
        export_ctranslate2(bundle, kept, quantization=quantization)
        return load_export(kept)
    except RegardError:
        with TemporaryDirectory() as elsewhere:
            export_ctranslate2(bundle, Path(elsewhere) / KIND, quantization=quantization)
            return load_export(Path(elsewhere) / KIND)


def _digest_of_weights(directory: Path) -> str:
    return read_manifest(directory, MODEL, MODEL_VERSION).files.get(WEIGHTS, "")


def _quantization(directory: Path) -> str:
    return read_origin((directory / ORIGIN).read_bytes(), directory).quantization

"""`load`: the one place that opens a model, whatever it is for and whichever engine decodes it.

For the ctranslate2 engine a model is exported when it is first needed, and the export is kept inside the model's
directory, or in the user's cache if that is not possible (docs/decisions/0008). torch is imported only in the branches
that need it.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from regard.config import Config, task_of
from regard.errors import RegardError
from regard.files import (
    CONFIG_FILE,
    EXPORT,
    EXPORT_VERSION,
    EXPORT_WEIGHTS_FILE,
    MAX_METADATA_BYTES,
    MEBIBYTE,
    VerifiedFiles,
    check_size,
    directory_kind,
    find_model_directory,
    read_input,
    read_while_unchanged,
    weights_digest,
)
from regard.inference.ctranslate2_engine import CTranslate2Engine, unsupported_options
from regard.inference.interface import EngineName, StrPath, Task
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import (
    EXPORT_INFO_FILE,
    INSTALL_HINT,
    ExportedModel,
    Quantization,
    check_engine_files,
    export_ctranslate2,
    is_installed,
    parse_export,
    parse_export_info,
    unsupported_features,
)
from regard.interop.ctranslate2_file import check_model_file
from regard.process import gc_frozen_import

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.inference.captioner import Captioner
    from regard.inference.classifier import Classifier
    from regard.inference.mask_filler import MaskFiller
    from regard.inference.text_generator import TextGenerator

    Pipeline: TypeAlias = Translator | Captioner | TextGenerator | MaskFiller | Classifier

EXACT_QUANTIZATION: Quantization = "float32"  # the text is that of torch; int8 changes it
MAX_EXPORTED_BYTES = 12  # of a weight: float32, and a tied embedding is written three times
CACHE_FOLDER = "engines"  # of the exports that are kept, inside a model's directory or the user's cache
PACKAGE = Path(__file__).parents[1]  # models inside it are installed with regard; nothing is written there

COMMANDS: dict[Task, str] = {
    "translation": "translate",
    "image-to-text": "caption",
    "text-generation": "complete",
    "fill-mask": "fill",
    "classification": "classify",
}


@overload
def load(
    path: StrPath,
    *,
    task: Literal["translation"],
    engine: EngineName = "auto",
    quantization: Quantization | None = None,
    device: str = "cpu",
    with_weights: bool = True,
) -> Translator: ...
@overload
def load(path: StrPath, *, task: Literal["image-to-text"], device: str = "cpu") -> "Captioner": ...
@overload
def load(path: StrPath, *, task: Literal["text-generation"], device: str = "cpu") -> "TextGenerator": ...
@overload
def load(path: StrPath, *, task: Literal["fill-mask"], device: str = "cpu") -> "MaskFiller": ...
@overload
def load(path: StrPath, *, task: Literal["classification"], device: str = "cpu") -> "Classifier": ...
@overload
def load(
    path: StrPath,
    *,
    task: None = None,
    engine: EngineName = "auto",
    quantization: Quantization | None = None,
    device: str = "cpu",
    with_weights: bool = True,
) -> "Pipeline": ...
def load(
    path: StrPath,
    *,
    task: Task | None = None,
    engine: EngineName = "auto",
    quantization: Quantization | None = None,
    device: str = "cpu",
    with_weights: bool = True,
) -> "Pipeline":
    """Open the model or the export in a directory (a run's directory stands for its model), or a model by its name.

    A name such as "en-fr" is that of a model that comes with regard (`regard.pretrained.names()`); a path that exists
    comes first.

    `task` refuses a model for another task. The engine "auto" is the fastest one that gives the same text: ctranslate2
    in float32 where it can run the model, else torch. A quantization selects ctranslate2; all but float32 change some
    texts. Without its weights (`with_weights=False`) a model on ctranslate2 starts faster, but has no alignments,
    traces and streams. For example:

        translator = regard.load("en-fr", task="translation")
        [output] = translator.translate(["Where is the train station?"])
        print(output.text)
    """
    directory = find_model_directory(Path(path))
    if quantization and engine == "torch":
        raise RegardError(
            f"the quantization {quantization} is for ctranslate2, but the engine is torch. Remove one of the two."
        )
    if directory_kind(directory) == EXPORT:
        _check_task(directory, "translation", task)
        return _open_export(directory, engine, quantization)
    config = Config.load(directory / CONFIG_FILE) if (directory / CONFIG_FILE).is_file() else None
    own = None if config is None else task_of(config.model)
    if own is not None:
        _check_task(directory, own, task)
    if own in ("translation", None):  # without a config, `load_bundle` reports the error
        return _open_translator(directory, engine, quantization, device, with_weights)
    if quantization or engine == "ctranslate2":
        raise RegardError(f"{directory} is for {own}, which the ctranslate2 engine cannot run. Use the torch engine.")

    with gc_frozen_import():
        from regard.bundle import load_bundle
        from regard.inference.captioner import Captioner
        from regard.inference.classifier import Classifier
        from regard.inference.mask_filler import MaskFiller
        from regard.inference.text_generator import TextGenerator

    classes: dict[Task, type[Captioner | TextGenerator | MaskFiller | Classifier]] = {
        "image-to-text": Captioner,
        "text-generation": TextGenerator,
        "fill-mask": MaskFiller,
        "classification": Classifier,
    }
    return classes[own](load_bundle(directory, device=device), directory=directory)


def _check_task(directory: Path, own: Task, wanted: Task | None) -> None:
    if wanted is not None and wanted != own:
        raise RegardError(
            f"{directory} is a model for {own}, not for {wanted}. Use `regard {COMMANDS[own]}`, or in Python "
            f'regard.load(path, task="{own}").'
        )


# --- translators and their engines -----------------------------------------------------------------------------------


def _open_export(directory: Path, engine: EngineName, quantization: str | None) -> Translator:
    if engine == "torch":
        raise RegardError(f"{directory} is an export for {EXPORT}. Give the model it was made from.")
    export = read_export(directory)
    own = export.info.quantization
    if quantization not in (None, own):
        raise RegardError(
            f"{directory} is an export in {own}, and {quantization} was requested. Remove the quantization, or give "
            "the model it was made from."
        )
    return Translator(export, directory=directory)


def _open_translator(
    directory: Path, engine: EngineName, quantization: Quantization | None, device: str, with_weights: bool
) -> Translator:
    is_required = engine == "ctranslate2" or quantization is not None
    reasons: list[str] = []
    if engine != "torch":
        try:
            return _translator_on_ctranslate2(directory, quantization or EXACT_QUANTIZATION, device, with_weights)
        except UnsupportedModelError as unsupported:
            reasons = unsupported.reasons
    if is_required:
        lines = "\n".join(f"  {reason}" for reason in reasons)
        raise RegardError(f"the ctranslate2 engine cannot run {directory}:\n{lines}\nUse the torch engine.")
    with gc_frozen_import():
        from regard.bundle import load_bundle
        from regard.inference.torch_engine import TorchEngine

    bundle = load_bundle(directory, device=device)
    description = f"torch ({'; '.join(reasons)})" if reasons else "torch"
    return Translator(bundle, engine=TorchEngine(bundle.model, description=description), directory=directory)


class UnsupportedModelError(Exception):
    """The ctranslate2 engine cannot run this model."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


def _translator_on_ctranslate2(
    directory: Path, quantization: Quantization, device: str, with_weights: bool
) -> Translator:
    if not is_installed():
        raise UnsupportedModelError([f"CTranslate2 is not installed: {INSTALL_HINT}"])
    if device != "cpu":
        raise UnsupportedModelError([f"the device is {device}, and this engine runs on CPUs"])
    if (path := directory / CONFIG_FILE).is_file() and (reasons := unsupported_features(Config.load(path))):
        raise UnsupportedModelError(reasons)  # before the weights are read in vain
    places, bundle = _export_places(directory, quantization), None
    export = next((found for place in places if (found := _read_cached_export(place, directory))), None)
    if export is None or with_weights:
        with gc_frozen_import():
            from regard.bundle import load_bundle

        bundle = load_bundle(directory)
        export = export or _export_now(bundle, places, quantization)
    if reasons := unsupported_options(export.config.decoding):
        raise UnsupportedModelError(reasons)
    if bundle is None or not with_weights:
        return Translator(export, directory=directory)
    return Translator(bundle, engine=CTranslate2Engine(export), directory=directory)


def _export_places(directory: Path, quantization: Quantization) -> list[Path]:
    """Where the export of a model may be kept, the preferred place first: with the model, or in the user's cache."""
    name, model = f"{EXPORT}-{quantization}", Path(os.path.realpath(directory))
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "regard" / CACHE_FOLDER
    in_cache = user_cache / hashlib.sha256(os.fsencode(model)).hexdigest()[:16] / name
    return [in_cache] if model.is_relative_to(PACKAGE) else [directory / CACHE_FOLDER / name, in_cache]


def read_export(directory: Path) -> ExportedModel:
    """The export in a directory, each file checked against its hash."""
    return read_while_unchanged(directory, EXPORT, EXPORT_VERSION, _read_export_files)


def _read_export_files(files: VerifiedFiles) -> ExportedModel:
    files.require(EXPORT_WEIGHTS_FILE, advice="Export the model again.")
    others = {name: files.read(name) for name in files.digests if name != EXPORT_WEIGHTS_FILE}
    export, path = parse_export(others, files.directory), files.directory / EXPORT_WEIGHTS_FILE
    if path.is_file() and (size := path.stat().st_size) > MAX_METADATA_BYTES:  # it must have a reason to be large
        from regard.bundle import describe_tensors

        described = describe_tensors(export.config, export.tokenizers).values()
        max_bytes = MAX_METADATA_BYTES + MAX_EXPORTED_BYTES * sum(tensor.numel() for tensor in described)
        check_size(size, max_bytes, path, "Its config describes a smaller model. Export the model again.")
    export.files[EXPORT_WEIGHTS_FILE] = files.read(EXPORT_WEIGHTS_FILE)
    check_model_file(export.files[EXPORT_WEIGHTS_FILE], str(path), export.config.model, export.tokenizers)
    check_engine_files(export, files.directory)
    return export


def _read_cached_export(cached: Path, directory: Path) -> ExportedModel | None:
    """The export that was kept, if it is complete and made from the current weights and config."""
    if directory_kind(cached) != EXPORT:
        return None
    try:
        info = read_input(cached / EXPORT_INFO_FILE, max_bytes=MEBIBYTE)
        if parse_export_info(info, cached).weights != weights_digest(directory):
            return None
        export = read_export(cached)
        return export if export.config == Config.load(directory / CONFIG_FILE) else None
    except RegardError:
        return None  # damaged: it is made again


def _export_now(bundle: "Bundle", places: list[Path], quantization: Quantization) -> ExportedModel:
    """Export the model, and keep the export for the next time in the first place that can be written."""
    for place in places:
        with suppress(RegardError, OSError):  # such as a path that is too long
            export_ctranslate2(bundle, place, quantization=quantization)
            return read_export(place)
    with TemporaryDirectory() as folder:
        export_ctranslate2(bundle, Path(folder) / EXPORT, quantization=quantization)
        return read_export(Path(folder) / EXPORT)

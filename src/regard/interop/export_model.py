"""The formats of `regard export`, listed once: the command's choices, its options and the docs' test follow from here.

To add a format, write `interop/<format>.py` with a function that writes it, and add a row to `EXPORT_FORMATS`. Formats
are imported when they are used, so that the command line starts without torch.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import RegardError

if TYPE_CHECKING:
    from pathlib import Path

    from regard.bundle import Bundle

FLOAT32 = "float32"


@dataclass(frozen=True)
class ExportFormat:
    """One format: the program that reads it, and the function that writes it and returns how to use the result."""

    name: str
    program: str
    write: Callable[[Bundle, Path, str, bytes | None], str]
    quantizations: tuple[str, ...] = (FLOAT32,)
    takes_shortlist: bool = False
    is_engine: bool = False  # `regard translate` reads it like a model

    def check(self, quantization: str | None, shortlist: Path | None) -> str:
        """The number format to write; an option that this format does not have is an error."""
        if shortlist is not None and not self.takes_shortlist:
            names = ", ".join(one.name for one in EXPORT_FORMATS.values() if one.takes_shortlist)
            raise RegardError(f"--shortlist is for --to {names}. Remove it.")
        if quantization not in (None, *self.quantizations):
            raise RegardError(
                f"--quantization {quantization} is not for --to {self.name}, which has {', '.join(self.quantizations)}."
            )
        return quantization or FLOAT32


def _write_ctranslate2(bundle: Bundle, path: Path, quantization: str, shortlist: bytes | None) -> str:
    from regard.interop.ctranslate2 import export_ctranslate2

    export_ctranslate2(bundle, path, quantization=quantization, shortlist=shortlist)
    return f"To use it: regard translate {shlex.quote(str(path))}"


def _write_huggingface(bundle: Bundle, path: Path, quantization: str, shortlist: bytes | None) -> str:  # noqa: ARG001
    from regard.config import ImageClassifierConfig, LanguageModelConfig
    from regard.interop.huggingface import export_family, family_of
    from regard.interop.vit import export_vit

    if isinstance(bundle.config.model, ImageClassifierConfig):
        return f"{path} is for {export_vit(bundle, path)}.from_pretrained and AutoImageProcessor.from_pretrained."
    if isinstance(bundle.config.model, LanguageModelConfig) or family_of(bundle) is not None:
        name = export_family(bundle, path)
        return f"{path} is for {name}.from_pretrained and AutoTokenizer.from_pretrained."
    from regard.interop.marian import export_huggingface

    export_huggingface(bundle, path)
    return f"{path} is for MarianMTModel.from_pretrained and MarianTokenizer.from_pretrained."


def _write_marian(bundle: Bundle, path: Path, quantization: str, shortlist: bytes | None) -> str:  # noqa: ARG001
    from regard.interop.marian_native_export import export_marian

    export_marian(bundle, path, quantization=quantization)
    return f"{path} is for Bergamot, Firefox's engine, and for Marian: marian-decoder -c {path}/config.yml"


def _write_argos(bundle: Bundle, path: Path, quantization: str, shortlist: bytes | None) -> str:  # noqa: ARG001
    from regard.interop.argos import export_argos

    export_argos(bundle, path, quantization=quantization)
    return f"{path} is for Argos Translate: argospm install {shlex.quote(str(path))}"


CTRANSLATE2_QUANTIZATIONS = ("int8", "int8_float32", "int16", "float16", FLOAT32)
EXPORT_FORMATS = {
    one.name: one
    for one in (
        ExportFormat("ctranslate2", "CTranslate2", _write_ctranslate2, CTRANSLATE2_QUANTIZATIONS, True, True),
        ExportFormat("huggingface", "Hugging Face's transformers", _write_huggingface),
        ExportFormat("marian", "Marian and Firefox's Bergamot", _write_marian, ("int8", FLOAT32)),
        ExportFormat("argos", "Argos Translate", _write_argos, CTRANSLATE2_QUANTIZATIONS),
    )
}

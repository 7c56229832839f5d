"""An export for CTranslate2 as a directory: what is in it, and how it is loaded without torch."""

from pathlib import Path

import msgspec

from regard.config import from_toml
from regard.errors import RegardError
from regard.manifest import EXPORT, read_verified
from regard.tokens import Tokenizers
from regard.translation.ctranslate2_engine import CTranslate2Engine
from regard.translation.lines import LineTranslator

KIND, VERSION = EXPORT, 1
CONFIG, SOURCE, TARGET, ORIGIN, SHORTLIST = "config.toml", "source.tokens", "target.tokens", "origin.json", "vmap.txt"


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an export comes from and what it can hold."""

    weights: str  # SHA-256 of the weights' file that it was made from; empty: from no file
    quantization: str
    parameters: int
    longest: int  # positions, of the source with END and of an output with END


def load_export(directory: Path | str) -> LineTranslator:
    """The exported model in a directory, checked file by file, ready to translate; it cannot be looked into."""
    directory = Path(directory)
    files = read_verified(directory, KIND, VERSION)
    missing = sorted({CONFIG, SOURCE, TARGET, ORIGIN} - set(files))
    if missing:
        raise RegardError(f"{directory} has no {', '.join(missing)}. Export the model again.")
    config = from_toml(files.pop(CONFIG).decode(), origin=str(directory / CONFIG))
    tokenizers = Tokenizers.from_bytes(files.pop(SOURCE), files.pop(TARGET))
    origin = read_origin(files.pop(ORIGIN), directory)
    engine = CTranslate2Engine(files, tokenizers, longest=origin.longest, has_shortlist=SHORTLIST in files)
    return LineTranslator(config, tokenizers, engine, parameters=origin.parameters)


def read_origin(content: bytes, directory: Path) -> Origin:
    """What origin.json says."""
    try:
        return msgspec.json.decode(content, type=Origin)
    except msgspec.DecodeError as error:
        raise RegardError(f"{directory / ORIGIN} is damaged: {error}. Export the model again.") from None

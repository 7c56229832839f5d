"""regard: the attention lineage, trained, measured and seen from inside.

Names are imported when they are first asked for, so that `import regard` (and `regard --help`) does not wait for torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Attended": "regard.attention.attend",
    "Attention": "regard.attention.general",
    "Batch": "regard.batch",
    "Bundle": "regard.bundle",
    "Caption": "regard.captioning.captioner",
    "Captioner": "regard.captioning.captioner",
    "Config": "regard.config",
    "Continuation": "regard.language.writer",
    "DecodingConfig": "regard.config",
    "Filled": "regard.language.reader",
    "Generator": "regard.models.interface",
    "Grid": "regard.batch",
    "Hypothesis": "regard.decoding.search",
    "MultiHeadAttention": "regard.attention.multi_head",
    "Padded": "regard.batch",
    "Pictures": "regard.batch",
    "Reader": "regard.language.reader",
    "RegardError": "regard.errors",
    "Trace": "regard.translation.trace",
    "Translation": "regard.translation.translator",
    "Translator": "regard.translation.translator",
    "Writer": "regard.language.writer",
    "attend": "regard.attention.attend",
    "build": "regard.models.catalogue",
    "generate": "regard.decoding.loop",
    "load": "regard.translation.translator",
    "load_bundle": "regard.bundle",
    "load_captioner": "regard.captioning.captioner",
    "load_export": "regard.translation.exported",
    "load_reader": "regard.language.reader",
    "load_writer": "regard.language.writer",
    "record_attention": "regard.recording",
    "rescore": "regard.decoding.rescoring",
    "save_bundle": "regard.bundle",
    "source_of": "regard.batch",
    "stream": "regard.decoding.loop",
    "trace_pair": "regard.translation.trace",
    "trace_texts": "regard.translation.trace",
    "train": "regard.training.loop",
    "word_maps": "regard.captioning.tracing",
}

_ROOMS = ("view",)  # modules that are used by their names, as in regard.view.show(trace)

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"regard.{name}")
    if name not in _HOMES:
        raise AttributeError(f"regard has no {name!r}; its public names are {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]

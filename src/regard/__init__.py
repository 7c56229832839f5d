"""regard: train, measure and inspect the attention lineage, from the RNN with attention to the Transformer.

Names are imported when they are first used, so that `import regard` and `regard --help` do not wait for torch.
`__init__.pyi` gives editors and type checkers the same names with their types.
"""

from importlib import import_module
from typing import Any

from regard.process import limit_spinning

limit_spinning()  # before torch is imported, which reads the setting once

__version__ = "0.1.0"

_LOCATIONS = {
    "AttentionLayer": "regard.attention.attention_layer",
    "AttentionOutput": "regard.attention.attend",
    "Batch": "regard.batch",
    "Bundle": "regard.bundle",
    "Caption": "regard.inference.captioner",
    "CaptionReport": "regard.inference.evaluation",
    "Captioner": "regard.inference.captioner",
    "Classification": "regard.inference.classifier",
    "ClassificationReport": "regard.inference.evaluation",
    "Classifier": "regard.inference.classifier",
    "Config": "regard.config",
    "DecodeOptions": "regard.config",
    "DecodingConfig": "regard.config",
    "FilledText": "regard.inference.mask_filler",
    "GeneratedText": "regard.inference.interface",
    "GenerativeModel": "regard.models.interface",
    "HeadAlignment": "regard.tracing.alignment",
    "HeadSelection": "regard.tracing.alignment",
    "Hypothesis": "regard.decoding.hypothesis",
    "ImageFeatures": "regard.batch",
    "Images": "regard.batch",
    "MaskFiller": "regard.inference.mask_filler",
    "MultiHeadAttention": "regard.attention.multi_head",
    "PaddedTokens": "regard.batch",
    "PerplexityReport": "regard.inference.evaluation",
    "ProbeReport": "regard.tracing.probing",
    "RegardError": "regard.errors",
    "TaggedSentence": "regard.data.conll",
    "TextGenerator": "regard.inference.text_generator",
    "TokenPrediction": "regard.inference.mask_filler",
    "Trace": "regard.tracing.trace",
    "Translation": "regard.inference.translator",
    "TranslationReport": "regard.inference.evaluation",
    "Translator": "regard.inference.translator",
    "WordAlignment": "regard.tracing.alignment",
    "attend": "regard.attention.attend",
    "build_model": "regard.models.factory",
    "encode_source_rows": "regard.batch",
    "evaluate": "regard.inference.evaluation",
    "generate": "regard.decoding.loop",
    "intervene": "regard.tracing.interventions",
    "load": "regard.inference.open",
    "load_bundle": "regard.bundle",
    "new_bundle": "regard.bundle",
    "probe": "regard.tracing.probing",
    "read_tagged_words": "regard.data.conll",
    "record_attention": "regard.tracing.capture",
    "rescore": "regard.decoding.loop",
    "save_bundle": "regard.bundle",
    "stream": "regard.decoding.loop",
    "trace_pair": "regard.tracing.trace",
    "trace_texts": "regard.tracing.trace",
    "train": "regard.training.plan",
    "word_image_maps": "regard.tracing.image_maps",
}

_SUBPACKAGES = ("plotting", "pretrained")  # used by their names, as in regard.plotting.show(trace)

__all__ = sorted(_LOCATIONS)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"regard.{name}")
    if name not in _LOCATIONS:
        raise AttributeError(f"regard has no {name!r}; its public names are {', '.join(__all__)}")
    return getattr(import_module(_LOCATIONS[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_SUBPACKAGES, "__version__"]

"""Attention as it forms: the maps of a few sentences, saved at chosen steps of training.

A probe from the validation set is scored against its reference, so that its words stay in place from step to step; one
that the user gave has no reference, and is shown with what the model says of it at the time.
"""

from pathlib import Path

import msgspec
import torch
from safetensors.torch import save as save_tensors

from regard.bundle import Bundle
from regard.data import Pair
from regard.staged import staged_directory
from regard.translation.attention_maps import TokenPair, attention_maps
from regard.translation.translator import Translator

DEFAULT_PROBES = 4
LABELS, MAPS = "labels.json", "maps.safetensors"


class ProbeLabels(msgspec.Struct, frozen=True):
    """The tokens along the two sides of a probe's maps."""

    source: list[str]
    target: list[str]


def probe_pairs(bundle: Bundle, valid: list[Pair], given: list[str]) -> list[TokenPair]:
    """The probes as tokens: those given, else a few of the validation set, neither the shortest nor the longest."""
    both = bundle.tokenizers
    if given:
        outputs = Translator(bundle).translate(given, beam=1, nbest=1)
        return [(both.source.encode(text), output.tokens) for text, output in zip(given, outputs, strict=True)]
    ordered = sorted(valid, key=lambda pair: len(pair.source.split()))
    chosen = [ordered[(2 * i + 1) * len(ordered) // (2 * DEFAULT_PROBES)] for i in range(DEFAULT_PROBES)]
    return [(both.source.encode(pair.source), both.target.encode(pair.target)) for pair in chosen]


def save_probes(directory: Path, bundle: Bundle, valid: list[Pair], given: list[str]) -> None:
    """Write every layer's and head's map of every probe."""
    was_training = bundle.model.training
    bundle.model.eval()
    pairs = probe_pairs(bundle, valid, given)
    both = bundle.tokenizers
    labels = [
        ProbeLabels([*both.source.pieces(source), "</s>"], ["<s>", *both.target.pieces(target)])
        for source, target in pairs
    ]
    tensors = {
        f"{index}/{name}": torch.from_numpy(weights).half().contiguous()
        for index, maps in enumerate(attention_maps(bundle, pairs))
        for name, weights in maps.items()
    }
    bundle.model.train(was_training)
    with staged_directory(directory) as staging:
        (staging / LABELS).write_bytes(msgspec.json.encode(labels))
        (staging / MAPS).write_bytes(save_tensors(tensors))

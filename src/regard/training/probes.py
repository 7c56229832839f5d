"""Attention as it forms: the maps of a few sentences or pictures, saved at chosen steps of training.

A probe from the validation set is scored against its reference, so that its words stay in place from step to step; one
that the user gave has no reference, and is shown with what the model says of it at the time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import torch
from safetensors.torch import save as save_tensors

from regard.batch import Grid, Pictures
from regard.bundle import Bundle
from regard.captioning.captioner import Captioner
from regard.captioning.tracing import picture_maps, places_of
from regard.config import Config
from regard.data import Pair
from regard.data.pictures import read_captioned
from regard.language.reader import Reader
from regard.staged import staged_directory
from regard.training.gallery import Gallery
from regard.translation.attention_maps import Maps, TokenPair, attention_maps
from regard.translation.inside import AttentionLayer, LayerNumbers
from regard.translation.lines import readable
from regard.translation.trace import Trace
from regard.translation.translator import Translator

DEFAULT_PROBES = 4
FIRST_STEPS = 25  # from the untrained model to the next one whose attention is saved
LABELS, MAPS = "labels.json", "maps.safetensors"
Item = TypeVar("Item")


class ProbeLabels(msgspec.Struct, frozen=True):
    """The tokens along the two sides of a probe's maps; a picture's are its places, row by row."""

    source: list[str]
    target: list[str]
    picture: str = ""  # the name of its file


@dataclass(frozen=True)
class Probe:
    """Every layer's and head's map of one example."""

    labels: ProbeLabels
    maps: Maps


def is_milestone(step: int) -> bool:
    """0, 25, 50, 75, 100, 150, 200, 300, ...: often while attention forms, and not forty times in a million steps."""
    times, between = divmod(step, FIRST_STEPS)
    largest_power_of_two = times & -times
    return between == 0 and times in (0, largest_power_of_two, 3 * largest_power_of_two)


def pair_probes(bundle: Bundle, valid: list[Pair], given: list[str]) -> list[Probe]:
    """Those given, else a few of the validation set, neither the shortest nor the longest."""
    pairs = _pairs(bundle, valid, given)
    both = bundle.tokenizers
    labels = [
        ProbeLabels([*both.source.pieces(source), "</s>"], ["<s>", *both.target.pieces(target)])
        for source, target in pairs
    ]
    return [Probe(*one) for one in zip(labels, attention_maps(bundle, pairs), strict=True)]


def picture_probes(bundle: Bundle, valid: Gallery, given: list[str]) -> list[Probe]:
    """The pictures at the given paths, else a few of the validation set."""
    places, tokenizer = places_of(bundle).pieces, bundle.tokenizers.target
    return [
        Probe(ProbeLabels(places, ["<s>", *tokenizer.pieces(tokens)], name), picture_maps(bundle, source, tokens))
        for name, source, tokens in _pictures(bundle, valid, given)
    ]


def writing_probes(bundle: Bundle, texts: list[str], *, are_given: bool) -> list[Probe]:
    """The texts that are given, else a few of them, said word by word."""
    tokenizer, longest = bundle.tokenizers.target, readable(bundle.model.longest)  # type: ignore[arg-type]
    rows = [tokenizer.encode(text)[:longest] for text in _some(texts, are_given)]
    labels = [ProbeLabels([], ["<s>", *tokenizer.pieces(row)]) for row in rows]
    maps = attention_maps(bundle, [([], row) for row in rows])
    return [Probe(*one) for one in zip(labels, maps, strict=True)]


def cloze_probes(bundle: Bundle, texts: list[str], *, are_given: bool) -> list[Probe]:
    """The texts that are given, else a few of them, read from both sides."""
    reader = Reader(bundle)
    traces = [reader.trace(text) for text in _some(texts, are_given)]
    return [
        Probe(ProbeLabels(one.source.pieces, []), {layer.name: numbers.weights for layer, numbers in _layers(one)})
        for one in traces
    ]


def probed_pictures(config: Config) -> list[Path]:
    """The files of the pictures that a run of this config probes, in the order of its probes."""
    given, valid = config.training.probes, config.data.valid
    if given or not valid:
        return [Path(path) for path in given]
    split = valid[1] if len(valid) > 1 else None
    captioned = read_captioned(valid[0], split=split, pictures=config.data.pictures.folder or None)
    return [one.picture for one in _spread(captioned)]


def save_probes(directory: Path, probes: list[Probe]) -> None:
    """Write every map of every probe."""
    tensors = {
        f"{index}/{name}": torch.from_numpy(weights).half().contiguous()
        for index, probe in enumerate(probes)
        for name, weights in probe.maps.items()
    }
    with staged_directory(directory) as staging:
        (staging / LABELS).write_bytes(msgspec.json.encode([probe.labels for probe in probes]))
        (staging / MAPS).write_bytes(save_tensors(tensors))


def _pairs(bundle: Bundle, valid: list[Pair], given: list[str]) -> list[TokenPair]:
    both, translator = bundle.tokenizers, Translator(bundle)
    longest = translator.longest
    if given:
        outputs = translator.translate(given, beam=1, nbest=1)
        sources = [both.source.encode(text)[:longest] for text in given]
        return [(source, output.tokens) for source, output in zip(sources, outputs, strict=True)]
    chosen = _spread(sorted(valid, key=lambda pair: len(pair.source.split())))
    return [(both.source.encode(pair.source)[:longest], both.target.encode(pair.target)[:longest]) for pair in chosen]


def _pictures(bundle: Bundle, valid: Gallery, given: list[str]) -> list[tuple[str, Pictures | Grid, list[int]]]:
    captioner = Captioner(bundle)
    if given:
        outputs = captioner.caption(given, beam=1, nbest=1)
        both = zip(given, outputs, strict=True)
        return [(Path(path).name, captioner.opened([path]), output.tokens) for path, output in both]
    encode, longest = bundle.tokenizers.target.encode, readable(bundle.model.longest)  # type: ignore[arg-type]
    return [
        (one.picture.name, valid.source([index]).to(captioner.device), encode(one.captions[0])[:longest])
        for index, one in _spread(list(enumerate(valid.captioned)))
    ]


def _some(texts: list[str], are_given: bool) -> list[str]:
    return texts if are_given else _spread(sorted(texts, key=lambda text: len(text.split())))


def _layers(trace: Trace) -> Iterator[tuple[AttentionLayer, LayerNumbers]]:
    return zip(trace.layers, trace.numbers, strict=True)


def _spread(items: Sequence[Item]) -> list[Item]:
    """A few items, evenly spaced."""
    return [items[(2 * i + 1) * len(items) // (2 * DEFAULT_PROBES)] for i in range(DEFAULT_PROBES)]

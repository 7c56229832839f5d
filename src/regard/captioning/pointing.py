"""Whether a captioner looks at what it speaks of, by every layer and head, where the gold boxes are known."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.captioning.captioner import Captioner
from regard.captioning.tracing import picture_maps
from regard.errors import RegardError
from regard.metrics.pointing import Pointing, Rectangle, pointing
from regard.models.uses import use_of
from regard.tokens import words
from regard.translation.alignment import Reading

WordMaps = list[NDArray[np.floating]]


@dataclass(frozen=True)
class Boxed:
    """A picture, its gold caption word by word, and the boxes of what each word speaks of."""

    picture: Path
    words: list[str]
    boxes: Sequence[Sequence[Rectangle]]


@dataclass(frozen=True)
class Pointed:
    """One way to read the attention, and how well it points."""

    reading: Reading
    score: Pointing


def point(captioner: Captioner, boxed: Iterable[Boxed]) -> list[Pointed]:
    """Every way of reading the maps of the gold captions, the one whose peaks hit most often first.

    A layer and a head, or the mean over them; as a word is said, or as it is read as the next step's input.
    """
    found: dict[Reading, WordMaps] = defaultdict(list)
    boxes: list[Sequence[Rectangle]] = []
    for one in boxed:
        for reading, maps in _word_maps(captioner, one).items():
            found[reading] += maps
        boxes += one.boxes
    pointed = [Pointed(reading, pointing(maps, boxes)) for reading, maps in found.items()]
    return sorted(pointed, key=lambda one: -one.score.peak)


def _word_maps(captioner: Captioner, boxed: Boxed) -> dict[Reading, WordMaps]:
    """The map of each word of a gold caption, by every reading; none where the model has no attention."""
    tokenizer, side = captioner.bundle.tokenizers.target, captioner.eye.side
    tokens = tokenizer.encode(" ".join(boxed.words))
    groups = words(tokenizer.pieces(tokens))
    if len(groups) != len(boxed.words):
        raise RegardError(
            f"the caption of {boxed.picture} has {len(boxed.words)} words, and this model cuts it into {len(groups)}. "
            "Pointing needs a vocabulary whose words are those between spaces."
        )
    maps = picture_maps(captioner.bundle, captioner.opened([boxed.picture]), tokens)
    layers = [weights for name, weights in maps.items() if use_of(name) == "picture"]
    if not layers:
        return {}
    weights = np.stack(layers).reshape(len(layers), layers[0].shape[0], len(tokens) + 1, side, side)
    return {reading: _read(weights, groups, reading) for reading in _readings(*weights.shape[:2])}


def _readings(layers: int, heads: int) -> list[Reading]:
    single = product(range(layers), range(heads) if heads > 1 else [], (False, True))
    means = product([None, *(range(layers) if layers > 1 else [])], [None], (False, True))
    return [Reading(*one) for one in [*means, *single]]


def _read(weights: NDArray[np.float32], groups: list[list[int]], reading: Reading) -> WordMaps:
    """From (layers, heads, queries, rows, columns): query 0 reads `<s>` and says the first token."""
    chosen = weights if reading.layer is None else weights[[reading.layer]]
    chosen = chosen if reading.head is None else chosen[:, [reading.head]]
    mean = chosen.mean(axis=(0, 1))
    return [mean[[piece + reading.when_read for piece in pieces]].mean(axis=0) for pieces in groups]

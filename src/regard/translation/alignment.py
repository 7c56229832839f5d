"""Which words belong together, read off the attention between target and source.

A map can be read in two ways. When a token is *said*, the decoder has not seen it yet. When it is *read*, as the next
step's input, the decoder knows it, and a Transformer often looks at its source only then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from regard.bundle import Bundle
from regard.errors import RegardError
from regard.metrics import Alignment as GoldAlignment
from regard.metrics import AlignmentScore, Links, alignment_error, links_from_weights, merge_words
from regard.models.uses import CROSS
from regard.tokens import spelled, words
from regard.translation.attention_maps import Maps, TokenPair, attention_maps, cross_attention
from regard.translation.lines import readable

NO_CROSS_ATTENTION = "this model has no attention between target and source: a fixed-context RNN cannot align."


@dataclass(frozen=True)
class Reading:
    """Which map to read: a layer and a head (None: the mean over them), when tokens are said or when they are read."""

    layer: int | None = None
    head: int | None = None
    when_read: bool = False

    def __str__(self) -> str:
        layer = "mean of layers" if self.layer is None else f"layer {self.layer + 1}"
        head = "mean of heads" if self.head is None else f"head {self.head + 1}"
        return f"{layer}, {head}, tokens as they are {'read' if self.when_read else 'said'}"


@dataclass(frozen=True)
class Alignment:
    """Word by word: how much each target word looks at each source word, and the links that follow."""

    source_words: list[str]
    target_words: list[str]
    weights: NDArray[np.float64]  # [target word][source word]
    links: Links


def align_tokens(bundle: Bundle, pairs: Sequence[TokenPair], reading: Reading | None = None) -> Iterator[Alignment]:
    """The alignment of each pair of token rows."""
    reading = reading or Reading()
    for pair, maps in zip(pairs, attention_maps(bundle, pairs, named=CROSS), strict=True):
        yield _align(bundle, pair, maps, reading)


def align_texts(
    bundle: Bundle, sources: Sequence[str], targets: Sequence[str], reading: Reading | None = None
) -> list[Alignment]:
    """The alignment of each pair of sentences."""
    return list(align_tokens(bundle, _encode(bundle, sources, targets), reading))


def best_reading(
    bundle: Bundle, sources: Sequence[str], targets: Sequence[str], gold: Sequence[GoldAlignment]
) -> tuple[Reading, AlignmentScore]:
    """Of every layer, head and way of reading, the one whose links err least against the gold ones."""
    scored = score_readings(bundle, sources, targets, gold)
    if not scored:
        raise RegardError(NO_CROSS_ATTENTION)
    return scored[0]


def score_readings(
    bundle: Bundle, sources: Sequence[str], targets: Sequence[str], gold: Sequence[GoldAlignment]
) -> list[tuple[Reading, AlignmentScore]]:
    """Every layer, head and way of reading with its score against the gold links, the best first.

    None where the target does not look at the source.
    """
    pairs = _encode(bundle, sources, targets)
    found: dict[Reading, list[Links]] = {}
    for pair, maps in zip(pairs, attention_maps(bundle, pairs, named=CROSS), strict=True):
        for reading in _readings(maps):
            found.setdefault(reading, []).append(_align(bundle, pair, maps, reading).links)
    sure, possible = [one.sure for one in gold], [one.possible for one in gold]
    scores = [(reading, alignment_error(links, sure, possible)) for reading, links in found.items()]
    return sorted(scores, key=lambda scored: scored[1].error)


def _encode(bundle: Bundle, sources: Sequence[str], targets: Sequence[str]) -> list[TokenPair]:
    if len(sources) != len(targets):
        raise RegardError(f"there are {len(sources)} sources and {len(targets)} targets; give as many of each.")
    both, longest = bundle.tokenizers, readable(bundle.model.longest)  # type: ignore[arg-type]
    return [
        (both.source.encode(own)[:longest], both.target.encode(other)[:longest])
        for own, other in zip(sources, targets, strict=True)
    ]


def _readings(maps: Maps) -> list[Reading]:
    layers = cross_attention(maps)
    if not layers:
        return []
    heads = range(layers[0].shape[0])
    single = [Reading(layer, head, when) for layer, head, when in product(range(len(layers)), heads, (False, True))]
    means = [Reading(layer, None, when) for layer, when in product([None, *range(len(layers))], (False, True))]
    return [*single, *means]


def _align(bundle: Bundle, pair: TokenPair, maps: Maps, reading: Reading) -> Alignment:
    source, target = (
        bundle.tokenizers.source.pieces(pair[0]),
        bundle.tokenizers.target.pieces(pair[1]),
    )
    source_words, target_words = words(source), words(target)
    rows = _rows(cross_attention(maps), reading)
    first = 1 if reading.when_read else 0
    weights = merge_words(rows[first : first + len(target)], source_words, target_words)
    spell = [
        [spelled([pieces[index] for index in word]) for word in groups]
        for pieces, groups in ((source, source_words), (target, target_words))
    ]
    return Alignment(spell[0], spell[1], weights, links_from_weights(weights))


def _rows(layers: list[NDArray[np.float32]], reading: Reading) -> NDArray[np.float32]:
    """The map that a reading asks for: queries are BEGIN and the target's tokens, keys the source's tokens and END."""
    if not layers:
        raise RegardError(NO_CROSS_ATTENTION)
    if reading.layer is not None and reading.layer >= len(layers):
        raise RegardError(f"there is no layer {reading.layer + 1}; this model has {len(layers)}.")
    if reading.head is not None and reading.head >= len(layers[0]):
        raise RegardError(f"there is no head {reading.head + 1}; each layer of this model has {len(layers[0])}.")
    chosen = np.stack(layers if reading.layer is None else [layers[reading.layer]])  # (layers, heads, queries, keys)
    chosen = chosen if reading.head is None else chosen[:, [reading.head]]
    mean: NDArray[np.float32] = chosen.mean(axis=(0, 1))
    return mean

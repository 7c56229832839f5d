"""Word alignment from the attention between target and source: the one path for every caller.

The weights of a token can be read at two decoder steps. At the step that outputs the token, the decoder has not read
it yet. At the next step, whose input it is, it has, and a Transformer often attends to the source only then (Chen et
al., 2020: shift-att). What is read from a key can be measured by its weight, by the norm of the vector that is read
(Kobayashi et al., 2020), by how far the output moves without it (value zeroing: Mohebbi et al., 2023; of a layer, not
of a head), or by its contribution through all layers (Ferrando et al., 2022; of the whole model). torch is imported
only by the functions that run a model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.alignment import (
    AlignmentScore,
    GoldAlignment,
    Links,
    alignment_error_rate,
    links_from_attention,
    pieces_to_words,
)

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.tracing.capture import TokenIdPair
    from regard.tracing.trace import TokenSequence, Trace

NO_CROSS_ATTENTION = "this model has no attention between target and source: a fixed-context RNN cannot align."

DecoderSide = Literal["output", "input"]  # of the step that predicts a token, or of the step that reads it
DECODER_SIDES: tuple[DecoderSide, ...] = ("output", "input")

Measure = Literal["weights", "norms", "value-zeroing", "contributions"]

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class LayerMaps:
    """The maps of one layer: of each head, (heads, queries, keys), and of all heads together, (queries, keys)."""

    heads: Weights
    together: Weights


@dataclass(frozen=True)
class HeadSelection:
    """Which weights to read: a layer and a head, counted from 0 (None: their mean), at a decoder step."""

    layer: int | None = None
    head: int | None = None
    at: DecoderSide = "output"
    measure: Measure = "weights"

    def __post_init__(self) -> None:
        if self.measure == "contributions" and (self.layer, self.head) != (None, None):
            raise RegardError("contributions are of all layers and heads together. Choose no layer and no head.")

    def __str__(self) -> str:
        if self.measure == "contributions":
            return f"all layers, decoder {self.at}, by contributions"
        layer = "mean of layers" if self.layer is None else f"layer {self.layer + 1}"
        head = "mean of heads" if self.head is None else f"head {self.head + 1}"
        return f"{layer}, {head}, decoder {self.at}" + ("" if self.measure == "weights" else f", by {self.measure}")


@dataclass(frozen=True)
class WordAlignment:
    """The attention of each target word to each source word, and the links that follow from it."""

    source_words: list[str]
    target_words: list[str]
    weights: NDArray[np.float64]  # [target word][source word]
    links: Links

    @classmethod
    def empty(cls) -> Self:
        """The alignment of a pair without words."""
        return cls([], [], np.zeros((0, 0)), frozenset())


@dataclass(frozen=True)
class HeadAlignment:
    """The alignment error of one selection; layer and head are counted from 1, as by commands (None: their mean)."""

    layer: int | None
    head: int | None
    at: DecoderSide
    aer: float
    precision: float
    recall: float
    measure: Measure = "weights"

    @classmethod
    def from_score(cls, selection: HeadSelection, score: AlignmentScore) -> Self:
        """The score of a selection, which counts from 0."""
        layer, head = (None if number is None else number + 1 for number in (selection.layer, selection.head))
        return cls(layer, head, selection.at, score.aer, score.precision, score.recall, selection.measure)

    @property
    def selection(self) -> HeadSelection:
        """What was scored."""
        layer, head = (None if number is None else number - 1 for number in (self.layer, self.head))
        return HeadSelection(layer, head, self.at, self.measure)

    def __str__(self) -> str:
        return str(self.selection)


# --- from weights to links -------------------------------------------------------------------------------------------


def all_selections(heads: Sequence[int], measure: Measure = "weights") -> list[HeadSelection]:
    """Every layer, head and decoder step, from the heads of each layer; means where there is more than one."""
    if measure == "contributions":
        return [HeadSelection(at=at, measure=measure) for at in DECODER_SIDES]
    single = [(layer, head) for layer, count in enumerate(heads) for head in range(count)]
    head_means = [(layer, None) for layer, count in enumerate(heads) if count != 1]
    means = [(None, None)] if len(heads) > 1 else []
    return [HeadSelection(*one, at, measure) for one in (*single, *head_means, *means) for at in DECODER_SIDES]


def select_weights(layers: Sequence[Weights | LayerMaps], selection: HeadSelection) -> Weights:
    """From the weights (heads, queries, keys) of each layer the selected ones, or their mean: (queries, keys)."""
    if not layers:
        raise RegardError(NO_CROSS_ATTENTION)
    if selection.layer is not None and selection.layer >= len(layers):
        raise RegardError(f"there is no layer {selection.layer + 1}; this model has {len(layers)}.")
    own = [
        one if isinstance(one, LayerMaps) else LayerMaps(one, one.mean(axis=0))
        for one in (layers if selection.layer is None else [layers[selection.layer]])
    ]
    if selection.head is not None and any(selection.head >= len(one.heads) for one in own):
        fewest = min(len(one.heads) for one in own)
        raise RegardError(f"there is no head {selection.head + 1}; each layer of this model has {fewest}.")
    chosen = [one.together if selection.head is None else one.heads[selection.head] for one in own]
    mean: Weights = np.mean(chosen, axis=0)
    return mean


def word_alignment(
    layers: Sequence[Weights | LayerMaps], source: "TokenSequence", target: "TokenSequence", selection: HeadSelection
) -> WordAlignment:
    """Pieces to words to links: source and target have no BEGIN and END; queries are BEGIN and the target's pieces."""
    first = 1 if selection.at == "input" else 0
    rows = select_weights(layers, selection)[first : first + len(target.pieces)]
    weights = pieces_to_words(rows, source.word_pieces, target.word_pieces)
    return WordAlignment(source.words, target.words, weights, links_from_attention(weights))


def trace_alignment(trace: "Trace", selection: HeadSelection) -> WordAlignment:
    """The word alignment in a trace of a translation."""
    from regard.tracing.trace import TokenSequence

    source, target = trace.source.pieces[:-1], trace.target.pieces[1:]
    layers = cross_maps(trace, selection.measure)
    return word_alignment(layers, TokenSequence.from_pieces(source), TokenSequence.from_pieces(target), selection)


def cross_maps(trace: "Trace", measure: Measure) -> list[Weights | LayerMaps]:
    """The maps of each cross-attention layer of a trace by a measure; contributions are one map for all layers."""
    layers = trace.layers_with_role("cross")
    if measure == "weights":
        return [trace.arrays[layer].weights for layer in layers]
    if measure == "norms":
        return [
            LayerMaps(
                np.stack([trace.norm_weights(layer, head) for head in range(trace.layers[layer].heads)]),
                trace.norm_weights(layer),
            )
            for layer in layers
        ]
    if measure == "value-zeroing":
        return [_without_heads(trace.value_zeroing(layer)) for layer in layers]
    return [_without_heads(trace.contributions().by_source)] if layers else []


def _without_heads(together: Weights) -> LayerMaps:
    return LayerMaps(together[:0].reshape(0, *together.shape), together)


# --- pairs of sentences ----------------------------------------------------------------------------------------------


def align(
    bundle: "Bundle", sources: Sequence[str], targets: Sequence[str], selection: HeadSelection | None = None
) -> list[WordAlignment]:
    """The alignment of each pair of sentences."""
    return list(align_token_pairs(bundle, _encode_pairs(bundle, sources, targets), selection))


def align_token_pairs(
    bundle: "Bundle", pairs: "Sequence[TokenIdPair]", selection: HeadSelection | None = None
) -> Iterator[WordAlignment]:
    """The alignment of each pair of token rows."""
    selection = selection or HeadSelection()
    for layers, source, target in _cross_attention_of_pairs(bundle, pairs, selection.measure):
        yield word_alignment(layers, source, target, selection)


def score_heads(
    bundle: "Bundle",
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[GoldAlignment],
    measure: Measure = "weights",
) -> list[HeadAlignment]:
    """Every selection of layer, head and decoder step, scored against the gold links, the best first.

    The list is empty for a model without cross-attention.
    """
    links: dict[HeadSelection, list[Links]] = {}
    pairs = _encode_pairs(bundle, sources, targets)
    for layers, source, target in _cross_attention_of_pairs(bundle, pairs, measure):
        heads = [len(one.heads if isinstance(one, LayerMaps) else one) for one in layers]
        for selection in all_selections(heads, measure):
            links.setdefault(selection, []).append(word_alignment(layers, source, target, selection).links)
    sure, possible = [one.sure for one in gold], [one.possible for one in gold]
    scores = [
        HeadAlignment.from_score(selection, alignment_error_rate(own, sure, possible))
        for selection, own in links.items()
    ]
    return sorted(scores, key=lambda score: score.aer)


def best_head(
    bundle: "Bundle",
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[GoldAlignment],
    measure: Measure = "weights",
) -> HeadAlignment:
    """Of every layer, head and decoder step, the one with the lowest alignment error rate."""
    scored = score_heads(bundle, sources, targets, gold, measure)
    if not scored:
        raise RegardError(NO_CROSS_ATTENTION)
    return scored[0]


def _encode_pairs(bundle: "Bundle", sources: Sequence[str], targets: Sequence[str]) -> "list[TokenIdPair]":
    if len(sources) != len(targets):
        raise RegardError(f"there are {len(sources)} sources and {len(targets)} targets; give as many of each.")
    both, longest = bundle.tokenizers, bundle.max_source_tokens
    return [
        (both.source.encode(source)[:longest], both.target.encode(target)[:longest])
        for source, target in zip(sources, targets, strict=True)
    ]


def _cross_attention_of_pairs(
    bundle: "Bundle", pairs: "Sequence[TokenIdPair]", measure: Measure
) -> Iterator[tuple[Sequence[Weights | LayerMaps], "TokenSequence", "TokenSequence"]]:
    """The cross-attention layers of each pair with its two sides."""
    from regard.tracing.capture import cross_attention_weights
    from regard.tracing.trace import TokenSequence, trace_pair

    both = bundle.tokenizers
    maps: Iterator[Sequence[Weights | LayerMaps]]
    if measure == "weights":
        maps = cross_attention_weights(bundle, pairs)
    else:  # these need every number of a pass, so pair by pair
        traces = (trace_pair(bundle, *pair) for pair in pairs)
        maps = (cross_maps(one, measure) for one in traces)
    for (source, target), layers in zip(pairs, maps, strict=True):
        yield (
            layers,
            TokenSequence.from_pieces(both.source.pieces(source)),
            TokenSequence.from_pieces(both.target.pieces(target)),
        )

"""A trace: one finished pair as plain data, every layer's and head's attention over it, and the numbers behind that."""

from dataclasses import dataclass, field
from functools import reduce
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from regard.batch import source_of
from regard.bundle import Bundle
from regard.errors import RegardError
from regard.layers.positions import Learned
from regard.metrics import merge_words
from regard.models.interface import Generator, Source
from regard.models.lengths import longest_row
from regard.models.uses import Use
from regard.symbols import END
from regard.tokens import spelled, words
from regard.translation.around import BlockNumbers, BlockSteps, Written
from regard.translation.arrays import Array
from regard.translation.inside import AttentionLayer, Inside, LayerNumbers, Place, inside_of
from regard.translation.likeliest import OutputNumbers, output_numbers
from regard.translation.watched import watched_pass

LONGEST_TRACE = 512  # tokens of one side: every number is kept, and their count grows with the square of the length


class Side(Struct, frozen=True, kw_only=True):
    """The tokens along one side of a map, and the words that they make up."""

    pieces: list[str]
    words: list[list[int]]  # the indices of each word's pieces; specials are words by themselves
    spelled: list[str]  # each word without word marks

    @classmethod
    def of(cls, pieces: list[str]) -> Self:
        """The side that these pieces make."""
        groups = words(pieces)
        read = [spelled([pieces[index] for index in word]) for word in groups]
        return cls(pieces=pieces, words=groups, spelled=read)


class TraceSummary(Struct, frozen=True, kw_only=True):
    """A trace without its arrays, small enough for JSON."""

    source: Side
    target: Side
    text: str
    log_probabilities: list[float]
    layers: list[AttentionLayer]


@dataclass(frozen=True, eq=False)
class LearnedPositions:
    """A model's table of a vector for each position, and how many of them training can have reached."""

    table: Array  # (positions, width)
    trained: int  # BEGIN or END has a position too


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """What a model looked at while it said a target of a source.

    The source's pieces end with `</s>`. The target's begin with `<s>`: they are what the decoder reads, so that row i
    of a map was computed as piece i + 1 was said. A picture's pieces are its places, row by row. A model without
    attention has a trace without layers.
    """

    source: Side
    target: Side
    text: str  # the target as it is written
    log_probabilities: list[float]  # of each target token and of `</s>`
    layers: list[AttentionLayer]  # in the order in which they compute
    numbers: list[LayerNumbers]  # of each layer; the matrices are the model's own, and change if it trains on
    blocks: list[BlockNumbers] = field(default_factory=list)  # of a Transformer
    spoken: OutputNumbers | None = None
    picture: NDArray[np.uint8] | None = None  # (3, size, size) as a captioner saw it, where it was opened for the trace
    learned_positions: LearnedPositions | None = None  # of a model that has such a table

    def __repr__(self) -> str:
        return f"Trace({self.title!r}, {len(self.layers)} attention layers)"

    @property
    def title(self) -> str:
        """Both sides in a line; a language model has one alone, and a picture's is no text."""
        is_pair = self.source.pieces and self.target.pieces and not self.is_of_picture
        return f"{' '.join(self.source.spelled[:-1])} → {self.text}" if is_pair else self.text

    @property
    def is_of_picture(self) -> bool:
        """Whether its source is the places of a picture."""
        return self.picture is not None or any(layer.use.startswith("picture") for layer in self.layers)

    def weights(self, layer: int, head: int | None = None) -> Array:
        """The map (queries, keys) of one head of a layer; None: the mean of its heads."""
        self._check(layer, head)
        weights = self.numbers[layer].weights
        mean: Array = weights.mean(axis=0) if head is None else weights[head]
        return mean

    def inside(self, layer: int, head: int, query: int, *, inner: int = 0, outer: int = 0) -> Inside:
        """The arithmetic of one query in one head, and of the block around it.

        `inner` and `outer` say of which number a feed-forward network's matrices give their row: of W_1, and of W_2.
        """
        self._check(layer, head)
        queries, keys = self.labels(layer)
        if not 0 <= query < len(queries):
            raise RegardError(f"there is no query {query}; this map has {len(queries)}, counted from 0.")
        block = self.block_of(layer)
        steps = None if block is None else self._steps(block, layer, query, Written(inner, outer))
        spoken = self.spoken.at(query) if self.spoken is not None and self.is_followed_by_output(layer) else None
        place = Place(self.layers[layer], head, query, steps, spoken)
        return inside_of(self.numbers[layer], place, queries[query], keys)

    def block_of(self, layer: int) -> BlockNumbers | None:
        """The block that an attention stands in; an RNN's stands in none."""
        return next((one for one in self.blocks if self.layers[layer].name.startswith(f"{one.name}.")), None)

    def is_followed_by_output(self, layer: int) -> bool:
        """Whether what this attention's block (or the RNN around it) gives goes to the output layer."""
        block = self.block_of(layer)
        is_last = block is None or block.is_last
        return self.spoken is not None and is_last and self.layers[layer].queries == self.spoken.side

    def rollout(self) -> Array:
        """How much of each source token (or place) is in each of the encoder's outputs, if attention alone moved it.

        Every layer's mean map, half of it replaced by the residual connection, multiplied up: Abnar & Zuidema, 2020.
        """
        maps = [self.weights(index) for index in [*self.of_use("encoder-self"), *self.of_use("picture-self")]]
        if not maps:
            raise RegardError("this model's encoder has no self-attention to roll out.")
        steps = [(one.astype(np.float64) + np.eye(len(one))) / 2 for one in maps]
        return reduce(lambda below, above: above @ below, steps).astype(np.float32)

    def of_use(self, use: Use) -> list[int]:
        """The indices of the layers with this use, the first layer first."""
        return [index for index, layer in enumerate(self.layers) if layer.use == use]

    def mean(self, use: Use, head: int | None = None) -> Array:
        """The mean map over all layers of a use: of one head of each, or of all their heads."""
        layers = self.of_use(use)
        if not layers:
            raise RegardError(f"this model has no {use} attention; {self._uses()}.")
        mean: Array = np.mean([self.weights(layer, head) for layer in layers], axis=0, dtype=np.float32)
        return mean

    def by_words(self, layer: int, weights: NDArray[np.floating]) -> NDArray[np.float64]:
        """A map over the pieces of this layer's sides as a map over their words."""
        queries, keys = (self._side(name) for name in self._sides(layer))
        return merge_words(weights, keys.words, queries.words)

    def labels(self, layer: int) -> tuple[list[str], list[str]]:
        """The pieces along the rows and the columns of a layer's maps."""
        rows, columns = self._sides(layer)
        return self._side(rows).pieces, self._side(columns).pieces

    def summary(self) -> TraceSummary:
        """All but the arrays."""
        return TraceSummary(
            source=self.source,
            target=self.target,
            text=self.text,
            log_probabilities=self.log_probabilities,
            layers=self.layers,
        )

    def _steps(self, block: BlockNumbers, layer: int, query: int, written: Written) -> BlockSteps:
        for name, number, size in zip(written._fields, written, block.sizes, strict=True):
            if not 0 <= number < size:
                raise RegardError(f"there is no {name} number {number}; there are {size}, counted from 0.")
        return block.at(query, layer, written)

    def _sides(self, layer: int) -> tuple[str, str]:
        return self.layers[layer].queries, self.layers[layer].keys

    def _side(self, name: str) -> Side:
        return self.target if name == "target" else self.source

    def _uses(self) -> str:
        uses = list(dict.fromkeys(layer.use for layer in self.layers))
        return f"it has {', '.join(uses)}" if uses else "it has none at all"

    def _check(self, layer: int, head: int | None) -> None:
        if not 0 <= layer < len(self.layers):
            raise RegardError(f"there is no layer {layer}; this trace has {len(self.layers)}, counted from 0.")
        heads = self.layers[layer].heads
        if head is not None and not 0 <= head < heads:
            raise RegardError(f"there is no head {head}; this layer has {heads}, counted from 0.")


def trace_texts(bundle: Bundle, text: str, target_text: str) -> Trace:
    """The trace of a model that is made to say the target text of the text."""
    both = bundle.tokenizers
    return trace_pair(bundle, both.source.encode(text), both.target.encode(target_text))


def trace_pair(bundle: Bundle, source_tokens: list[int], target_tokens: list[int]) -> Trace:
    """The trace of a model that is made to say the target's tokens of the source's; neither has BEGIN or END."""
    both = bundle.tokenizers
    _check_pair(bundle, len(source_tokens), len(target_tokens))
    device = next(bundle.model.parameters()).device
    side = Side.of([*both.source.pieces(source_tokens), "</s>"])
    return trace_source(bundle, source_of([source_tokens], device=device), side, target_tokens)


def trace_source(bundle: Bundle, source: Source, side: Side, target_tokens: list[int]) -> Trace:
    """The trace of a model that is made to say the target's tokens of one source, whose side is named by the caller."""
    passed = watched_pass(bundle.model, source, target_tokens)
    tokenizer = bundle.tokenizers.target
    return Trace(
        source=side,
        target=Side.of(["<s>", *tokenizer.pieces(target_tokens)]),
        text=tokenizer.decode(target_tokens),
        log_probabilities=passed.log_probabilities,
        layers=passed.seen.layers,
        numbers=passed.seen.numbers,
        blocks=passed.seen.blocks,
        spoken=output_numbers(passed.decoded, [*target_tokens, END], "target", tokenizer.pieces),
        learned_positions=learned_positions(bundle),
    )


def learned_positions(bundle: Bundle) -> LearnedPositions | None:
    """The model's table of a vector for each position, if it has one."""
    table = next((one.weight for one in bundle.model.modules() if isinstance(one, Learned)), None)
    if table is None:
        return None
    return LearnedPositions(table.detach().float().cpu().numpy(), longest_row(bundle.config) + 1)


def _check_pair(bundle: Bundle, source: int, target: int) -> None:
    if not isinstance(bundle.model, Generator):
        raise RegardError("this model says no sequence, so there is nothing to trace. Give a model that translates.")
    if max(source, target) > LONGEST_TRACE:
        raise RegardError(
            f"the source has {source} tokens and the target {target}; a trace holds at most {LONGEST_TRACE} of each. "
            "Give a shorter text, or one sentence of it."
        )

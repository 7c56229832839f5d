"""A trace: one finished pair, the attention of every layer and head over it, the numbers behind it, and positions."""

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Literal, Self

import msgspec
import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray

from regard.attention.hooks import active_edits
from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.config import PositionsName
from regard.errors import RegardError
from regard.layers.positions import LearnedPositions, angles, sinusoidal
from regard.models.interface import AttentionRole, GenerativeModel, Source
from regard.special_tokens import END
from regard.tokenization.text import close_sentence, group_into_words, join_pieces
from regard.tracing.activations import Array
from regard.tracing.arithmetic import (
    AttentionArithmetic,
    AttentionArrays,
    AttentionLayerInfo,
    BlockArithmetic,
    BlockArrays,
    FeedForwardRows,
    QueryLocation,
    attention_arithmetic,
    block_arithmetic,
)
from regard.tracing.capture import capture_pass
from regard.tracing.head_importance import HeadImportance, RemovedHead, head_importance
from regard.tracing.output_layer import OutputArrays, OutputCandidate, logit_lens, output_arrays, top_candidates
from regard.tracing.pass_input import PassInput
from regard.tracing.token_contributions import Contributions, norm_weights, source_and_prefix
from regard.tracing.value_zeroing import value_zeroing

MAX_TRACE_TOKENS = 512  # tokens of one side: every number is kept, and their count grows with the square of the length


class TokenSequence(Struct, frozen=True, kw_only=True):
    """The tokens along one side of a map, and the words that they make up."""

    pieces: list[str]
    word_pieces: list[list[int]]  # the indices of each word's pieces; specials are words by themselves
    words: list[str]  # each word without word marks

    @classmethod
    def from_pieces(cls, pieces: list[str]) -> Self:
        """The sequence of these pieces."""
        groups = group_into_words(pieces)
        read = [join_pieces([pieces[index] for index in word]) for word in groups]
        return cls(pieces=pieces, word_pieces=groups, words=read)


class TraceSummary(Struct, frozen=True, kw_only=True):
    """A trace without its arrays, small enough for JSON."""

    source: TokenSequence
    target: TokenSequence
    text: str
    log_probabilities: list[float]
    layers: list[AttentionLayerInfo]
    unknown_words: list[str] = []  # of the source: words that the vocabulary has no pieces for


@dataclass(frozen=True, eq=False)
class PositionTable:
    """A model's table of a vector for each position, and how many of them training can have reached."""

    table: Array  # (positions, width)
    trained: int  # BEGIN or END has a position too


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """What a model attended to while it generated a target from a source.

    The source's pieces end with `</s>`. The target's begin with `<s>`: they are the decoder's input, so that row i of
    the weights belongs to the step that generates piece i + 1. An image's pieces are its cells, row by row. A model
    without attention has a trace without layers.
    """

    source: TokenSequence
    target: TokenSequence
    text: str  # the target as text
    log_probabilities: list[float]  # of each target token and of `</s>`
    layers: list[AttentionLayerInfo]  # in the order in which they compute
    arrays: list[AttentionArrays]  # of each layer; the matrices are the model's own, and change in training
    blocks: list[BlockArrays] = field(default_factory=list)  # of a Transformer
    prediction: OutputArrays | None = None
    image: NDArray[np.uint8] | None = None  # (3, size, size), the input of a captioner, or of a classifier of images
    is_class: bool = False  # of a classifier: the target is the class, predicted at once
    position_table: PositionTable | None = None  # of a model that has such a table
    passed: PassInput | None = None  # to run the pass again, for measures
    unknown_words: list[str] = field(default_factory=list)  # of the source

    def __repr__(self) -> str:
        return f"Trace({self.title!r}, {len(self.layers)} attention layers)"

    @property
    def title(self) -> str:
        """Both sides in a line; a language model has only one, and an image is not text."""
        is_pair = self.source.pieces and self.target.pieces and not self.is_image
        return f"{' '.join(self.source.words[:-1])} → {self.text}" if is_pair else self.text

    @property
    def is_image(self) -> bool:
        """Whether its source is the cells of an image."""
        return self.image is not None or any(layer.role.startswith("image") for layer in self.layers)

    @property
    def predicted(self) -> TokenSequence:
        """What each row of the target predicts: the next token, after the last one END; or the class."""
        return self.target if self.is_class else TokenSequence.from_pieces([*self.target.pieces[1:], "</s>"])

    def weights(self, layer: int, head: int | None = None) -> Array:
        """The map (queries, keys) of one head of a layer; None: the mean of its heads."""
        self._check(layer, head)
        weights = self.arrays[layer].weights
        mean: Array = weights.mean(axis=0) if head is None else weights[head]
        return mean

    def arithmetic(
        self, layer: int, head: int, query: int, *, fc1_row: int = 0, fc2_row: int = 0
    ) -> AttentionArithmetic:
        """The arithmetic of one query in one head, and of the block around it.

        `fc1_row` and `fc2_row` choose the rows of the feed-forward network's two matrices that are included.
        """
        self._check(layer, head)
        queries, keys = self.labels(layer)
        if not 0 <= query < len(queries):
            raise RegardError(f"there is no query {query}; this map has {len(queries)}, counted from 0.")
        block = self.block_of(layer)
        steps = None if block is None else self._steps(block, layer, query, FeedForwardRows(fc1_row, fc2_row))
        prediction = (
            self.prediction.at(query) if self.prediction is not None and self.is_followed_by_output(layer) else None
        )
        location = QueryLocation(self.layers[layer], head, query, steps, prediction)
        return attention_arithmetic(self.arrays[layer], location, queries[query], keys)

    def block_of(self, layer: int) -> BlockArrays | None:
        """The block of an attention; None for an RNN."""
        return next((one for one in self.blocks if self.layers[layer].name.startswith(f"{one.name}.")), None)

    def is_followed_by_output(self, layer: int) -> bool:
        """Whether the output of this attention's block (or of the RNN) is the input of the output layer."""
        block = self.block_of(layer)
        is_last = block is None or block.is_last
        return self.prediction is not None and is_last and self.layers[layer].queries == self.prediction.side

    def rollout(self) -> Array:
        """How much of each source token (or cell) is in each encoder output, if only attention mixed them.

        Every layer's mean map, half of it replaced by the residual connection, multiplied up: Abnar & Zuidema, 2020.
        """
        maps = [
            self.weights(index)
            for index in [*self.layers_with_role("encoder-self"), *self.layers_with_role("image-self")]
        ]
        if not maps:
            raise RegardError("this model's encoder has no self-attention to roll out.")
        steps = [(one.astype(np.float64) + np.eye(len(one))) / 2 for one in maps]
        return reduce(lambda below, above: above @ below, steps).astype(np.float32)

    def norm_weights(self, layer: int, head: int | None = None) -> Array:
        """The norm of what each query reads from each key (Kobayashi et al., 2020); None: of all heads together."""
        self._check(layer, head)
        return norm_weights(self.arrays[layer], head)

    def value_zeroing(self, layer: int) -> Array:
        """How far the output at each query moves without the value of each key: Mohebbi et al., 2023."""
        self._check(layer, None)
        return value_zeroing(self._pass_input(), self.layers[layer].name, self.arrays[layer].weights.shape[-1])

    def contributions(self) -> Contributions:
        """The share of each source token and of each prefix token in each prediction: Ferrando et al., 2022."""
        return source_and_prefix(self)

    def head_importance(self, position: int | None = None, action: RemovedHead = "zero") -> HeadImportance:
        """The change of the log-probability of the token after a position (None: of all) without each head."""
        return head_importance(self._pass_input(), position, action)

    @torch.inference_mode()
    def logit_lens(self, position: int) -> list[tuple[str, list[OutputCandidate]]]:
        """The most probable tokens at a position, if each block were the last one; the last one is the prediction."""
        if self.prediction is None or not 0 <= position < len(self.prediction.candidates):
            raise RegardError(f"there is no position {position} that predicts a token.")
        chosen = next((one.token for one in self.prediction.candidates[position] if one.is_chosen), None)
        return [
            (name, top_candidates(decoded.logits[0, position].float(), chosen, self.prediction.to_pieces))
            for name, decoded in logit_lens(self._pass_input())
        ]

    def layers_with_role(self, role: AttentionRole) -> list[int]:
        """The indices of the layers with this role, the first layer first."""
        return [index for index, layer in enumerate(self.layers) if layer.role == role]

    def mean(self, role: AttentionRole, head: int | None = None) -> Array:
        """The mean weights over all layers of a role: of one head of each, or of all their heads."""
        layers = self.layers_with_role(role)
        if not layers:
            roles = ", ".join(dict.fromkeys(layer.role for layer in self.layers))
            raise RegardError(f"this model has no {role} attention; it has {roles or 'no attention at all'}.")
        mean: Array = np.mean([self.weights(layer, head) for layer in layers], axis=0, dtype=np.float32)
        return mean

    def labels(self, layer: int) -> tuple[list[str], list[str]]:
        """The pieces along the rows and the columns of a layer's maps."""
        info = self.layers[layer]
        return self._side(info.queries).pieces, self._side(info.keys).pieces

    def summary(self) -> TraceSummary:
        """All but the arrays."""
        return TraceSummary(
            source=self.source,
            target=self.target,
            text=self.text,
            log_probabilities=self.log_probabilities,
            layers=self.layers,
            unknown_words=self.unknown_words,
        )

    def _pass_input(self) -> PassInput:
        if self.passed is None:
            raise RegardError("this trace was made without its model, which the measure has to run. Make it again.")
        return self.passed

    def _steps(self, block: BlockArrays, layer: int, query: int, rows: FeedForwardRows) -> BlockArithmetic:
        for name, number, size in zip(rows._fields, rows, block.sizes, strict=True):
            if not 0 <= number < size:
                raise RegardError(f"there is no {name} {number}; there are {size}, counted from 0.")
        return block_arithmetic(block, query, layer, rows)

    def _side(self, name: str) -> TokenSequence:
        return self.target if name == "target" else self.source

    def _check(self, layer: int, head: int | None) -> None:
        if not 0 <= layer < len(self.layers):
            raise RegardError(f"there is no layer {layer}; this trace has {len(self.layers)}, counted from 0.")
        heads = self.layers[layer].heads
        if head is not None and not 0 <= head < heads:
            raise RegardError(f"there is no head {head}; this layer has {heads}, counted from 0.")


def trace_texts(bundle: Bundle, text: str, target_text: str) -> Trace:
    """The trace of a pair of texts."""
    both = bundle.tokenizers
    tokens = both.source.encode(close_sentence(text, bundle.config.data.closing_mark))
    return trace_pair(bundle, tokens, both.target.encode(target_text), text=text)


def trace_pair(bundle: Bundle, source_tokens: list[int], target_tokens: list[int], *, text: str = "") -> Trace:
    """The trace of a pair of token rows; neither has BEGIN or END. The text names words that the source lost."""
    both = bundle.tokenizers
    _check_pair_length(bundle, len(source_tokens), len(target_tokens))
    device = next(bundle.model.parameters()).device
    side = TokenSequence.from_pieces([*both.source.pieces(source_tokens), "</s>"])
    trace = trace_source(bundle, encode_source_rows([source_tokens], device=device), side, target_tokens)
    unknown = bundle.unknown_words(text or both.source.decode(source_tokens))
    return replace(trace, unknown_words=unknown)


def trace_source(bundle: Bundle, source: Source, side: TokenSequence, target_tokens: list[int]) -> Trace:
    """The trace of a target's tokens for one source; `side` has the names of the source's positions."""
    captured = capture_pass(bundle.model, source, target_tokens)
    tokenizer = bundle.tokenizers.target
    return Trace(
        source=side,
        target=TokenSequence.from_pieces(["<s>", *tokenizer.pieces(target_tokens)]),
        text=tokenizer.decode(target_tokens),
        log_probabilities=captured.log_probabilities,
        layers=captured.capture.layers,
        arrays=captured.capture.arrays,
        blocks=captured.capture.blocks,
        prediction=output_arrays(captured.decoded, [*target_tokens, END], "target", tokenizer.pieces),
        position_table=position_table(bundle),
        passed=PassInput(bundle.model, source, target_tokens, active_edits()),
    )


def position_table(bundle: Bundle) -> PositionTable | None:
    """The model's table of a vector for each position, if it has one."""
    table = next((one.weight for one in bundle.model.modules() if isinstance(one, LearnedPositions)), None)
    if table is None:
        return None
    return PositionTable(table.detach().float().cpu().numpy(), bundle.config.max_training_tokens + 1)


def _check_pair_length(bundle: Bundle, source: int, target: int) -> None:
    if not isinstance(bundle.model, GenerativeModel):
        raise RegardError("this model generates no sequence, so it has no trace. Give a model that translates.")
    if max(source, target) > MAX_TRACE_TOKENS:
        raise RegardError(
            f"the source has {source} tokens and the target {target}; a trace holds at most {MAX_TRACE_TOKENS} of "
            "each. Give a shorter text, or one sentence of it."
        )


class PositionsResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The encoding of each position; of rotary positions the sines and cosines of the angles."""

    kind: PositionsName
    layout: Literal["interleaved", "halves"] | None
    width: int
    values: list[list[float]] | None
    max_positions: int | None = None  # how many positions a learned table has
    trained: int | None = None  # how many of them training can have reached; the others have their initial values


def position_encodings(bundle: Bundle, length: int) -> PositionsResponse:
    """What the model adds to its embeddings, or rotates its queries and keys by, at each position."""
    config: Any = bundle.config.model
    stack: Any = (
        getattr(config, "encoder", None) or getattr(config, "decoder", None) or getattr(config, "transformer", None)
    )
    width, places = getattr(stack, "width", 0), torch.arange(length)
    match getattr(config, "positions", "none"):
        case "sinusoidal":
            values = sinusoidal(places, width, config.sinusoidal_base).tolist()
            return PositionsResponse(kind="sinusoidal", layout="interleaved", width=width, values=values)
        case "learned":
            table = next(one for one in bundle.model.modules() if isinstance(one, LearnedPositions)).weight
            return PositionsResponse(
                kind="learned",
                layout=None,
                width=width,
                values=table.detach()[:length].tolist(),
                max_positions=len(table),
                trained=bundle.config.max_training_tokens + 1,  # BEGIN or END has a position too
            )
        case "rotary":
            width //= stack.heads
            turned = angles(places, width, config.rotary_base)
            values = torch.cat([turned.sin(), turned.cos()], dim=-1).tolist()
            return PositionsResponse(kind="rotary", layout="halves", width=width, values=values)
        case "relative":  # no vectors: a bias of the scores
            return PositionsResponse(kind="relative", layout=None, width=stack.heads, values=None)
        case _:
            return PositionsResponse(kind="none", layout=None, width=width, values=None)

"""The own API's part for looking inside: traces and their numbers, how well each head aligns, position encodings.

`layer` counts a trace's layers as its summary lists them; of an alignment and of the readings it counts the layers in
which the target looks at the source, as `layer` of an `AttentionLayer` does.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.metrics import links_from_weights, merge_words
from regard.serve.answers import as_json
from regard.serve.api_translation import Count, Name
from regard.serve.models import ServedModel
from regard.serve.openapi import BYTES, ONE_SENTENCE, Paths, answers, asks, takes
from regard.serve.places import PositionsAnswer, positions_of
from regard.serve.readings import Readings, ReadingsAnswer
from regard.serve.refusals import Refusal
from regard.serve.requests import query_number, query_number_or_mean, read_json
from regard.serve.search import Search, Wish
from regard.serve.service import Service
from regard.serve.spans import TranslationRecord, record_of
from regard.translation.inside import Inside
from regard.translation.trace import Trace, TraceSummary, trace_pair, trace_texts
from regard.translation.translator import Translator

LONGEST_POSITIONS = 2048


class TraceRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to trace: of its translation, or of a target that is given."""

    text: Annotated[str, Meta(min_length=1)]
    model: Name | None = None
    target: str | None = None
    beam: Count | None = None


class TraceAnswer(TraceSummary, frozen=True, kw_only=True):
    """A trace's summary, and the id by which its numbers are asked for."""

    id: str
    model: str
    translation: TranslationRecord | None


class AlignmentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How much each target word looks at each source word, and the links that follow."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    links: list[tuple[int, int]]


class TraceRoutes:
    """Traces, readings, positions."""

    def __init__(self, service: Service, readings: Readings) -> None:
        self.service, self.measured = service, readings

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/traces", self.trace, methods=["POST"]),
            Route("/api/v1/traces/{id}/weights", self.weights),
            Route("/api/v1/traces/{id}/inside", self.inside),
            Route("/api/v1/traces/{id}/rollout", self.rollout),
            Route("/api/v1/traces/{id}/alignment", self.alignment),
            Route("/api/v1/models/{name}/readings", self.readings),
            Route("/api/v1/models/{name}/positions", self.positions),
        ]

    async def trace(self, request: Request) -> Response:
        """A new trace, to be asked about."""
        asked = await read_json(request, self.service.limits, TraceRequest)
        self.service.limits.check_texts([asked.text, asked.target or ""])
        model = self.service.choose(model=asked.model)
        work, cost = self._work(model, asked)
        made, translation = await self.service.run_alone(request, work, cost=cost)
        summary = made.summary()
        fields = {name: getattr(summary, name) for name in TraceSummary.__struct_fields__}
        identity = self.service.traces.keep(made)
        return as_json(TraceAnswer(id=identity, model=model.name, translation=translation, **fields))

    def _work(self, model: ServedModel, asked: TraceRequest) -> "tuple[Callable[[], Traced], int]":
        """What makes the trace, and about how many tokens that costs."""
        if (language := model.language) is not None:
            if asked.target is not None or asked.beam is not None:
                raise Refusal(400, "no_target", "This model reads the text itself. Leave target and beam out.")
            return (lambda: (language.trace(asked.text), None)), len(asked.text)
        search = model.search(Wish(beam=asked.beam, alignments=True), self.service.limits)
        return _tracing(model.inspected, search, asked), 2 * search.cost(asked.text)

    async def weights(self, request: Request) -> Response:
        """A map."""
        layer, head = query_number(request, "layer"), query_number_or_mean(request, "head")
        return as_floats(self._kept(request).weights(layer, head))

    async def inside(self, request: Request) -> Response:
        """The arithmetic of one query."""
        place = [query_number(request, name) for name in ("layer", "head", "query")]
        inner, outer = (query_number(request, name, default=0) for name in ("inner", "outer"))
        kept = self._kept(request)
        return await asyncio.to_thread(lambda: as_json(kept.inside(*place, inner=inner, outer=outer)))

    async def rollout(self, request: Request) -> Response:
        """The encoder's attention, layer upon layer."""
        return as_floats(self._kept(request).rollout())

    async def alignment(self, request: Request) -> Response:
        """Which words look at which."""
        layer, head = (query_number_or_mean(request, name) for name in ("layer", "head"))
        when = request.query_params.get("when", "said")
        if when not in ("said", "read"):
            raise Refusal(400, "bad_query", "when must be said or read.")
        return as_json(alignment_of(self._kept(request), layer, head, when == "read"))

    async def readings(self, request: Request) -> Response:
        """How well each head aligns."""
        return as_json(await self.measured.of(self.service.models.named(request.path_params["name"])))

    async def positions(self, request: Request) -> Response:
        """What a model knows of positions."""
        length = query_number(request, "length", default=64, highest=LONGEST_POSITIONS)
        model = self.service.models.named(request.path_params["name"])
        return await asyncio.to_thread(lambda: as_json(positions_of(model.bundle, length)))

    def _kept(self, request: Request) -> Trace:
        return self.service.traces.get(request.path_params["id"])


def as_floats(array: NDArray[np.float32]) -> Response:
    """A matrix as little-endian float32, row by row, its shape in a header."""
    shape = ",".join(map(str, array.shape))
    return Response(array.astype("<f4").tobytes(), media_type=BYTES, headers={"x-regard-shape": shape})


Traced = tuple[Trace, TranslationRecord | None]


def _tracing(translator: Translator, search: Search, asked: TraceRequest) -> Callable[[], Traced]:
    bundle = translator.bundle

    def work() -> Traced:
        if asked.target is not None:
            return trace_texts(bundle, asked.text, asked.target), None
        output = search.run([asked.text])[0][0]
        trace = trace_pair(bundle, bundle.tokenizers.source.encode(asked.text), output.tokens)
        return trace, record_of(asked.text, output)

    return work


def alignment_of(trace: Trace, layer: int | None, head: int | None, when_read: bool) -> AlignmentAnswer:
    """The word-level alignment that one way of reading the attention gives."""
    cross = trace.of_use("cross")
    if not cross:
        raise Refusal(409, "no_attention", "In this model the target does not look at the source.")
    if layer is not None and layer >= len(cross):
        raise Refusal(404, "no_layer", f"This model has {len(cross)} layers of that kind, counted from 0.")
    rows = trace.mean("cross", head) if layer is None else trace.weights(cross[layer], head)
    source_words, target_words = trace.source.words[:-1], [[i - 1 for i in word] for word in trace.target.words[1:]]
    said = len(trace.target.pieces) - 1
    first = 1 if when_read else 0
    merged = merge_words(rows[first : first + said], source_words, target_words)
    return AlignmentAnswer(
        source_words=trace.source.spelled[:-1],
        target_words=trace.target.spelled[1:],
        weights=merged.tolist(),
        links=sorted(links_from_weights(merged)),
    )


_IDENTITY = asks("id", {"type": "string"}, place="path")
_NAME = asks("name", {"type": "string"}, place="path")
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**9}
_NUMBER_OR_MEAN = {"anyOf": [_NUMBER, {"const": "mean"}]}
SHAPE = {"X-Regard-Shape": {"description": "Rows, columns.", "schema": {"type": "string"}, "required": True}}
FLOATS = answers(None, media=BYTES, headers=SHAPE)

ROUTES_SCHEMA: Paths = {
    "/api/v1/traces": {
        "post": {
            "summary": "Trace a text: all that the model computes as it says the translation, or a given target; of a "
            "language model, as it reads the text itself.",
            "description": ONE_SENTENCE,
            "requestBody": takes(TraceRequest),
            "responses": answers(TraceAnswer),
        }
    },
    "/api/v1/traces/{id}/weights": {
        "get": {
            "summary": "A map: little-endian float32, queries by keys.",
            "parameters": [_IDENTITY, asks("layer", _NUMBER, required=True), asks("head", _NUMBER_OR_MEAN)],
            "responses": FLOATS,
        }
    },
    "/api/v1/traces/{id}/inside": {
        "get": {
            "summary": "The arithmetic of one query in one head, and of the block around it.",
            "description": "inner and outer: which rows of the feed-forward network's W_1 and W_2 are given.",
            "parameters": [
                _IDENTITY,
                *(asks(name, _NUMBER, required=True) for name in ("layer", "head", "query")),
                *(asks(name, _NUMBER) for name in ("inner", "outer")),
            ],
            "responses": answers(Inside),
        }
    },
    "/api/v1/traces/{id}/rollout": {
        "get": {"summary": "The encoder's attention rolled out.", "parameters": [_IDENTITY], "responses": FLOATS}
    },
    "/api/v1/traces/{id}/alignment": {
        "get": {
            "summary": "Which words look at which, and the links that follow.",
            "parameters": [
                _IDENTITY,
                asks("layer", _NUMBER_OR_MEAN),
                asks("head", _NUMBER_OR_MEAN),
                asks("when", {"enum": ["said", "read"]}),
            ],
            "responses": answers(AlignmentAnswer),
        }
    },
    "/api/v1/models/{name}/readings": {
        "get": {
            "summary": "Every way to read links off the attention, with its alignment error, the best first.",
            "parameters": [_NAME],
            "responses": answers(ReadingsAnswer),
        }
    },
    "/api/v1/models/{name}/positions": {
        "get": {
            "summary": "The model's position encoding.",
            "parameters": [
                _NAME,
                asks("length", {"type": "integer", "minimum": 0, "maximum": LONGEST_POSITIONS}),
            ],
            "responses": answers(PositionsAnswer),
        }
    },
}

"""/api/v1 for traces: attention weights, arithmetic, rollout, word alignment, position encodings, and head alignment.

`layer` counts the layers of a trace as its summary lists them. For an alignment it counts the cross-attention layers,
as `layer` of an `AttentionLayerInfo` does.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.server.api.runs import GoldFiles
from regard.server.api.text import BeamSize, ShortText, TranslationRecord, translation_record
from regard.server.batcher import DecodeRequest
from regard.server.endpoint import (
    FLOATS,
    ONE_SENTENCE,
    Endpoint,
    Number,
    NumberOrMean,
    floats_response,
    index_or_none,
    json_response,
)
from regard.server.errors import ApiError
from regard.server.models import ServedModel
from regard.server.service import Service
from regard.tracing.alignment import DecoderSide, HeadSelection, score_heads, trace_alignment
from regard.tracing.arithmetic import AttentionArithmetic, iter_arrays
from regard.tracing.trace import PositionsResponse, Trace, TraceSummary, position_encodings, trace_pair, trace_texts

MAX_SHOWN_POSITIONS = 2048
MAX_CACHE_BYTES = 256 * 2**20

TracedTranslation = tuple[Trace, TranslationRecord | None]


class TraceRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to trace, with its translation by the model or with a given target."""

    text: Annotated[str, Meta(min_length=1)]
    model: ShortText | None = None
    target: str | None = None
    beam_size: BeamSize | None = None


class TraceResponse(TraceSummary, frozen=True, kw_only=True):
    """The summary of a trace, and its id for further requests."""

    id: str
    model: str
    translation: TranslationRecord | None


class WeightsQuery(msgspec.Struct, frozen=True):
    """An attention map: a layer, and a head or the mean of the heads."""

    layer: Number
    head: NumberOrMean = "mean"


class ArithmeticQuery(msgspec.Struct, frozen=True):
    """One query of one head, and the rows of the two feed-forward matrices to include."""

    layer: Number
    head: Number
    query: Number
    fc1_row: Number = 0
    fc2_row: Number = 0


class AlignmentQuery(msgspec.Struct, frozen=True):
    """A cross-attention layer and head, or their mean; `at` is the decoder side whose query belongs to a word."""

    layer: NumberOrMean = "mean"
    head: NumberOrMean = "mean"
    at: Literal["output", "input"] = "output"


class PositionsQuery(msgspec.Struct, frozen=True):
    """How many positions to return."""

    length: Annotated[int, Meta(ge=0, le=MAX_SHOWN_POSITIONS)] = 64


class AlignmentResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The attention weight of each target word on each source word, and the links that follow."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    links: list[tuple[int, int]]


class HeadAlignmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A head selection and its alignment error rate; None for a layer or head is their mean."""

    layer: int | None
    head: int | None
    at: DecoderSide
    aer: float


class HeadAlignmentResponse(msgspec.Struct, frozen=True):
    """All head selections, the best first."""

    heads: list[HeadAlignmentRecord]


class TraceCache:
    """The latest traces by id, within a bound on memory; the least recently used goes first."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._traces: OrderedDict[str, tuple[Trace, int]] = OrderedDict()

    def put(self, trace: Trace) -> str:
        """Store the trace; returns its new id."""
        trace_id, size = secrets.token_urlsafe(12), trace_bytes(trace)
        self._traces[trace_id] = (trace, size)
        self.bytes += size
        while self.bytes > self.max_bytes and len(self._traces) > 1:
            self.bytes -= self._traces.popitem(last=False)[1][1]
        return trace_id

    def get(self, trace_id: str) -> Trace:
        """The trace of that id."""
        if trace_id not in self._traces:
            raise ApiError(404, "trace_gone", "There is no trace of that id any more. Request it again.")
        self._traces.move_to_end(trace_id)
        return self._traces[trace_id][0]


def trace_bytes(trace: Trace) -> int:
    """The memory of the arrays of a trace, without the model's matrices, which it shares."""
    return sum(array.nbytes for array in iter_arrays([*trace.arrays, *trace.blocks, trace.prediction]))


class HeadAlignmentCache:
    """The alignment error rates of every head, measured once per loaded model in a thread."""

    def __init__(self, gold: GoldFiles) -> None:
        self.gold = gold
        self._measured: dict[str, tuple[object, asyncio.Task[HeadAlignmentResponse]]] = {}

    async def get(self, model: ServedModel) -> HeadAlignmentResponse:
        """The measurement of a model; from then on the model's word alignments use the best head."""
        pipeline, known = model.pipeline, self._measured.get(model.name)
        if known is None or known[0] is not pipeline:
            known = (pipeline, asyncio.ensure_future(self._measure(model)))
            self._measured[model.name] = known
        try:
            return await asyncio.shield(known[1])
        except Exception:
            self._measured.pop(model.name, None)  # missing files may exist at the next request
            raise

    async def _measure(self, model: ServedModel) -> HeadAlignmentResponse:
        pipeline, bundle = model.pipeline, model.bundle
        if not model.has_cross_attention:
            raise no_cross_attention()
        gold = await asyncio.to_thread(lambda: self.gold.load(model.languages).first_sentences())
        if not gold.sources:
            raise ApiError(
                409, "no_gold", "There are no gold alignments for these languages. Start the server with --gold PREFIX."
            )
        scored = await asyncio.to_thread(score_heads, bundle, gold.sources, gold.targets, gold.links)
        if model.pipeline is pipeline:  # and no newer version was loaded meanwhile
            model.head_selection = scored[0].selection
        return HeadAlignmentResponse(
            [
                HeadAlignmentRecord(layer=one.selection.layer, head=one.selection.head, at=one.at, aer=one.aer)
                for one in scored
            ]
        )


def no_cross_attention() -> ApiError:
    """The error for a model whose target side has no attention over the source."""
    return ApiError(409, "no_attention", "This model has no cross-attention. Choose one that has.")


async def trace(service: Service, body: TraceRequest, request: Request) -> TraceResponse:  # noqa: ARG001
    """A new trace."""
    service.limits.check_texts([body.text, body.target or ""])
    model = service.models.choose(name=body.model)
    work, cost = _trace_work(service, model, body)
    new, translation = await service.batcher.run_exclusive(work, cost=cost)
    summary = new.summary()
    fields = {name: getattr(summary, name) for name in TraceSummary.__struct_fields__}
    trace_id = service.component(TraceCache).put(new)
    return TraceResponse(id=trace_id, model=model.name, translation=translation, **fields)


def _trace_work(
    service: Service, model: ServedModel, body: TraceRequest
) -> tuple[Callable[[], TracedTranslation], int]:
    """The function that makes the trace, and its approximate cost in tokens."""
    pipeline = model.pipeline
    if isinstance(pipeline, TextGenerator | MaskFiller):
        if body.target is not None or body.beam_size is not None:
            raise ApiError(400, "no_target", "A language model traces the text itself. Remove target and beam_size.")
        return (lambda: (pipeline.trace(body.text), None)), len(body.text)
    job = model.translate_job(DecodeRequest(beam_size=body.beam_size, align=True), service.limits)
    bundle = model.bundle

    def work() -> TracedTranslation:
        if body.target is not None:
            return trace_texts(bundle, body.text, body.target), None
        output = job.run([body.text])[0][0]
        new = trace_pair(bundle, bundle.tokenizers.source.encode(body.text), output.tokens)
        return new, translation_record(body.text, output)

    return work, 2 * job.cost(body.text)


async def weights(service: Service, query: WeightsQuery, request: Request) -> Response:
    """An attention map."""
    return floats_response(_cached(service, request).weights(query.layer, index_or_none(query.head)))


async def arithmetic(service: Service, query: ArithmeticQuery, request: Request) -> Response:
    """The arithmetic of one query, encoded in a thread since it is long."""
    cached = _cached(service, request)
    return await asyncio.to_thread(
        lambda: json_response(
            cached.arithmetic(query.layer, query.head, query.query, fc1_row=query.fc1_row, fc2_row=query.fc2_row)
        )
    )


async def rollout(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
    """Attention rollout of the encoder."""
    return floats_response(_cached(service, request).rollout())


async def alignment(service: Service, query: AlignmentQuery, request: Request) -> AlignmentResponse:
    """The word alignment of one head selection."""
    cached = _cached(service, request)
    if not cached.layers_with_role("cross"):
        raise no_cross_attention()
    selection = HeadSelection(index_or_none(query.layer), index_or_none(query.head), query.at)
    words = trace_alignment(cached, selection)
    return AlignmentResponse(
        source_words=words.source_words,
        target_words=words.target_words,
        weights=words.weights.tolist(),
        links=sorted(words.links),
    )


async def head_alignment(service: Service, query: None, request: Request) -> HeadAlignmentResponse:  # noqa: ARG001
    """The alignment error rate of every head."""
    return await service.component(HeadAlignmentCache).get(service.models.get(request.path_params["name"]))


async def positions(service: Service, query: PositionsQuery, request: Request) -> Response:
    """The position encoding of a model."""
    bundle = service.models.get(request.path_params["name"]).bundle
    return await asyncio.to_thread(lambda: json_response(position_encodings(bundle, query.length)))


def _cached(service: Service, request: Request) -> Trace:
    return service.component(TraceCache).get(request.path_params["id"])


ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/api/v1/traces",
        handler=trace,
        body=TraceRequest,
        response=TraceResponse,
        uses_queue=True,
        summary="Trace a text: all that the model computes for its translation or for a given target; with a language "
        "model, for the text itself.",
        description=ONE_SENTENCE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/traces/{id}/weights",
        handler=weights,
        query=WeightsQuery,
        response=FLOATS,
        summary="An attention map: little-endian float32, queries by keys.",
    ),
    Endpoint(
        method="GET",
        path="/api/v1/traces/{id}/arithmetic",
        handler=arithmetic,
        query=ArithmeticQuery,
        response=AttentionArithmetic,
        summary="The arithmetic of one query in one head, and of the block around it.",
        description="fc1_row and fc2_row: the rows of the two feed-forward matrices to include.",
    ),
    Endpoint(
        method="GET",
        path="/api/v1/traces/{id}/rollout",
        handler=rollout,
        response=FLOATS,
        summary="Attention rollout of the encoder.",
    ),
    Endpoint(
        method="GET",
        path="/api/v1/traces/{id}/alignment",
        handler=alignment,
        query=AlignmentQuery,
        response=AlignmentResponse,
        summary="The attention between words, and the links that follow.",
    ),
    Endpoint(
        method="GET",
        path="/api/v1/models/{name}/head-alignment",
        handler=head_alignment,
        response=HeadAlignmentResponse,
        has_deadline=False,
        summary="The alignment error rate of every head and mean of heads, the best first.",
    ),
    Endpoint(
        method="GET",
        path="/api/v1/models/{name}/positions",
        handler=positions,
        query=PositionsQuery,
        response=PositionsResponse,
        summary="The position encoding of the model.",
    ),
]

"""/api/v1 for traces: attention weights, arithmetic, rollout, word alignment, position encodings, and head alignment.

`layer` counts the layers of a trace as its summary lists them. For an alignment it counts the cross-attention layers,
as `layer` of an `AttentionLayerInfo` does.
"""

import asyncio
import functools
import secrets
from collections import OrderedDict
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.decoding.beam_tree import BeamTree, NodeState, record_beam_tree
from regard.inference.classifier import Classifier
from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translation
from regard.interventions import format_intervention
from regard.server.api.runs import GoldFiles
from regard.server.api.text import BeamSize, InterventionFields, ShortText, TranslationRecord, translation_record
from regard.server.batcher import DecodeRequest, TranslateJob
from regard.server.endpoint import (
    FLOATS,
    ONE_SENTENCE,
    Endpoints,
    Number,
    NumberOrMean,
    floats_response,
    index_or_none,
    json_response,
)
from regard.server.errors import ApiError
from regard.server.models import ServedModel
from regard.server.service import Service
from regard.special_tokens import END
from regard.tracing.alignment import DecoderSide, HeadSelection, score_heads, trace_alignment
from regard.tracing.arithmetic import AttentionArithmetic, iter_arrays
from regard.tracing.interventions import check_positions, intervene
from regard.tracing.trace import (
    MAX_TRACE_TOKENS,
    PositionsResponse,
    Trace,
    TraceSummary,
    position_encodings,
    trace_pair,
    trace_texts,
)

MAX_SHOWN_POSITIONS = 2048
MAX_CACHE_BYTES = 256 * 2**20

ENDPOINTS = Endpoints()


class TraceRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    interventions: list[str]


class BeamRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text whose beam search is shown."""

    text: Annotated[str, Meta(min_length=1)]
    model: ShortText | None = None
    beam_size: BeamSize | None = None


class BeamNodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A token after a prefix: the number of its parent (None: the start), and the log-probability up to here."""

    piece: str
    parent: int | None
    log_probability: float
    state: NodeState
    score: float | None
    is_best: bool


class BeamResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Every prefix that was once in the beam, each after its parent, and the outputs, the best first."""

    model: str
    beam_size: int
    nodes: list[BeamNodeRecord]
    outputs: list[TranslationRecord]


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


@ENDPOINTS.add("POST", "/api/v1/traces", uses_queue=True, description=ONE_SENTENCE)
async def trace(service: Service, body: TraceRequest) -> TraceResponse:
    """Trace a text: all that the model computes for its translation or for a given target.

    With a language model, all that it computes for the text itself.
    """
    service.limits.check_texts([body.text, body.target or ""])
    model = service.models.choose(name=body.model)
    pipeline, output, interventions = model.pipeline, None, body.read(service.limits)
    if isinstance(pipeline, Classifier) and pipeline.reads_images:
        raise ApiError(409, "wrong_task", "This model classifies images. Use /api/v1/classify/image.")
    if isinstance(pipeline, TextGenerator | MaskFiller | Classifier):
        if body.target is not None or body.beam_size is not None:
            raise ApiError(400, "no_target", "This model traces the text itself. Remove target and beam_size.")

        def work() -> Trace:
            with intervene(pipeline, *interventions, sample=body.sample or [body.text]):
                return pipeline.trace(body.text)

        new = await service.batcher.run_exclusive(work, cost=len(body.text))
    else:
        options = DecodeRequest(body.beam_size, 1, True, interventions, tuple(body.sample))
        job = model.translate_job(options, service.limits)
        traced = functools.partial(trace_translation, model.bundle, job, body.text, body.target)
        new, output = await service.batcher.run_exclusive(traced, cost=2 * job.cost(body.text))
    check_positions(interventions, new)
    summary = new.summary()
    return TraceResponse(
        id=service.component(TraceCache).put(new),
        model=model.name,
        translation=None if output is None else translation_record(body.text, output),
        interventions=[format_intervention(one) for one in interventions],
        **{name: getattr(summary, name) for name in TraceSummary.__struct_fields__},
    )


@ENDPOINTS.add("POST", "/api/v1/beam", uses_queue=True, description=ONE_SENTENCE)
async def beam(service: Service, body: BeamRequest) -> BeamResponse:
    """The tree of a beam search: what it kept, dropped and finished at every step."""
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model)
    options = DecodeRequest(body.beam_size, 1, False, body.read(service.limits), tuple(body.sample))
    job, bundle = model.translate_job(options, service.limits), model.bundle
    row = job.translator.encode_source(body.text)
    if not 1 <= len(row) <= MAX_TRACE_TOKENS:
        raise ApiError(413, "text_too_long", f"A tree takes a text of 1 to {MAX_TRACE_TOKENS} tokens. Send less.")

    def record() -> BeamTree:
        network: Any = bundle.model
        source = encode_source_rows([row], device=next(network.parameters()).device)
        with job.intervene([body.text]):
            return record_beam_tree(network, source, job.config.with_options(nbest=job.config.beam_size))

    tree = await service.batcher.run_exclusive(record, cost=job.cost(body.text))
    target = bundle.tokenizers.target
    pieces = ["</s>" if one.token == END else target.pieces([one.token])[0] for one in tree.nodes]
    return BeamResponse(
        model=model.name,
        beam_size=job.config.beam_size,
        nodes=[
            BeamNodeRecord(
                piece=piece,
                parent=one.parent,
                log_probability=one.log_probability,
                state=one.state,
                score=one.score,
                is_best=one.is_best,
            )
            for piece, one in zip(pieces, tree.nodes, strict=True)
        ],
        outputs=[translation_record(body.text, Translation.from_hypothesis(one, target)) for one in tree.outputs],
    )


def trace_translation(
    bundle: Bundle, job: TranslateJob, text: str, target: str | None
) -> tuple[Trace, Translation | None]:
    """The trace of a text with the given target, or with its translation."""
    row = job.translator.encode_source(text)
    if len(row) > MAX_TRACE_TOKENS:  # checked before the translation, which would take long for nothing
        raise ApiError(413, "text_too_long", f"A trace takes a text of at most {MAX_TRACE_TOKENS} tokens. Send less.")
    output = job.run([text])[0][0] if target is None else None
    with job.intervene([text]):
        if output is None:
            return trace_texts(bundle, text, target or ""), None
        return trace_pair(bundle, row, output.tokens, text=text), output


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/weights", response=FLOATS)
async def weights(service: Service, trace_id: str, query: WeightsQuery) -> Response:
    """An attention map: little-endian float32, queries by keys."""
    return floats_response(service.component(TraceCache).get(trace_id).weights(query.layer, index_or_none(query.head)))


@ENDPOINTS.add(
    "GET",
    "/api/v1/traces/{trace_id}/arithmetic",
    response=AttentionArithmetic,
)
async def arithmetic(service: Service, trace_id: str, query: ArithmeticQuery) -> Response:
    """The arithmetic of one query in one head, and of the block around it.

    fc1_row and fc2_row: the rows of the two feed-forward matrices to include.
    """
    cached = service.component(TraceCache).get(trace_id)
    return await asyncio.to_thread(
        lambda: json_response(
            cached.arithmetic(query.layer, query.head, query.query, fc1_row=query.fc1_row, fc2_row=query.fc2_row)
        )
    )


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/rollout", response=FLOATS)
async def rollout(service: Service, trace_id: str) -> Response:
    """Attention rollout of the encoder."""
    return floats_response(service.component(TraceCache).get(trace_id).rollout())


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/alignment")
async def alignment(service: Service, trace_id: str, query: AlignmentQuery) -> AlignmentResponse:
    """The attention between words, and the links that follow."""
    cached = service.component(TraceCache).get(trace_id)
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


@ENDPOINTS.add("GET", "/api/v1/models/{name}/head-alignment", has_deadline=False)
async def head_alignment(service: Service, name: str) -> HeadAlignmentResponse:
    """The alignment error rate of every head and mean of heads, the best first."""
    return await service.component(HeadAlignmentCache).get(service.models.get(name))


@ENDPOINTS.add("GET", "/api/v1/models/{name}/positions", response=PositionsResponse)
async def positions(service: Service, name: str, query: PositionsQuery) -> Response:
    """The position encoding of the model."""
    bundle = service.models.get(name).bundle
    return await asyncio.to_thread(lambda: json_response(position_encodings(bundle, query.length)))

"""/api/v1 for "what if": which interventions fit a model, and measures of a trace that say what its parts do.

A trace that was made with interventions is measured with them. Measures that run the model wait in the queue.
"""

import asyncio
import functools
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from regard.interventions import AttentionRole, Part, PatchSite, Side, StackName, SublayerName
from regard.models.decoder_only import DecoderOnlyModel
from regard.server.api.traces import TraceCache, WeightsQuery
from regard.server.endpoint import FLOATS, Endpoints, Number, floats_response, index_or_none
from regard.server.errors import ApiError
from regard.server.service import Service
from regard.tracing.model_parts import ModelParts
from regard.tracing.output_layer import OutputCandidate
from regard.tracing.trace import Trace

ENDPOINTS = Endpoints()


class AttentionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An attention whose heads can change; `layer` counts within its role."""

    role: AttentionRole
    layer: int
    heads: int


class StackRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stack of Transformer blocks, and the sub-layers of each."""

    stack: StackName
    layers: int
    sublayers: list[SublayerName]


class FittingInterventions(msgspec.Struct, frozen=True, kw_only=True):
    """What can change in a model."""

    attentions: list[AttentionRecord]
    stacks: list[StackRecord]
    parts: list[Part]
    sides: list[Side]  # whose tokens can be hidden
    patch_sites: list[PatchSite]


class PredictedToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that may come next."""

    piece: str
    rank: int  # counted from 1
    probability: float
    is_chosen: bool


class PredictionsResponse(msgspec.Struct, frozen=True, kw_only=True):
    """At every position of a side the most probable tokens, and the chosen one."""

    side: Side
    positions: list[list[PredictedToken]]


class PredictionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The temperature by which the logits are divided."""

    temperature: Annotated[float, Meta(ge=0.01, le=100)] = 1.0


class ImportanceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A position, or the whole output; a head that is removed is zero or has uniform weights."""

    position: Number | None = None
    action: Literal["zero", "uniform"] = "zero"


class LayerImportanceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The change of the log-probability without each head of an attention."""

    name: str
    role: AttentionRole
    layer: int
    changes: list[float]


class HeadImportanceResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Which heads a token needs: the change of its log-probability without each; negative: it needs the head."""

    position: int | None
    piece: str | None  # None for the whole output
    log_probability: float
    layers: list[LayerImportanceRecord]


class LayerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A layer of a trace."""

    layer: Number


class PositionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A position of a trace."""

    position: Number


class ContributionsResponse(msgspec.Struct, frozen=True, kw_only=True):
    """For each target position, the shares of source and prefix, which sum to one, and those of their tokens."""

    source: list[float]
    prefix: list[float]
    by_source: list[list[float]]
    by_prefix: list[list[float]]


class LensLayer(msgspec.Struct, frozen=True, kw_only=True):
    """What the output layer makes of the output of one block."""

    name: str
    tokens: list[PredictedToken]


class LogitLensResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Every block, the first one first; the last one is the prediction."""

    layers: list[LensLayer]


@ENDPOINTS.add("GET", "/api/v1/models/{name}/interventions")
async def fitting_interventions(service: Service, name: str) -> FittingInterventions:
    """Which interventions fit a model."""
    model = service.models.get(name).bundle.model
    parts = ModelParts(model)
    attentions, stacks = parts.attentions, parts.stacks
    has: dict[Part, bool] = {
        "scaling": any(one.module.score.name == "scaled_dot" for one in attentions),
        "causal-mask": any(one.role == "decoder-self" for one in attentions),
        "positions": any(True for _ in parts.positions()),
        "residual": any(True for _ in parts.residuals()),
        "layer-norm": any(True for _ in parts.norms()),
        "layer": bool(stacks),
    }
    sites: dict[PatchSite, bool] = {
        "head": bool(attentions),
        "block": bool(stacks),
        "memory": not isinstance(model, DecoderOnlyModel),
    }
    is_image = "image" in parts.embeddings  # which no text can replace
    return FittingInterventions(
        attentions=[AttentionRecord(role=one.role, layer=one.layer, heads=one.heads) for one in attentions],
        stacks=[
            StackRecord(stack=name, layers=len(stack.blocks), sublayers=parts.sublayers(name))
            for name, stack in stacks.items()
        ],
        parts=[part for part, is_there in has.items() if is_there],
        sides=list(parts.embeddings),
        patch_sites=[site for site, is_there in sites.items() if is_there and not is_image],
    )


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/predictions")
async def predictions(service: Service, trace_id: str, query: PredictionsQuery) -> PredictionsResponse:
    """The most probable next tokens at every position of a trace, at a temperature."""
    prediction = service.component(TraceCache).get(trace_id).prediction
    if prediction is None:
        raise ApiError(409, "no_prediction", "This trace predicts no tokens.")
    positions = await asyncio.to_thread(prediction.at_temperature, query.temperature)
    return PredictionsResponse(side=prediction.side, positions=[_tokens(one) for one in positions])


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/head-importance", uses_queue=True)
async def head_importance(service: Service, trace_id: str, query: ImportanceQuery) -> HeadImportanceResponse:
    """Which heads a token needs: every head is removed in one batch."""
    trace = service.component(TraceCache).get(trace_id)
    heads = sum(one.heads for one in trace.layers)
    if not heads:
        raise ApiError(409, "no_attention", "This model has no attention. Choose one that has.")
    work = functools.partial(trace.head_importance, query.position, query.action)
    measured = await service.batcher.run_exclusive(work, cost=heads * _tokens_of(trace))
    piece = None if query.position is None else _piece(trace, query.position)
    return HeadImportanceResponse(
        position=measured.position,
        piece=piece,
        log_probability=measured.log_probability,
        layers=[
            LayerImportanceRecord(name=one.name, role=one.role, layer=one.layer, changes=one.changes)
            for one in measured.layers
        ],
    )


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/norm-weights", response=FLOATS)
async def norm_weights(service: Service, trace_id: str, query: WeightsQuery) -> Response:
    """Norm-based weights (Kobayashi et al., 2020): the norm of what a query reads from a key; rows sum to one."""
    trace = service.component(TraceCache).get(trace_id)
    return floats_response(trace.norm_weights(query.layer, index_or_none(query.head)))


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/value-zeroing", uses_queue=True, response=FLOATS)
async def value_zeroing(service: Service, trace_id: str, query: LayerQuery) -> Response:
    """Value zeroing (Mohebbi et al., 2023): how far the output at a query moves without a key; rows sum to one."""
    trace = service.component(TraceCache).get(trace_id)
    cost = max(len(trace.source.pieces), len(trace.target.pieces)) * _tokens_of(trace)
    return floats_response(
        await service.batcher.run_exclusive(functools.partial(trace.value_zeroing, query.layer), cost=cost)
    )


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/contributions")
async def contributions(service: Service, trace_id: str) -> ContributionsResponse:
    """The shares of source and prefix in every prediction of a Transformer (Ferrando et al., 2022)."""
    trace = service.component(TraceCache).get(trace_id)
    by_source, by_prefix = await service.batcher.run_exclusive(trace.contributions, cost=_tokens_of(trace))
    return ContributionsResponse(
        source=by_source.sum(axis=1).tolist(),
        prefix=by_prefix.sum(axis=1).tolist(),
        by_source=by_source.tolist(),
        by_prefix=by_prefix.tolist(),
    )


@ENDPOINTS.add("GET", "/api/v1/traces/{trace_id}/logit-lens", uses_queue=True)
async def logit_lens(service: Service, trace_id: str, query: PositionQuery) -> LogitLensResponse:
    """The logit lens: the most probable tokens at a position if each block were the last one."""
    trace = service.component(TraceCache).get(trace_id)
    work = functools.partial(trace.logit_lens, query.position)
    layers = await service.batcher.run_exclusive(work, cost=_tokens_of(trace))
    return LogitLensResponse(layers=[LensLayer(name=name, tokens=_tokens(tokens)) for name, tokens in layers])


def _tokens(candidates: list[OutputCandidate]) -> list[PredictedToken]:
    return [
        PredictedToken(piece=one.piece, rank=one.rank, probability=one.probability, is_chosen=one.is_chosen)
        for one in candidates
    ]


def _piece(trace: Trace, position: int) -> str:
    """The token whose log-probability is measured at a position: the chosen one, or the best one of a mask."""
    assert trace.prediction is not None  # noqa: S101  (a model with heads predicts)
    candidates = trace.prediction.candidates[position]
    return next((one.piece for one in candidates if one.is_chosen), candidates[0].piece)


def _tokens_of(trace: Trace) -> int:
    return len(trace.source.pieces) + len(trace.target.pieces)

"""The own API's part for watching and comparing: runs, the attention of their probes, quality, examples."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.api_traces import FLOATS, as_floats
from regard.serve.api_translation import as_json
from regard.serve.gold import Example, GoldFiles
from regard.serve.openapi import Paths, answers, asks
from regard.serve.quality import ComparedSentences, Quality, QualityAnswer
from regard.serve.refusals import Refusal
from regard.serve.requests import query_number, query_number_or_mean
from regard.serve.runs import Run, RunEvents, RunProbes, RunRecord
from regard.serve.service import Service


class RunsAnswer(msgspec.Struct, frozen=True):
    """The runs that can be watched."""

    runs: list[RunRecord]


class ExamplesAnswer(msgspec.Struct, frozen=True):
    """Sentences to try."""

    examples: list[Example]


def routes(service: Service, gold: GoldFiles, quality: Quality) -> list[Route]:
    """Runs, probes, quality, examples."""

    async def runs(request: Request) -> Response:  # noqa: ARG001
        watched = [(one, Run(one.run.name, one.run)) for one in service.models.all if one.run is not None]
        return as_json(RunsAnswer([run.record(one.name if one.is_ready else None) for one, run in watched]))

    async def events(request: Request) -> Response:
        return as_json(_run(request).events(query_number(request, "after", default=0)))

    async def probes(request: Request) -> Response:
        step = query_number(request, "step") if "step" in request.query_params else None
        return as_json(_run(request).probes(step))

    async def probe_map(request: Request) -> Response:
        step, probe, layer = (request.path_params[name] for name in ("step", "probe", "layer"))
        return as_floats(_run(request).probe_map(step, probe, layer, query_number_or_mean(request, "head")))

    async def qualities(request: Request) -> Response:  # noqa: ARG001
        return as_json(quality.answer())

    async def bucket(request: Request) -> Response:
        return as_json(quality.sentences(request.path_params["bucket"]))

    async def examples(request: Request) -> Response:
        languages = tuple(request.query_params.get(side, "") for side in ("source", "target"))
        known = {one.languages for one in service.models.all}
        return as_json(ExamplesAnswer(gold.of(languages).examples() if languages in known else []))  # type: ignore[arg-type]

    def _run(request: Request) -> Run:
        for one in service.models.all:
            if one.run is not None and one.run.name == request.path_params["name"]:
                return Run(one.run.name, one.run)
        raise Refusal(404, "no_run", "There is no run of that name. GET /api/v1/runs lists them.")

    run = "/api/v1/runs/{name}"
    return [
        Route("/api/v1/runs", runs),
        Route(f"{run}/events", events),
        Route(f"{run}/probes", probes),
        Route(run + "/probes/{step:int}/{probe:int}/{layer:int}", probe_map),
        Route("/api/v1/quality", qualities),
        Route("/api/v1/quality/{bucket:int}", bucket),
        Route("/api/v1/examples", examples),
    ]


_NUMBER = {"type": "integer", "minimum": 0, "maximum": 10**9}
_NAME = asks("name", {"type": "string"}, place="path")
_HEAD = asks("head", {"anyOf": [_NUMBER, {"const": "mean"}]})

ROUTES_SCHEMA: Paths = {
    "/api/v1/runs": {"get": {"summary": "The runs that can be watched.", "responses": answers(RunsAnswer)}},
    "/api/v1/runs/{name}/events": {
        "get": {
            "summary": "The journal's events after the first N.",
            "parameters": [_NAME, asks("after", _NUMBER)],
            "responses": answers(RunEvents),
        }
    },
    "/api/v1/runs/{name}/probes": {
        "get": {
            "summary": "The steps at which the probes' attention was saved, and the labels of one.",
            "parameters": [_NAME, asks("step", _NUMBER)],
            "responses": answers(RunProbes),
        }
    },
    "/api/v1/runs/{name}/probes/{step}/{probe}/{layer}": {
        "get": {
            "summary": "A probe's map: little-endian float32, queries by keys.",
            "parameters": [_NAME, *(asks(name, _NUMBER, place="path") for name in ("step", "probe", "layer")), _HEAD],
            "responses": FLOATS,
        }
    },
    "/api/v1/quality": {"get": {"summary": "How good the models are.", "responses": answers(QualityAnswer)}},
    "/api/v1/quality/{bucket}": {
        "get": {
            "summary": "Sentences of one range of lengths, and what each model made of them.",
            "parameters": [asks("bucket", _NUMBER, place="path")],
            "responses": answers(ComparedSentences),
        }
    },
    "/api/v1/examples": {
        "get": {
            "summary": "Sentences to try.",
            "parameters": [asks("source", {"type": "string"}), asks("target", {"type": "string"})],
            "responses": answers(ExamplesAnswer),
        }
    },
}

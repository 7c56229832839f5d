"""The own API's part for watching and comparing: runs, the attention of their probes, quality, examples."""

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.api_traces import FLOATS, as_floats
from regard.serve.gold import Example, GoldFiles
from regard.serve.models import ServedModel, takes_of
from regard.serve.openapi import Paths, answers, asks
from regard.serve.quality import ComparedSentences, Quality, QualityAnswer
from regard.serve.refusals import Refusal
from regard.serve.requests import query_number, query_number_or_mean
from regard.serve.runs import Run, RunEvents, RunPictures, RunProbes, RunRecord
from regard.serve.service import Service
from regard.view.caption_record import PNG
from regard.view.regions_painting import png_of


class RunsAnswer(msgspec.Struct, frozen=True):
    """The runs that can be watched."""

    runs: list[RunRecord]


class ExamplesAnswer(msgspec.Struct, frozen=True):
    """Sentences to try."""

    examples: list[Example]


class RunRoutes:
    """Runs, probes, quality, examples."""

    def __init__(self, service: Service, gold: GoldFiles, quality: Quality) -> None:
        self.service, self.gold, self.quality = service, gold, quality

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/runs", self.runs),
            Route("/api/v1/runs/{name}/events", self.events),
            Route("/api/v1/runs/{name}/probes", self.probes),
            Route("/api/v1/runs/{name}/probes/{step:number}/{probe:number}/{layer:number}", self.probe_map),
            Route("/api/v1/runs/{name}/pictures", self.pictures),
            Route("/api/v1/runs/{name}/pictures/{probe:number}", self.picture),
            Route("/api/v1/quality", self.qualities),
            Route("/api/v1/quality/{bucket:number}", self.bucket),
            Route("/api/v1/examples", self.examples),
        ]

    async def runs(self, request: Request) -> Response:  # noqa: ARG002
        """What can be watched."""
        watched = [(run, model.name if model.is_ready else None) for model, run in self._watched()]
        return as_json(RunsAnswer(await asyncio.to_thread(lambda: [run.record(name) for run, name in watched])))

    async def events(self, request: Request) -> Response:
        """What happened in a run."""
        after = query_number(request, "after", default=0)
        return as_json(await asyncio.to_thread(self._run(request).events, after))

    async def probes(self, request: Request) -> Response:
        """Where the attention of the probes was saved."""
        step = query_number(request, "step") if "step" in request.query_params else None
        return as_json(await asyncio.to_thread(self._run(request).probes, step))

    async def probe_map(self, request: Request) -> Response:
        """A probe's map at a step."""
        step, probe, layer = (request.path_params[name] for name in ("step", "probe", "layer"))
        head, run = query_number_or_mean(request, "head"), self._run(request)
        return as_floats(await asyncio.to_thread(run.probe_map, step, probe, layer, head))

    async def pictures(self, request: Request) -> Response:
        """What the probes of a captioner's run look at; a set of pictures takes a while to read."""
        return as_json(await asyncio.to_thread(self._run(request).pictures))

    async def picture(self, request: Request) -> Response:
        """A probe's picture, as the model sees it."""
        square = await asyncio.to_thread(self._run(request).picture, request.path_params["probe"])
        return Response(png_of(square.transpose(1, 2, 0)), media_type=PNG)

    async def qualities(self, request: Request) -> Response:  # noqa: ARG002
        """How good the models are."""
        return as_json(self.quality.answer())

    async def bucket(self, request: Request) -> Response:
        """Sentences of one range of lengths."""
        return as_json(self.quality.sentences(request.path_params["bucket"]))

    async def examples(self, request: Request) -> Response:
        """Sentences to try, for languages that some model has: a language is also part of a file's name."""
        source, target = (request.query_params.get(side, "") for side in ("source", "target"))
        name = request.query_params.get("model")
        served = [
            (one, run) for one, run in self._watched() if one.languages == (source, target) and name in (None, one.name)
        ]
        is_known = (source, target) in {one.languages for one in self.service.models.all}
        found = await asyncio.to_thread(self.gold.examples, (source, target)) if is_known else []
        return as_json(ExamplesAnswer(found or await asyncio.to_thread(_validated, served)))

    def _watched(self) -> list[tuple[ServedModel, Run]]:
        return [(one, Run(one.name, one.run)) for one in self.service.models.all if one.run is not None]

    def _run(self, request: Request) -> Run:
        for _, run in self._watched():
            if run.name == request.path_params["name"]:
                return run
        raise Refusal(404, "no_run", "There is no run of that name. GET /api/v1/runs lists them.")


def _validated(watched: list[tuple[ServedModel, Run]]) -> list[Example]:
    """What a run was validated on, where it reads text: sentences to try where there are none with links."""
    of_text = (run for model, run in watched if (config := model.config) and takes_of(config) != "pictures")
    return next(filter(None, (run.examples() for run in of_text)), [])


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
    "/api/v1/runs/{name}/pictures": {
        "get": {
            "summary": "The names of the pictures that the probes look at.",
            "parameters": [_NAME],
            "responses": answers(RunPictures),
        }
    },
    "/api/v1/runs/{name}/pictures/{probe}": {
        "get": {
            "summary": "A probe's picture, as the model sees it.",
            "parameters": [_NAME, asks("probe", _NUMBER, place="path")],
            "responses": answers(None, media=PNG),
        }
    },
    "/api/v1/quality": {
        "get": {
            "summary": "How good the models are; null if nobody compared them.",
            "responses": answers(QualityAnswer | None),
        }
    },
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
            "parameters": [asks(name, {"type": "string"}) for name in ("source", "target", "model")],
            "responses": answers(ExamplesAnswer),
        }
    },
}

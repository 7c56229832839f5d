"""The Open Inference Protocol, version 2: health, metadata, and a model's bare outputs, without splitting of texts."""

from importlib.metadata import version as version_of
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.inference_records import (
    Failure,
    InferAnswer,
    InferRequest,
    InputTensor,
    Live,
    ModelMetadata,
    ModelReady,
    Ready,
    ServerMetadata,
    Tensor,
    TensorRecord,
)
from regard.serve.models import ServedModel
from regard.serve.openapi import ONE_SENTENCE, Paths, answers, asks, takes
from regard.serve.refusals import Refusal
from regard.serve.requests import read_json
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.speaking import voice
from regard.translation.lines import Translation

VERSION = "1"  # of every model: they are replaced, not numbered
INPUT, TEXT, SCORE = "text", "translation", "score"


class Inference:
    """The routes over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def server(self, request: Request) -> Response:  # noqa: ARG002
        """What this server is."""
        return as_json(ServerMetadata("regard", version_of("regard"), []))

    async def live(self, request: Request) -> Response:  # noqa: ARG002
        """The server answers."""
        return as_json(Live(True))

    async def ready(self, request: Request) -> Response:  # noqa: ARG002
        """As /readyz."""
        is_ready = self.service.is_ready
        return as_json(Ready(is_ready), status=200 if is_ready else 503)

    async def model_ready(self, request: Request) -> Response:
        """Whether a model is loaded and has translated something."""
        model = self._model(request)
        return as_json(ModelReady(model.name, model.is_ready), status=200 if model.is_ready else 503)

    async def metadata(self, request: Request) -> Response:
        """What a model takes and gives."""
        outputs = [TensorRecord(TEXT, "BYTES", [-1]), TensorRecord(SCORE, "FP32", [-1])]
        return as_json(
            ModelMetadata(
                name=self._model(request).name,
                versions=[VERSION],
                platform="regard",
                inputs=[TensorRecord(INPUT, "BYTES", [-1])],
                outputs=outputs,
            )
        )

    async def infer(self, request: Request) -> Response:
        """The model's outputs for texts, each as it stands."""
        self.service.check_key(request)
        model = self._model(request)
        asked = await read_json(request, self.service.limits, InferRequest)
        texts = _texts(asked.inputs[0])
        self.service.limits.check_texts(texts)
        fits = voice(self.service, model, Wish()).fits
        if not all(map(fits, texts)):
            raise Refusal(413, "text_too_long", "A text is longer than the model reads. Send it in sentences.")
        wish = Wish(beam=asked.parameters.beam, nbest=asked.parameters.nbest)
        said = await self.service.translate_with(model, texts, wish, request=request)
        outputs = _tensors(asked, said)
        return as_json(InferAnswer(model_name=model.name, model_version=VERSION, outputs=outputs, id=asked.id))

    def _model(self, request: Request) -> ServedModel:
        if request.path_params.get("version", VERSION) != VERSION:
            raise Refusal(404, "no_version", f"Models have one version here, {VERSION}.")
        return self.service.models.named(request.path_params["model"])


def routes(service: Service) -> list[Route]:
    """The routes of this API."""
    own = Inference(service)
    model, versioned = "/v2/models/{model}", "/v2/models/{model}/versions/{version}"
    return [
        Route("/v2", own.server),
        Route("/v2/health/live", own.live),
        Route("/v2/health/ready", own.ready),
        *(Route(path, own.metadata) for path in (model, versioned)),
        *(Route(f"{path}/ready", own.model_ready) for path in (model, versioned)),
        *(Route(f"{path}/infer", own.infer, methods=["POST"]) for path in (model, versioned)),
    ]


def _texts(given: InputTensor) -> list[str]:
    """The input's texts, if it is what the metadata says."""
    if given.name != INPUT or given.datatype != "BYTES":
        raise Refusal(400, "bad_input", f"The input must be named {INPUT} and have the datatype BYTES.")
    texts = given.data
    for _ in given.shape[1:]:
        texts = [one for row in texts if isinstance(row, list) for one in row] if _is_nested(texts) else texts
    size = 1
    for length in given.shape:
        size *= length
    if len(texts) != size or not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "bad_shape", "The data must be texts, as many as the shape says.")
    return texts


def _is_nested(data: list[Any]) -> bool:
    return bool(data) and all(isinstance(row, list) for row in data)


def _tensors(asked: InferRequest, said: list[list[Translation]]) -> list[Tensor]:
    """The outputs that were asked for; with n-best, a row of them for each text."""
    nbest = asked.parameters.nbest
    rows = [[*own, *own[-1:] * (nbest - len(own))] for own in said]  # a search can end with fewer
    shape = [len(rows)] if nbest == 1 else [len(rows), nbest]
    flat = [one for row in rows for one in row]
    both = {
        TEXT: Tensor(name=TEXT, shape=shape, datatype="BYTES", data=[one.text for one in flat]),
        SCORE: Tensor(name=SCORE, shape=shape, datatype="FP32", data=[one.score for one in flat]),
    }
    wanted = list(both) if asked.outputs is None else [output.name for output in asked.outputs]
    if not set(wanted) <= set(both):
        raise Refusal(400, "no_output", f"The outputs are {TEXT} and {SCORE}.")
    return [both[name] for name in wanted]


_MODEL = asks("model", {"type": "string"}, place="path")
_VERSION = asks("version", {"type": "string"}, place="path")


def _of_model(parameters: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The operations of a model, with or without its version in the path."""
    about = {"parameters": parameters}
    ready = {**answers(ModelReady, refusals=Failure), "503": {"description": "Not yet."}}
    return {
        "": {
            "get": {
                "summary": "What a model takes and gives.",
                **about,
                "responses": answers(ModelMetadata, refusals=Failure),
            }
        },
        "/ready": {"get": {"summary": "A model can be asked.", **about, "responses": ready}},
        "/infer": {
            "post": {
                "summary": "A model's outputs for texts, each as it stands.",
                "description": ONE_SENTENCE,
                **about,
                "requestBody": takes(InferRequest),
                "responses": answers(InferAnswer, refusals=Failure),
            }
        },
    }


ROUTES_SCHEMA: Paths = {
    "/v2": {"get": {"summary": "What this server is.", "responses": answers(ServerMetadata, refusals=Failure)}},
    "/v2/health/live": {"get": {"summary": "The server answers.", "responses": answers(Live, refusals=Failure)}},
    "/v2/health/ready": {
        "get": {
            "summary": "A model can be asked.",
            "responses": {**answers(Ready, refusals=Failure), "503": {"description": "Not yet."}},
        }
    },
    **{f"/v2/models/{{model}}{path}": item for path, item in _of_model([_MODEL]).items()},
    **{
        f"/v2/models/{{model}}/versions/{{version}}{path}": item for path, item in _of_model([_MODEL, _VERSION]).items()
    },
}

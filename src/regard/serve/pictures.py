"""The own API's part for pictures: describing one, and the trace of where the model looked at each word.

A trace of a picture is kept beside those of texts, so that its maps and its arithmetic are asked for by the same
routes. A picture's bytes are never trusted: they are bounded, opened safely, and sent back only as the square seen.
"""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.captioning.captioner import Caption, Captioner
from regard.data.pictures import PICTURE_FORMATS, Captioned, read_captioned
from regard.data.pictures.opening import MOST_PIXELS
from regard.data.pictures.reading import captions_of
from regard.data.worlds.scenes import Box, Boxes, read_boxes
from regard.errors import RegardError
from regard.serve.api_translation import as_json
from regard.serve.models import ServedModel
from regard.serve.openapi import BYTES, Paths, answers, asks
from regard.serve.refusals import Refusal
from regard.serve.requests import MULTIPART, media_type, query_number, read_body, read_form
from regard.serve.service import Service
from regard.translation.trace import Trace, TraceSummary
from regard.view.regions_painting import png_of

EXAMPLES = 12  # pictures of a model's own validation set
PNG = "image/png"


class GoldCaption(msgspec.Struct, frozen=True, kw_only=True):
    """What is right to say of a picture, and for each word the boxes of what it speaks of."""

    words: list[str]
    boxes: list[list[Box]]


class CaptionAnswer(TraceSummary, frozen=True, kw_only=True):
    """A caption's trace, the id by which its numbers are asked for, and the picture as the model saw it."""

    id: str
    model: str
    score: float
    log_probability: float
    rows: int  # of the grid: key number r * columns + c is the place in row r and column c
    columns: int
    picture: str  # a data URI
    gold: GoldCaption | None


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A picture that can be tried."""

    number: int
    captions: list[str]
    has_boxes: bool


class ExamplesAnswer(msgspec.Struct, frozen=True):
    """The pictures that can be tried."""

    pictures: list[Example]


@dataclass(frozen=True)
class Sample:
    """A captioned picture, and its boxes where they are known."""

    captioned: Captioned
    boxes: Boxes | None


@dataclass(frozen=True)
class Upload:
    """What a request asks to have described."""

    picture: Path | bytes
    boxes: Boxes | None = None


class PictureRoutes:
    """Captions, and pictures to try."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._samples: dict[Path, list[Sample]] = {}  # by the model's directory

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/captions", self.caption, methods=["POST"]),
            Route("/api/v1/models/{name}/pictures", self.examples),
            Route("/api/v1/models/{name}/pictures/{number:int}", self.example),
        ]

    async def caption(self, request: Request) -> Response:
        """A caption, and the id of its trace."""
        model = self._chosen(request)
        captioner = model.describing
        beam = query_number(request, "beam", default=min(captioner.settings().beam, self.service.limits.beam))
        self.service.limits.check_search(beam, 1)
        upload = await self._upload(request, model)
        work = _describing(captioner, upload.picture, beam)
        cost = captioner.settings().length_extra * beam
        caption, trace, picture = await self.service.run_alone(request, work, cost=cost)
        return as_json(self._answer(model.name, captioner, Described(caption, trace, picture, upload.boxes)))

    async def examples(self, request: Request) -> Response:
        """Pictures of the model's own validation set, where it is still there."""
        samples = await self._samples_of(self.service.models.named(request.path_params["name"]))
        found = [
            Example(number=number, captions=one.captioned.captions, has_boxes=one.boxes is not None)
            for number, one in enumerate(samples)
        ]
        return as_json(ExamplesAnswer(found))

    async def example(self, request: Request) -> Response:
        """One of them, as the model sees it."""
        model = self.service.models.named(request.path_params["name"])
        sample = await self._sample(model, request.path_params["number"])
        square = await asyncio.to_thread(lambda: _square(model.describing, sample.captioned.picture))
        return Response(square, media_type=PNG)

    def _chosen(self, request: Request) -> ServedModel:
        name = request.query_params.get("model")
        if name is not None:
            return self.service.models.named(name)
        for one in self.service.models.all:
            if one.captioner is not None:
                return one
        raise Refusal(409, "no_captioner", "No model that describes pictures is ready. GET /api/v1/models lists all.")

    async def _upload(self, request: Request, model: ServedModel) -> Upload:
        """The picture of a raw body, of a form, or one of the examples."""
        if "example" in request.query_params:
            sample = await self._sample(model, query_number(request, "example"))
            return Upload(sample.captioned.picture, sample.boxes)
        limits = self.service.limits
        if media_type(request) != MULTIPART:
            return Upload(await read_body(request, limits, largest=limits.file_bytes))
        form = await read_form(request, limits, largest=limits.file_bytes)
        given = form.get("picture")
        if not isinstance(given, UploadFile):
            raise Refusal(400, "no_picture", "The form has no file named picture.")
        return Upload(await given.read())

    async def _sample(self, model: ServedModel, number: int) -> Sample:
        samples = await self._samples_of(model)
        if number >= len(samples):
            raise Refusal(404, "no_picture", f"There are {len(samples)} pictures to try, counted from 0.")
        return samples[number]

    async def _samples_of(self, model: ServedModel) -> list[Sample]:
        captioner = model.describing
        if model.directory not in self._samples:
            self._samples[model.directory] = await asyncio.to_thread(lambda: _samples(captioner))
        return self._samples[model.directory]

    def _answer(self, name: str, captioner: Captioner, described: "Described") -> CaptionAnswer:
        summary, side = described.trace.summary(), captioner.eye.side
        boxes = described.boxes
        return CaptionAnswer(
            **{field: getattr(summary, field) for field in TraceSummary.__struct_fields__},
            id=self.service.traces.keep(described.trace),
            model=name,
            score=described.caption.score,
            log_probability=described.caption.log_probability,
            rows=side,
            columns=side,
            picture=f"data:{PNG};base64,{b64encode(described.picture).decode()}",
            gold=GoldCaption(words=boxes.words, boxes=boxes.boxes) if boxes else None,
        )


@dataclass(frozen=True)
class Described:
    """What came of a picture."""

    caption: Caption
    trace: Trace
    picture: bytes
    boxes: Boxes | None


def _describing(captioner: Captioner, picture: Path | bytes, beam: int) -> Callable[[], tuple[Caption, Trace, bytes]]:
    def work() -> tuple[Caption, Trace, bytes]:
        square = _square(captioner, picture)
        caption = captioner.caption([square], beam=beam, nbest=1)[0]
        return caption, captioner.trace(square, caption.tokens), square

    return work


def _square(captioner: Captioner, picture: Path | bytes) -> bytes:
    """The picture as the model sees it, as PNG, which loses nothing."""
    try:
        return png_of(captioner.square(picture).transpose(1, 2, 0))
    except RegardError as error:
        raise _refused(error) from None


def _refused(error: RegardError) -> Refusal:
    """A picture's own bytes may stand in the reason, which is therefore not repeated."""
    if re.search(r"pixels", str(error)):
        return Refusal(413, "picture_too_large", f"A picture may have {MOST_PIXELS:,} pixels at most. Make it smaller.")
    formats = ", ".join(PICTURE_FORMATS)
    return Refusal(415, "bad_picture", f"This cannot be read as a picture. Send a whole file of {formats}.")


def _samples(captioner: Captioner) -> list[Sample]:
    """The first pictures of the validation set that the model's config names; none where it is not there."""
    data = captioner.bundle.config.data
    if not data.valid:
        return []
    place, split = data.valid[0], data.valid[1] if len(data.valid) > 1 else None
    try:
        captioned = read_captioned(place, split=split, pictures=data.pictures.folder or None)[:EXAMPLES]
        beside = captions_of(Path(place)).with_name("boxes.jsonl")
        boxes = read_boxes(beside) if beside.is_file() else {}
    except RegardError:
        return []
    return [Sample(one, boxes.get("/".join(one.picture.parts[-2:]))) for one in captioned]


_NAME = asks("name", {"type": "string"}, place="path")
_SMALL = {"type": "integer", "minimum": 0, "maximum": 10**9}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {"schema": {"type": "object", "properties": {"picture": _BINARY["schema"]}, "required": ["picture"]}}

ROUTES_SCHEMA: Paths = {
    "/api/v1/captions": {
        "post": {
            "summary": "Describe a picture, and trace where the model looks at each word.",
            "parameters": [
                asks("model", {"type": "string"}),
                asks("beam", {"type": "integer", "minimum": 1, "maximum": 1000}),
                asks("example", _SMALL),
            ],
            "requestBody": {"content": {BYTES: _BINARY, MULTIPART: _FORM}},
            "responses": answers(CaptionAnswer),
        }
    },
    "/api/v1/models/{name}/pictures": {
        "get": {
            "summary": "Pictures that can be tried: the first of the model's own validation set.",
            "parameters": [_NAME],
            "responses": answers(ExamplesAnswer),
        }
    },
    "/api/v1/models/{name}/pictures/{number}": {
        "get": {
            "summary": "One of them, as the model sees it.",
            "parameters": [_NAME, asks("number", _SMALL, place="path")],
            "responses": answers(None, media=PNG),
        }
    },
}

"""The own API's part for pictures: describing one, and the trace of where the model looked at each word.

A trace of a picture is kept beside those of texts, so that its maps and its arithmetic are asked for by the same
routes. A picture's bytes are never trusted: they are bounded, opened safely, and sent back only as the square seen.
"""

import asyncio
import functools
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.captioning.captioner import Captioner
from regard.data.pictures import Captioned, read_captioned
from regard.data.pictures.reading import captions_of
from regard.data.worlds.scenes import read_boxes
from regard.errors import RegardError
from regard.serve.answers import as_json
from regard.serve.describing import describe, describe_aloud, open_square
from regard.serve.models import ServedModel
from regard.serve.openapi import BYTES, Paths, answers, asks
from regard.serve.refusals import Refusal
from regard.serve.requests import MULTIPART, media_type, query_number, read_body, read_form
from regard.serve.service import Service
from regard.serve.streaming import EventStream, growing
from regard.view.caption_record import PNG, CaptionRecord, Described, GoldCaption, caption_record
from regard.view.regions_painting import png_of

EXAMPLES = 12  # pictures of a model's own validation set


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
    """A captioned picture, and the boxes of its words where they are known."""

    captioned: Captioned
    gold: GoldCaption | None


@dataclass(frozen=True)
class Upload:
    """The picture of a request, and what is right to say of it where that is known."""

    picture: Path | bytes
    gold: GoldCaption | None = None


@dataclass(frozen=True, eq=False)
class Asked:
    """Who is to describe an opened picture, and how."""

    model: ServedModel
    square: NDArray[np.uint8]
    beam: int
    gold: GoldCaption | None

    @property
    def cost(self) -> int:
        """About how many tokens are decoded, those of the beam together."""
        return self.model.describing.settings().length_extra * self.beam


class PictureRoutes:
    """Captions, and pictures to try."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._samples: dict[Path, list[Sample]] = {}  # by the model's directory

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/captions", self.caption, methods=["POST"]),
            Route("/api/v1/captions/stream", self.stream, methods=["POST"]),
            Route("/api/v1/models/{name}/pictures", self.examples),
            Route("/api/v1/models/{name}/pictures/{number:number}", self.example),
        ]

    async def caption(self, request: Request) -> Response:
        """A caption, and the id of its trace."""
        asked = await self._asked(request)
        work = functools.partial(describe, asked.model.describing, asked.square, asked.beam, asked.gold)
        described = await self.service.run_alone(request, work, cost=asked.cost)
        return as_json(self._told(asked.model, described))

    async def stream(self, request: Request) -> EventStream:
        """A caption as it grows, word by word, each with where it looked."""
        asked = await self._asked(request)
        work = functools.partial(describe_aloud, asked.model.describing, asked.square, asked.beam, asked.gold)
        events = growing(self.service, work, functools.partial(self._told, asked.model), cost=asked.cost)
        return EventStream(request, events)

    async def examples(self, request: Request) -> Response:
        """Pictures of the model's own validation set, where it is still there."""
        samples = await self._samples_of(self.service.models.named(request.path_params["name"]))
        found = [
            Example(number=number, captions=one.captioned.captions, has_boxes=one.gold is not None)
            for number, one in enumerate(samples)
        ]
        return as_json(ExamplesAnswer(found))

    async def example(self, request: Request) -> Response:
        """One of them, as the model sees it."""
        model = self.service.models.named(request.path_params["name"])
        sample = await self._sample(model, request.path_params["number"])
        square = await asyncio.to_thread(lambda: open_square(model.describing, sample.captioned.picture))
        return Response(png_of(square.transpose(1, 2, 0)), media_type=PNG)

    async def _asked(self, request: Request) -> "Asked":
        """All that a request for a caption asks; a file that is no picture is refused before anything is answered."""
        model = self._chosen(request)
        captioner, limits = model.describing, self.service.limits
        beam = query_number(request, "beam", default=min(captioner.settings().beam, limits.beam), highest=limits.beam)
        limits.check_search(beam, 1)
        upload = await self._upload(request, model)
        square = await self.service.run_alone(request, lambda: open_square(captioner, upload.picture), cost=1)
        return Asked(model, square, beam, upload.gold)

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
            return Upload(sample.captioned.picture, sample.gold)
        limits = self.service.limits
        if media_type(request) != MULTIPART:
            return Upload(await read_body(request, limits, largest=limits.file_bytes))
        form = await read_form(request, limits, largest=limits.file_bytes)
        try:
            given = form.get("picture")
            if not isinstance(given, UploadFile):
                raise Refusal(400, "no_picture", "The form has no file named picture.")
            return Upload(await given.read())
        finally:
            await form.close()

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

    def _told(self, model: ServedModel, described: Described) -> CaptionRecord:
        """The record of a picture whose trace can be asked for from now on."""
        return caption_record(described, identity=self.service.traces.keep(described.trace), model=model.name)


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
    return [Sample(one, GoldCaption.of(boxes.get("/".join(one.picture.parts[-2:])))) for one in captioned]


_NAME = asks("name", {"type": "string"}, place="path")
_SMALL = {"type": "integer", "minimum": 0, "maximum": 10**9}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {"schema": {"type": "object", "properties": {"picture": _BINARY["schema"]}, "required": ["picture"]}}
_PICTURE = {"content": {BYTES: _BINARY, MULTIPART: _FORM}}
_ASKED = [
    asks("model", {"type": "string"}),
    asks("beam", {"type": "integer", "minimum": 1, "maximum": 1000}),
    asks("example", _SMALL),
]
_EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["seen", "partial", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}

ROUTES_SCHEMA: Paths = {
    "/api/v1/captions": {
        "post": {
            "summary": "Describe a picture, and trace where the model looks at each word.",
            "parameters": _ASKED,
            "requestBody": _PICTURE,
            "responses": answers(CaptionRecord),
        }
    },
    "/api/v1/captions/stream": {
        "post": {
            "summary": "The same word by word: events `seen`, `partial` with the words so far and where each looked, "
            "then `done` with the whole answer, or `error`.",
            "parameters": _ASKED,
            "requestBody": _PICTURE,
            "responses": answers(_EVENT, media="text/event-stream"),
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

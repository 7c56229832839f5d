"""The own API's part for language models: going on with a text, filling its blanks, and the trace of a text."""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.errors import RegardError
from regard.language.reader import GUESSES
from regard.serve.answers import as_json
from regard.serve.api_translation import Count, Name
from regard.serve.models import ServedModel, Takes, takes_of
from regard.serve.openapi import Paths, answers, takes
from regard.serve.refusals import Refusal
from regard.serve.requests import read_json
from regard.serve.search import BYTES_PER_TOKEN
from regard.serve.service import Service

LONGEST = 500  # tokens that one request may have added
BLANKS = 16  # of one text: each is filled in a pass of its own


class CompleteRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to go on with; an empty one is begun."""

    text: str
    model: Name | None = None
    beam: Count | None = None
    nbest: Count = 1
    sample: bool = False  # draw each next token, as likely as the model finds it
    temperature: Annotated[float, Meta(gt=0, le=100)] = 1.0
    length: Annotated[int, Meta(ge=1, le=LONGEST)] | None = None  # tokens that are added at most


class ContinuationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A text from its beginning; its figures are those of the whole."""

    text: str
    score: float
    log_probability: float
    is_ended: bool


class CompleteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The ways in which the text goes on, the best first."""

    model: str
    continuations: list[ContinuationRecord]


class FillRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with blanks, each written as ___."""

    text: Annotated[str, Meta(min_length=1)]
    model: Name | None = None
    guesses: Annotated[int, Meta(ge=1, le=100)] = GUESSES


class GuessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that may stand in a blank."""

    piece: str
    probability: float


class FillAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The text with its blanks filled, and for each blank what may stand there, the likeliest first."""

    model: str
    text: str
    blanks: list[list[GuessRecord]]


class LanguageRoutes:
    """Complete, fill."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/complete", self.complete, methods=["POST"]),
            Route("/api/v1/fill", self.fill, methods=["POST"]),
        ]

    async def complete(self, request: Request) -> Response:
        """How a text goes on."""
        asked = await read_json(request, self.service.limits, CompleteRequest)
        self.service.limits.check_texts([asked.text])
        model = self._chosen(asked.model, "beginning")
        writer, options = model.writer, self._options(model, asked)
        config = writer.settings(**options)
        cost = config.width * (_tokens(asked.text) + config.length_extra)
        [found] = await self.service.run_alone(request, lambda: writer.nbest([asked.text], **options), cost=cost)
        records = [
            ContinuationRecord(
                text=one.text, score=one.score, log_probability=one.log_probability, is_ended=one.is_ended
            )
            for one in found
        ]
        return as_json(CompleteAnswer(model=model.name, continuations=records))

    async def fill(self, request: Request) -> Response:
        """What may stand in a text's blanks."""
        asked = await read_json(request, self.service.limits, FillRequest)
        self.service.limits.check_texts([asked.text])
        model = self._chosen(asked.model, "blanks")
        reader = model.reader
        try:
            blanks = reader.blanks(asked.text)
        except RegardError as error:
            raise Refusal(400, "bad_blanks", str(error)) from None
        if not 1 <= blanks <= BLANKS:
            raise Refusal(400, "bad_blanks", f"Write ___ for each blank, 1 to {BLANKS} of them.")
        work = self.service.run_alone(
            request, lambda: reader.fill([asked.text], guesses=asked.guesses), cost=blanks * _tokens(asked.text)
        )
        [filled] = await work
        records = [[GuessRecord(piece=one.piece, probability=one.probability) for one in own] for own in filled.blanks]
        return as_json(FillAnswer(model=model.name, text=filled.text, blanks=records))

    def _chosen(self, name: str | None, given: Takes) -> ServedModel:
        """The model of that name, or the first one that takes what is given."""
        models = self.service.models
        if name is not None:
            return models.named(name)
        for one in models.all:
            if one.is_ready and one.config is not None and takes_of(one.config) == given:
                return one
        raise Refusal(404, "no_model", "No model of that kind is served. GET /api/v1/models lists those that are.")

    def _options(self, model: ServedModel, asked: CompleteRequest) -> dict[str, int | float | bool]:
        """The options of the decoding section, within the server's limits."""
        limits = self.service.limits
        own = min(model.writer.bundle.config.decoding.beam, limits.beam) if asked.beam is None else asked.beam
        limits.check_search(own, asked.nbest)
        options: dict[str, int | float | bool] = {
            "beam": max(own, asked.nbest),
            "nbest": asked.nbest,
            "sample": asked.sample,
            "temperature": asked.temperature,
        }
        bound = model.writer.settings().length_extra if asked.length is None else asked.length
        return options | {"length_extra": min(LONGEST, bound)}


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 2


ROUTES_SCHEMA: Paths = {
    "/api/v1/complete": {
        "post": {
            "summary": "Go on with a text, by a decoder-only model.",
            "description": "The likeliest way, the `nbest` likeliest, or with `sample` as many drawn at random.",
            "requestBody": takes(CompleteRequest),
            "responses": answers(CompleteAnswer),
        }
    },
    "/api/v1/fill": {
        "post": {
            "summary": "Fill the blanks of a text, by an encoder-only model.",
            "description": "A blank is written `___`, and stands for one piece of the model's vocabulary.",
            "requestBody": takes(FillRequest),
            "responses": answers(FillAnswer),
        }
    },
}

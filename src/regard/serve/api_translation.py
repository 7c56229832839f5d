"""The own API's translating part: which models there are, translating, and translating word by word."""

from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.documents import plain, translate_as_one
from regard.serve.models import ModelRecord, ServedModel
from regard.serve.openapi import ONE_SENTENCE, Paths, answers, takes
from regard.serve.refusals import Refusal
from regard.serve.requests import read_json
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.spans import TranslationRecord, record_of
from regard.serve.speaking import in_time, voice
from regard.serve.streaming import EventStream, streamed
from regard.translation.translator import Translation

Count = Annotated[int, Meta(ge=1, le=1000)]
Name = Annotated[str, Meta(max_length=200)]


class TranslateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts to translate, by a model or by languages."""

    texts: Annotated[list[str], Meta(min_length=1)]
    model: Name | None = None
    source: Name | None = None
    target: Name | None = None
    beam: Count | None = None
    nbest: Count = 1
    alignments: bool = False
    split: bool = False  # into sentences; otherwise each text is taken as one


class TranslateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """For each text its best translations, the best first."""

    model: str
    translations: list[list[TranslationRecord]]


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to translate while one looks on."""

    text: str
    model: Name | None = None
    beam: Count | None = None


class ModelsAnswer(msgspec.Struct, frozen=True):
    """The models that are served."""

    models: list[ModelRecord]


class TranslationRoutes:
    """Models, translate, stream."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/api/v1/models", self.models),
            Route("/api/v1/translate", self.translate, methods=["POST"]),
            Route("/api/v1/stream", self.stream, methods=["POST"]),
        ]

    async def models(self, request: Request) -> Response:  # noqa: ARG002
        """What is served."""
        records = [record for one in self.service.models.all if (record := one.record()) is not None]
        return as_json(ModelsAnswer(records))

    async def translate(self, request: Request) -> Response:
        """Translations, their scores, and the links of their words."""
        asked = await read_json(request, self.service.limits, TranslateRequest)
        model = self.service.choose(model=asked.model, source=asked.source, target=asked.target)
        wish = Wish(beam=asked.beam, nbest=asked.nbest, alignments=asked.alignments)
        if asked.split:
            outputs = await self._split(request, model, asked.texts, wish)
        else:
            outputs = await self.service.translate_with(model, asked.texts, wish, request=request)
        pairs = zip(asked.texts, outputs, strict=True)
        records = [[record_of(text, output) for output in own] for text, own in pairs]
        return as_json(TranslateAnswer(model=model.name, translations=records))

    async def _split(
        self, request: Request, model: ServedModel, texts: list[str], wish: Wish
    ) -> list[list[Translation]]:
        """For each text its translation sentence by sentence."""
        if wish.nbest > 1 or wish.alignments:
            raise Refusal(
                400,
                "bad_split",
                "A text that is split has one translation and no alignment. Leave nbest and alignments out, or send "
                "each sentence as a text.",
            )
        self.service.limits.check_texts(texts)
        work = translate_as_one([plain(text) for text in texts], voice(self.service, model, wish))
        return [[output] for output in await in_time(self.service, request, work)]

    async def stream(self, request: Request) -> EventStream:
        """A translation as it grows."""
        asked = await read_json(request, self.service.limits, StreamRequest)
        self.service.limits.check_texts([asked.text])
        model = self.service.choose(model=asked.model)
        search = model.search(Wish(beam=asked.beam, alignments=True), self.service.limits)
        return EventStream(request, streamed(self.service, search, asked.text))


_EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["partial", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
ROUTES_SCHEMA: Paths = {
    "/api/v1/models": {"get": {"summary": "The models that are served.", "responses": answers(ModelsAnswer)}},
    "/api/v1/translate": {
        "post": {
            "summary": "Translate texts: n-best, scores, and links between words as ranges of characters.",
            "description": f"{ONE_SENTENCE} With `split` a text is translated sentence by sentence: one translation, "
            "whose log-probability is the sum of its sentences' and whose score is their mean; no n-best, no links.",
            "requestBody": takes(TranslateRequest),
            "responses": answers(TranslateAnswer),
        }
    },
    "/api/v1/stream": {
        "post": {
            "summary": "Translate a text; events `partial`, then `done` or `error`, tell how it grows.",
            "description": ONE_SENTENCE,
            "requestBody": takes(StreamRequest),
            "responses": answers(_EVENT, media="text/event-stream"),
        }
    },
}

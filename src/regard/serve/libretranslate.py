"""The API of LibreTranslate, as far as its clients use it: text and HTML, detecting, languages, settings."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.documents import FORMATS, Template, plain, read_html
from regard.serve.fields import read_as
from regard.serve.languages import base_code, name_of
from regard.serve.libretranslate_files import ROUTES_SCHEMA as FILES_SCHEMA
from regard.serve.libretranslate_files import FileRoutes
from regard.serve.openapi import SENTENCES, Paths, answers, takes
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.speaking import Outcome, check_key, direct_all, in_time, languages, translate_texts

AUTO = "auto"
READERS: dict[str, Callable[[str], Template]] = {"text": plain, "html": read_html}
Code = Annotated[str, Meta(min_length=1, max_length=40)]


class TranslateFields(msgspec.Struct, frozen=True, kw_only=True):
    """What /translate takes; `format` is "text" or "html", `source` may be "auto"."""

    q: str | list[str]
    target: Code
    source: Code = AUTO
    format: Annotated[str, Meta(pattern="^(text|html)$")] = "text"
    alternatives: Annotated[int, Meta(ge=0, le=100)] = 0
    api_key: str | None = None


class DetectFields(msgspec.Struct, frozen=True, kw_only=True):
    """What /detect takes."""

    q: str | list[str]
    api_key: str | None = None


class Detected(msgspec.Struct, frozen=True):
    """A language, and how sure that is, from 0 to 100."""

    confidence: float
    language: str


class TranslateAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A list wherever `q` was one."""

    translatedText: str | list[str]  # noqa: N815  (the API's own name)
    detectedLanguage: Detected | list[Detected] | None = None  # noqa: N815
    alternatives: Sequence[str | list[str]] | None = None


class LanguageRecord(msgspec.Struct, frozen=True):
    """A language, and those that it can be translated into."""

    code: str
    name: str
    targets: list[str]


class Failure(msgspec.Struct, frozen=True):
    """The form of refusals."""

    error: str


class LibreTranslate:
    """The routes over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def translate(self, request: Request) -> Response:
        """Translate a text or a list of texts."""
        asked = await read_as(request, self.service.limits, TranslateFields)
        check_key(self.service, request, given=asked.api_key)
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        self.service.limits.check_texts(texts)
        source = None if asked.source == AUTO else asked.source
        directions = await direct_all(self.service, texts, source=source, target=asked.target)
        wish = Wish(nbest=asked.alternatives + 1)
        self.service.limits.check_search(1, wish.nbest)
        work = translate_texts(self.service, texts, directions, read=READERS[asked.format], wish=wish)
        outcomes = await in_time(self.service, request, work)
        return as_json(_answer(asked, outcomes))

    async def detect(self, request: Request) -> Response:
        """The languages a text may be in, the likeliest first."""
        asked = await read_as(request, self.service.limits, DetectFields)
        check_key(self.service, request, given=asked.api_key)
        self.service.check_ready()
        text = " ".join(asked.q) if isinstance(asked.q, list) else asked.q
        found = await asyncio.to_thread(self.service.detect, text)
        likely = [one for one in found if one[1] >= 0.01] or found[:1]
        return as_json([_detected(code, confidence) for code, confidence in likely])

    async def languages(self, request: Request) -> Response:  # noqa: ARG002
        """The languages; each may be asked for as its own target, which changes nothing."""
        pairs = self.service.pairs()
        records = []
        for code in languages(self.service):
            targets = [base_code(pair.target) for pair in pairs if base_code(pair.source) == code]
            records.append(LanguageRecord(code, name_of(code), sorted({code, *targets})))
        return as_json(records)

    async def health(self, request: Request) -> Response:  # noqa: ARG002
        """Whether the server answers."""
        return as_json({"status": "ok"})

    async def settings(self, request: Request) -> Response:  # noqa: ARG002
        """What a page in front of this API must know."""
        pairs = self.service.pairs()
        pair = (pairs[0].source, pairs[0].target) if pairs else ("", "")
        source, target = ({"code": base_code(code), "name": name_of(code)} for code in pair)
        return as_json(
            {
                "apiKeys": self.service.keys.required,
                "keyRequired": self.service.keys.required,
                "charLimit": self.service.limits.characters,
                "frontendTimeout": 500,
                "suggestions": False,
                "filesTranslation": True,
                "supportedFilesFormat": list(FORMATS),
                "language": {"source": source, "target": target},
            }
        )


def routes(service: Service) -> list[Route]:
    """The routes of this API."""
    own = LibreTranslate(service)
    return [
        Route("/translate", own.translate, methods=["POST"]),
        Route("/detect", own.detect, methods=["POST"]),
        Route("/languages", own.languages),
        Route("/health", own.health),
        Route("/frontend/settings", own.settings),
        *FileRoutes(service).routes(),
    ]


def _answer(asked: TranslateFields, outcomes: list[Outcome]) -> TranslateAnswer:
    """One of each for a text, lists of them for a list."""
    best = [outcome.texts[0] for outcome in outcomes]
    others = [outcome.texts[1:] for outcome in outcomes] if asked.alternatives else None
    found = [_detected(one.direction.source, one.direction.confidence) for one in outcomes]
    detected = found if asked.source == AUTO else None
    if isinstance(asked.q, list):
        return TranslateAnswer(translatedText=best, alternatives=others, detectedLanguage=detected)
    return TranslateAnswer(
        translatedText=best[0],
        alternatives=others[0] if others else None,
        detectedLanguage=detected[0] if detected else None,
    )


def _detected(code: str, confidence: float) -> Detected:
    return Detected(round(100 * confidence, 1), base_code(code))


_ANYTHING: dict[str, Any] = {"type": "object"}
ROUTES_SCHEMA: Paths = {
    "/translate": {
        "post": {
            "summary": "Translate a text or a list of texts; the fields may also come as a form or in the query.",
            "description": SENTENCES,
            "requestBody": takes(TranslateFields),
            "responses": answers(TranslateAnswer, refusals=Failure),
        }
    },
    "/detect": {
        "post": {
            "summary": "The languages that a text may be in, the likeliest first.",
            "requestBody": takes(DetectFields),
            "responses": answers(list[Detected], refusals=Failure),
        }
    },
    "/languages": {
        "get": {
            "summary": "The languages, and into which each is translated.",
            "responses": answers(list[LanguageRecord], refusals=Failure),
        }
    },
    "/health": {"get": {"summary": "The server answers.", "responses": answers(_ANYTHING, refusals=Failure)}},
    "/frontend/settings": {
        "get": {"summary": "Limits and defaults for a page.", "responses": answers(_ANYTHING, refusals=Failure)}
    },
    **FILES_SCHEMA,
}

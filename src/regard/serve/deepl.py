"""The API of DeepL, version 2, as far as its clients use it: translating, languages, usage."""

from collections import Counter
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.documents import Tags, Template, plain, read_html, read_xml, unsplit
from regard.serve.fields import read_as
from regard.serve.languages import base_code, name_of
from regard.serve.openapi import SENTENCES, Paths, answers, asks, takes
from regard.serve.refusals import Refusal
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.speaking import check_key, direct_all, in_time, translate_texts

NO_LIMIT = 1_000_000_000_000  # what DeepL itself says where there is none
# Clients refuse to ask for a target without its region where DeepL has several.
REGIONS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}
Code = Annotated[str, Meta(min_length=1, max_length=40)]


class TranslateFields(msgspec.Struct, frozen=True, kw_only=True):
    """What /v2/translate takes, as far as it means anything here; other fields are let pass."""

    text: str | list[str]
    target_lang: Code
    source_lang: Code | None = None
    split_sentences: str | int | bool = "1"
    tag_handling: str | None = None
    splitting_tags: str | list[str] = ""  # of XML, as the next two are
    non_splitting_tags: str | list[str] = ""
    outline_detection: str | int | bool = "1"
    ignore_tags: str | list[str] = ""  # of HTML too
    glossary_id: str | None = None
    formality: str | None = None


class LanguagesFields(msgspec.Struct, frozen=True):
    """What /v2/languages takes."""

    type: str = "source"


class TranslationRecord(msgspec.Struct, frozen=True):
    """A translation; the Python client fails unless `billed_characters` is there."""

    detected_source_language: str
    text: str
    billed_characters: int


class TranslateAnswer(msgspec.Struct, frozen=True):
    """The translations, in the order of the texts."""

    translations: list[TranslationRecord]


class LanguageRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A language; of targets it is said whether they know degrees of politeness."""

    language: str
    name: str
    supports_formality: bool | None = None


class Usage(msgspec.Struct, frozen=True):
    """Characters translated since the server started, for this key."""

    character_count: int
    character_limit: int


class Failure(msgspec.Struct, frozen=True):
    """The form of refusals."""

    message: str


class DeepL:
    """The routes over a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.characters: Counter[int | None] = Counter()  # by key

    async def translate(self, request: Request) -> Response:
        """Translate a text or several."""
        self._check_key(request)
        asked = await read_as(request, self.service.limits, TranslateFields)
        texts = asked.text if isinstance(asked.text, list) else [asked.text]
        self.service.limits.check_texts(texts)
        _refuse_unknown(asked)
        directions = await direct_all(self.service, texts, source=asked.source_lang, target=asked.target_lang)
        work = translate_texts(self.service, texts, directions, read=lambda text: _read(text, asked), wish=Wish())
        outcomes = await in_time(self.service, request, work)
        self.characters[self._key(request)] += sum(map(len, texts))
        records = [
            TranslationRecord(base_code(one.direction.source).upper(), one.texts[0], len(text))
            for text, one in zip(texts, outcomes, strict=True)
        ]
        return as_json(TranslateAnswer(records))

    async def languages(self, request: Request) -> Response:
        """The source languages, or the target languages; the Python client asks which in the body of its GET."""
        self._check_key(request)
        asked = await read_as(request, self.service.limits, LanguagesFields)
        if asked.type not in ("source", "target"):
            raise Refusal(400, "bad_type", "The type must be source or target.")
        return as_json(self._sources() if asked.type == "source" else self._targets())

    async def usage(self, request: Request) -> Response:
        """How much was translated."""
        self._check_key(request)
        return as_json(Usage(self.characters[self._key(request)], NO_LIMIT))

    def _check_key(self, request: Request) -> None:
        """Old clients still send the key in the query."""
        check_key(self.service, request, given=request.query_params.get("auth_key"))

    def _key(self, request: Request) -> int | None:
        return self.service.keys.named(request.headers, given=request.query_params.get("auth_key"))

    def _sources(self) -> list[LanguageRecord]:
        codes = sorted({base_code(pair.source) for pair in self.service.pairs()})
        return [LanguageRecord(code.upper(), name_of(code)) for code in codes]

    def _targets(self) -> list[LanguageRecord]:
        codes = sorted({base_code(pair.target) for pair in self.service.pairs()})
        shown = [(region, code) for code in codes for region in REGIONS.get(code, (code.upper(),))]
        return [LanguageRecord(region, name_of(code), supports_formality=False) for region, code in shown]


def routes(service: Service) -> list[Route]:
    """The routes of this API."""
    own = DeepL(service)
    return [
        Route("/v2/translate", own.translate, methods=["POST"]),
        Route("/v2/languages", own.languages),
        Route("/v2/usage", own.usage),
    ]


def _refuse_unknown(asked: TranslateFields) -> None:
    """Refuse what would change the translation and cannot be done; what is only preferred is let pass."""
    if asked.tag_handling not in (None, "", "html", "xml"):
        raise Refusal(400, "bad_tag_handling", "tag_handling must be html or xml.")
    if asked.glossary_id:
        raise Refusal(400, "no_glossaries", "There are no glossaries here.")
    if asked.formality in ("more", "less"):
        raise Refusal(400, "no_formality", "Formality cannot be chosen here. Leave it out, or prefer it.")
    _splitting(asked)
    _has_outline(asked)


def _read(text: str, asked: TranslateFields) -> Template:
    splitting = _splitting(asked)
    if asked.tag_handling == "xml":
        template = read_xml(text, _tags(asked))
    elif asked.tag_handling == "html":
        template = read_html(text, kept=_names(asked.ignore_tags))
    else:
        template = plain(text, lines_end=splitting == "1")
    return unsplit(template) if splitting == "0" else template


def _tags(asked: TranslateFields) -> Tags:
    """What the tags of XML mean, as far as it was said."""
    return Tags(
        splitting=_names(asked.splitting_tags),
        inline=_names(asked.non_splitting_tags),
        kept=_names(asked.ignore_tags),
        has_outline=_has_outline(asked),
    )


def _names(given: str | list[str]) -> frozenset[str]:
    """Names of tags, in a list or parted by commas."""
    texts = given if isinstance(given, list) else [given]
    return frozenset(name.strip().lower() for text in texts for name in text.split(",") if name.strip())


def _has_outline(asked: TranslateFields) -> bool:
    """Whether the structure of XML is to be found out."""
    known = {"0": False, "false": False, "1": True, "true": True}
    given = str(asked.outline_detection).lower()
    if given not in known:
        raise Refusal(400, "bad_outline_detection", "outline_detection must be 0 or 1.")
    return known[given]


def _splitting(asked: TranslateFields) -> Literal["0", "1", "nonewlines"]:
    """Where sentences end: 0 asks for none, but a text longer than the model reads is split all the same."""
    known: dict[str, Literal["0", "1", "nonewlines"]] = {
        "0": "0",
        "false": "0",
        "1": "1",
        "true": "1",
        "nonewlines": "nonewlines",
    }
    given = str(asked.split_sentences).lower()
    if given not in known:
        raise Refusal(400, "bad_split_sentences", "split_sentences must be 0, 1 or nonewlines.")
    return known[given]


ROUTES_SCHEMA: Paths = {
    "/v2/translate": {
        "post": {
            "summary": "Translate texts, as DeepL does; the fields may also come as a form, with `text` repeated.",
            "description": f"{SENTENCES} With `split_sentences` 0 it is not, as far as the model can read it.",
            "requestBody": takes(TranslateFields),
            "responses": answers(TranslateAnswer, refusals=Failure),
        }
    },
    "/v2/languages": {
        "get": {
            "summary": "The source or the target languages.",
            "parameters": [asks("type", {"type": "string", "enum": ["source", "target"]})],
            "responses": answers(list[LanguageRecord], refusals=Failure),
        }
    },
    "/v2/usage": {"get": {"summary": "Characters translated.", "responses": answers(Usage, refusals=Failure)}},
}

"""The API of DeepL, version 2, as far as its clients use it: translation, languages, usage."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request

from regard.documents import Template, XmlTagRules, plain_text_template, read_html, read_xml, without_splitting
from regard.languages import base_code, language_name
from regard.server.batcher import DecodeRequest
from regard.server.endpoint import SPLIT_SENTENCES, Endpoint
from regard.server.errors import ApiError
from regard.server.service import Service

UNLIMITED_CHARACTERS = 1_000_000_000_000  # DeepL's own number for an account without a limit

# Clients reject a target without its region where DeepL has several.
TARGET_REGIONS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}

SplitSentences = Literal["0", "1", "nonewlines"]
SPLIT_SENTENCES_VALUES: dict[str, SplitSentences] = {
    "0": "0",
    "false": "0",
    "1": "1",
    "true": "1",
    "nonewlines": "nonewlines",
}
OUTLINE_DETECTION_VALUES = {"0": False, "false": False, "1": True, "true": True}

DeepLLanguageCode = Annotated[str, Meta(min_length=1, max_length=40)]


class DeepLTranslateFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of /v2/translate that have an effect here; others are ignored."""

    text: str | list[str]
    target_lang: DeepLLanguageCode
    source_lang: DeepLLanguageCode | None = None
    split_sentences: str | int | bool = "1"
    tag_handling: str | None = None
    splitting_tags: str | list[str] = ""  # of XML, as the next two
    non_splitting_tags: str | list[str] = ""
    outline_detection: str | int | bool = "1"
    ignore_tags: str | list[str] = ""  # of HTML too
    glossary_id: str | None = None
    formality: str | None = None
    auth_key: str | None = None  # old clients send the key in the query


class DeepLLanguagesFields(msgspec.Struct, frozen=True):
    """The fields of /v2/languages; the Python client sends them in the body of its GET."""

    type: Literal["source", "target"] = "source"
    auth_key: str | None = None


class DeepLUsageFields(msgspec.Struct, frozen=True):
    """The fields of /v2/usage."""

    auth_key: str | None = None


class DeepLTranslation(msgspec.Struct, frozen=True):
    """A translation; the Python client needs `billed_characters`."""

    detected_source_language: str
    text: str
    billed_characters: int


class DeepLTranslateResponse(msgspec.Struct, frozen=True):
    """The translations, in the order of the texts."""

    translations: list[DeepLTranslation]


class DeepLLanguage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A language; a target also has whether it supports formality."""

    language: str
    name: str
    supports_formality: bool | None = None


class DeepLUsage(msgspec.Struct, frozen=True):
    """The characters that were translated for this key since the server started."""

    character_count: int
    character_limit: int


async def translate(service: Service, body: DeepLTranslateFields, request: Request) -> DeepLTranslateResponse:
    """Translate one text or several."""
    _check_supported(body)
    texts = body.text if isinstance(body.text, list) else [body.text]
    translated = await service.translate(
        texts,
        source=body.source_lang,
        target=body.target_lang,
        read=lambda text: _read_template(text, body),
        options=DecodeRequest(),
    )
    service.characters[_key(service, body.auth_key, request)] += sum(map(len, texts))
    return DeepLTranslateResponse(
        [
            DeepLTranslation(base_code(one.direction.source).upper(), one.texts[0], len(text))
            for text, one in zip(texts, translated, strict=True)
        ]
    )


async def languages(service: Service, body: DeepLLanguagesFields, request: Request) -> list[DeepLLanguage]:  # noqa: ARG001
    """The source languages, or the target languages."""
    if body.type == "source":
        codes = sorted({base_code(pair.source) for pair in service.pairs()})
        return [DeepLLanguage(code.upper(), language_name(code)) for code in codes]
    codes = sorted({base_code(pair.target) for pair in service.pairs()})
    regions = [(region, code) for code in codes for region in TARGET_REGIONS.get(code, (code.upper(),))]
    return [DeepLLanguage(region, language_name(code), supports_formality=False) for region, code in regions]


async def usage(service: Service, body: DeepLUsageFields, request: Request) -> DeepLUsage:
    """The number of characters that were translated."""
    return DeepLUsage(service.characters[_key(service, body.auth_key, request)], UNLIMITED_CHARACTERS)


def _key(service: Service, given: str | None, request: Request) -> int | None:
    """The index of the client's key."""
    in_headers = service.keys.identify(request.headers)
    return service.keys.identify({}, given=given or "") if in_headers is None else in_headers


def _check_supported(body: DeepLTranslateFields) -> None:
    """Raise for an option that would change the translation and is not supported; preferences are ignored."""
    if body.tag_handling not in (None, "", "html", "xml"):
        raise ApiError(400, "bad_tag_handling", "tag_handling must be html or xml.")
    if body.glossary_id:
        raise ApiError(400, "no_glossaries", "Glossaries are not supported. Remove glossary_id.")
    if body.formality in ("more", "less"):
        raise ApiError(400, "no_formality", "Formality is not supported. Remove it, or use prefer_more or prefer_less.")
    if str(body.split_sentences).lower() not in SPLIT_SENTENCES_VALUES:
        raise ApiError(400, "bad_split_sentences", "split_sentences must be 0, 1 or nonewlines.")
    if str(body.outline_detection).lower() not in OUTLINE_DETECTION_VALUES:
        raise ApiError(400, "bad_outline_detection", "outline_detection must be 0 or 1.")


def _read_template(text: str, body: DeepLTranslateFields) -> Template:
    """The text as a template; with split_sentences=0 it is one sentence, unless the model cannot take it as one."""
    splitting = SPLIT_SENTENCES_VALUES[str(body.split_sentences).lower()]
    if body.tag_handling == "xml":
        rules = XmlTagRules(
            splitting=_tag_names(body.splitting_tags),
            inline=_tag_names(body.non_splitting_tags),
            ignore=_tag_names(body.ignore_tags),
            outline_detection=OUTLINE_DETECTION_VALUES[str(body.outline_detection).lower()],
        )
        template = read_xml(text, rules)
    elif body.tag_handling == "html":
        template = read_html(text, ignore=_tag_names(body.ignore_tags))
    else:
        template = plain_text_template(text, break_at_newlines=splitting == "1")
    return without_splitting(template) if splitting == "0" else template


def _tag_names(given: str | list[str]) -> frozenset[str]:
    """Tag names in a list or separated by commas."""
    texts = given if isinstance(given, list) else [given]
    return frozenset(name.strip().lower() for text in texts for name in text.split(",") if name.strip())


ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/v2/translate",
        handler=translate,
        body=DeepLTranslateFields,
        body_format="fields",
        response=DeepLTranslateResponse,
        uses_queue=True,
        summary="Translate texts as DeepL does; the fields may also come as a form, with `text` repeated.",
        description=f"{SPLIT_SENTENCES} With `split_sentences` 0 it is not, if the model can take it as one sentence.",
    ),
    Endpoint(
        method="GET",
        path="/v2/languages",
        handler=languages,
        body=DeepLLanguagesFields,
        body_format="fields",
        response=list[DeepLLanguage],
        summary="The source or the target languages.",
    ),
    Endpoint(
        method="GET",
        path="/v2/usage",
        handler=usage,
        body=DeepLUsageFields,
        body_format="fields",
        response=DeepLUsage,
        summary="The number of characters that were translated.",
    ),
]

"""The API of DeepL, version 2, as far as its clients use it: translation, languages, usage."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request

from regard.documents import Template, XmlTagRules, plain_text_template, read_html, read_xml, without_splitting
from regard.languages import base_code, language_name
from regard.server.batcher import DecodeRequest
from regard.server.endpoint import SPLIT_SENTENCES, Endpoints
from regard.server.errors import ApiError
from regard.server.service import Service

ENDPOINTS = Endpoints()
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
    api_key: str | None = msgspec.field(default=None, name="auth_key")


class DeepLLanguagesFields(msgspec.Struct, frozen=True):
    """The fields of /v2/languages; the Python client sends them in the body of its GET."""

    type: Literal["source", "target"] = "source"
    api_key: str | None = msgspec.field(default=None, name="auth_key")


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


@ENDPOINTS.add(
    "POST",
    "/v2/translate",
    uses_queue=True,
    description=f"{SPLIT_SENTENCES} With `split_sentences` 0 it is not, if the model can take it as one sentence.",
)
async def translate(service: Service, fields: DeepLTranslateFields, request: Request) -> DeepLTranslateResponse:
    """Translate texts as DeepL does; the fields may also come as a form, with `text` repeated."""
    _check_supported(fields)
    texts = fields.text if isinstance(fields.text, list) else [fields.text]
    translated = await service.translate(
        texts,
        source=fields.source_lang,
        target=fields.target_lang,
        read=lambda text: _read_template(text, fields),
        options=DecodeRequest(),
    )
    service.characters[request.state.key] += sum(map(len, texts))
    return DeepLTranslateResponse(
        [
            DeepLTranslation(base_code(one.direction.source).upper(), one.texts[0], len(text))
            for text, one in zip(texts, translated, strict=True)
        ]
    )


@ENDPOINTS.add("GET", "/v2/languages")
async def languages(service: Service, fields: DeepLLanguagesFields) -> list[DeepLLanguage]:
    """The source or the target languages."""
    if fields.type == "source":
        codes = sorted({base_code(pair.source) for pair in service.pairs()})
        return [DeepLLanguage(code.upper(), language_name(code)) for code in codes]
    codes = sorted({base_code(pair.target) for pair in service.pairs()})
    regions = [(region, code) for code in codes for region in TARGET_REGIONS.get(code, (code.upper(),))]
    return [DeepLLanguage(region, language_name(code), supports_formality=False) for region, code in regions]


@ENDPOINTS.add("GET", "/v2/usage")
async def usage(service: Service, request: Request) -> DeepLUsage:
    """The number of characters that were translated."""
    return DeepLUsage(service.characters[request.state.key], UNLIMITED_CHARACTERS)


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

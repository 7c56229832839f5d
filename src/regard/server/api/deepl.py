"""The API of DeepL, version 2, as far as its clients use it: texts, documents, languages, usage."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from regard.documents import Template, XmlTagRules, plain_text_template, read_html, read_xml, without_splitting
from regard.languages import base_code, language_name
from regard.server.batcher import DecodeRequest
from regard.server.endpoint import BYTES, SPLIT_SENTENCES, Content, Endpoints
from regard.server.errors import ApiError
from regard.server.requests import Upload
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
MODEL_TYPES = {  # one model serves every type; by the type that was requested, the one that was used
    "": "quality_optimized",
    "quality_optimized": "quality_optimized",
    "prefer_quality_optimized": "quality_optimized",
    "latency_optimized": "latency_optimized",
}
ALLOWED_VALUES = {
    "tag_handling": ("", "html", "xml"),
    "tag_handling_version": ("", "v1", "v2"),
    "model_type": tuple(MODEL_TYPES),
    "split_sentences": tuple(SPLIT_SENTENCES_VALUES),
    "outline_detection": tuple(OUTLINE_DETECTION_VALUES),
}
UNSUPPORTED_FIELDS = ("glossary_id", "glossary_ids", "style_id", "custom_instructions", "translation_memory_id")

DeepLLanguageCode = Annotated[str, Meta(min_length=1, max_length=40)]


class DeepLFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of texts and documents that have an effect here, or that are refused; others are ignored."""

    target_lang: DeepLLanguageCode
    source_lang: DeepLLanguageCode | None = None
    formality: str | None = None
    glossary_id: str | None = None
    glossary_ids: str | list[str] | None = None
    style_id: str | None = None
    translation_memory_id: str | None = None
    api_key: str | None = msgspec.field(name="auth_key", default=None)  # where old clients send it


class DeepLTranslateFields(DeepLFields, frozen=True, kw_only=True):
    """The fields of /v2/translate."""

    text: str | Annotated[list[str], Meta(min_length=1)]
    split_sentences: str | int | bool = "1"
    tag_handling: str | None = None
    splitting_tags: str | list[str] = ""  # of XML, as the next two
    non_splitting_tags: str | list[str] = ""
    outline_detection: str | int | bool = "1"
    ignore_tags: str | list[str] = ""  # of HTML too
    tag_handling_version: str | None = None
    model_type: str | None = None
    custom_instructions: str | list[str] | None = None


class DeepLDocumentFields(DeepLFields, frozen=True, kw_only=True):
    """The fields of /v2/document beside the file."""

    output_format: str | None = None


class DeepLLanguagesFields(msgspec.Struct, frozen=True):
    """The fields of /v2/languages; the Python client sends them in the body of its GET."""

    type: Literal["source", "target"] = "source"
    api_key: str | None = msgspec.field(name="auth_key", default=None)


class DeepLTranslation(msgspec.Struct, frozen=True, kw_only=True):
    """A translation; the Python client needs `billed_characters`."""

    detected_source_language: str
    text: str
    billed_characters: int
    model_type_used: str


class DeepLTranslateResponse(msgspec.Struct, frozen=True):
    """The translations, in the order of the texts."""

    translations: list[DeepLTranslation]


class DeepLDocument(msgspec.Struct, frozen=True):
    """A document that was accepted; a client with its id can download the result."""

    document_id: str
    document_key: str


class DeepLDocumentStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The progress of a document."""

    document_id: str
    status: str
    seconds_remaining: int | None = None
    billed_characters: int | None = None
    error_message: str | None = None


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
    check_fields(service, fields)
    check_values(fields)
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
            DeepLTranslation(
                detected_source_language=base_code(one.direction.source).upper(),
                text=one.texts[0],
                billed_characters=len(text),
                model_type_used=MODEL_TYPES[fields.model_type or ""],
            )
            for text, one in zip(texts, translated, strict=True)
        ]
    )


@ENDPOINTS.add("POST", "/v2/document", upload_field="file", uses_queue=True, has_deadline=False)
async def translate_document(service: Service, upload: Upload[DeepLDocumentFields], request: Request) -> DeepLDocument:
    """Translate a document in the background."""
    fields = upload.fields
    check_fields(service, fields)
    if fields.output_format and not upload.name.lower().endswith(f".{fields.output_format.lower()}"):
        raise ApiError(400, "not_supported", "output_format is not supported, unless it is the format of the file.")
    job = await service.start_document(
        upload.name, upload.content, source=fields.source_lang, target=fields.target_lang
    )
    service.characters[request.state.key] += job.characters
    return DeepLDocument(job.id, job.id)


@ENDPOINTS.add("POST", "/v2/document/{job_id}")
async def document_status(service: Service, job_id: str) -> DeepLDocumentStatus:
    """The progress of a document."""
    job = service.jobs.find(job_id)
    return DeepLDocumentStatus(
        document_id=job.id,
        status={"running": "translating", "done": "done", "failed": "error"}[job.state],
        seconds_remaining=1 if job.state == "running" else None,
        billed_characters=job.characters if job.state == "done" else None,
        error_message=job.error.message if job.error else None,
    )


@ENDPOINTS.add("POST", "/v2/document/{job_id}/result", response=Content(BYTES), has_deadline=False)
async def document_result(service: Service, job_id: str) -> Response:
    """The translated document."""
    job = service.jobs.find(job_id)
    if job.state != "done":
        raise job.error or ApiError(503, "not_done", "The document is not translated yet.", retry_after=1)
    return service.jobs.download(job)


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


def check_fields(service: Service, fields: DeepLFields) -> None:
    """Raise for an option that would change the translation and is not supported, and for an unknown language."""
    for name in UNSUPPORTED_FIELDS:
        if getattr(fields, name, None):
            raise ApiError(400, "not_supported", f"{name} is not supported by this server. Remove it.")
    formality = (fields.formality or "default").lower()
    if formality in ("more", "less"):
        message = "Target language does not support formality. Remove it, or use prefer_more or prefer_less."
        raise ApiError(400, "not_supported", message)
    if formality not in ("default", "prefer_more", "prefer_less"):
        raise ApiError(400, "bad_formality", "Value for 'formality' not supported. Remove it.")
    for name, code in (("source_lang", fields.source_lang), ("target_lang", fields.target_lang)):
        known = {base_code(pair.source if name == "source_lang" else pair.target) for pair in service.pairs()}
        if known and code is not None and base_code(code) not in known:
            raise ApiError(400, f"bad_{name}", f"Value for '{name}' not supported. See GET /v2/languages.")


def check_values(fields: DeepLTranslateFields) -> None:
    """Raise for a value that an option does not have."""
    given = {
        "tag_handling": (fields.tag_handling or "").lower(),
        "tag_handling_version": (fields.tag_handling_version or "").lower(),
        "model_type": fields.model_type or "",
        "split_sentences": str(fields.split_sentences).lower(),
        "outline_detection": str(fields.outline_detection).lower(),
    }
    for name, value in given.items():
        if value not in ALLOWED_VALUES[name]:
            allowed = ", ".join(filter(None, ALLOWED_VALUES[name]))
            raise ApiError(400, f"bad_{name}", f"Value for '{name}' not supported. Allowed: {allowed}.")


def _read_template(text: str, body: DeepLTranslateFields) -> Template:
    """The text as a template; with split_sentences=0 it is one sentence, unless the model cannot take it as one."""
    splitting = SPLIT_SENTENCES_VALUES[str(body.split_sentences).lower()]
    tag_handling = (body.tag_handling or "").lower()
    if tag_handling == "xml":
        rules = XmlTagRules(
            splitting=_tag_names(body.splitting_tags),
            inline=_tag_names(body.non_splitting_tags),
            ignore=_tag_names(body.ignore_tags),
            outline_detection=OUTLINE_DETECTION_VALUES[str(body.outline_detection).lower()],
        )
        template = read_xml(text, rules)
    elif tag_handling == "html":
        template = read_html(text, ignore=_tag_names(body.ignore_tags))
    else:
        template = plain_text_template(text, break_at_newlines=splitting == "1")
    return without_splitting(template) if splitting == "0" else template


def _tag_names(given: str | list[str]) -> frozenset[str]:
    """Tag names in a list or separated by commas."""
    texts = given if isinstance(given, list) else [given]
    return frozenset(name.strip().lower() for text in texts for name in text.split(",") if name.strip())

"""The API of LibreTranslate, as far as its clients use it: text and HTML, files, detection, languages, settings."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from regard.documents import FORMATS, Template, plain_text_template, read_html
from regard.languages import base_code, language_name
from regard.server.batcher import DecodeRequest
from regard.server.document_jobs import DocumentJob
from regard.server.endpoint import BYTES, SPLIT_SENTENCES, Content, Endpoints, json_response
from regard.server.errors import ApiError, LibreTranslateError
from regard.server.requests import Upload
from regard.server.service import Service

ENDPOINTS = Endpoints()
AUTO = "auto"  # the source whose language is to be detected
MIN_CONFIDENCE = 0.01  # of a language that /detect lists
TEMPLATE_READERS: dict[str, Callable[[str], Template]] = {"text": plain_text_template, "html": read_html}

LanguageCode = Annotated[str, Meta(min_length=1, max_length=40)]


class LibreTranslateFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of /translate; `format` is "text" or "html", `source` may be "auto"; null is the default."""

    q: str | list[str]
    target: LanguageCode
    source: LanguageCode | None = None
    format: Literal["text", "html", ""] | None = None
    alternatives: Annotated[int, Meta(ge=0, le=100)] | Annotated[str, Meta(pattern="^[0-9]{0,2}$")] | None = None
    api_key: str | None = None


class DetectFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of /detect."""

    q: str | list[str]
    api_key: str | None = None


class FileFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of /translate_file beside the file."""

    target: LanguageCode
    source: LanguageCode = AUTO
    wait: bool = True
    api_key: str | None = None


class DetectedLanguage(msgspec.Struct, frozen=True):
    """A language, and its confidence from 0 to 100."""

    confidence: float
    language: str


class LibreTranslateResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The translations; lists if `q` was a list."""

    translatedText: str | list[str]  # noqa: N815  (the API's own name)
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815
    alternatives: Sequence[str | list[str]] | None = None


class LibreTranslateLanguage(msgspec.Struct, frozen=True):
    """A language, and the languages that it can be translated into."""

    code: str
    name: str
    targets: list[str]


class FileTranslationResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The URL of the translated file."""

    translatedFileUrl: str  # noqa: N815


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a document job; it has the URL of the result once it is done."""

    id: str
    state: str
    progress: float
    translated: int
    total: int
    statusUrl: str  # noqa: N815
    translatedFileUrl: str | None  # noqa: N815
    error: str | None


# --- texts ---


@ENDPOINTS.add("POST", "/translate", uses_queue=True, description=SPLIT_SENTENCES)
async def translate_text(service: Service, fields: LibreTranslateFields) -> LibreTranslateResponse:
    """Translate a text or a list of texts; the fields may also come as a form or in the query."""
    alternatives = int(fields.alternatives or 0)
    source = None if fields.source == AUTO else fields.source
    check_languages(service, source, fields.target)
    translated = await service.translate(
        fields.q if isinstance(fields.q, list) else [fields.q],
        source=source,
        target=fields.target,
        read=TEMPLATE_READERS[fields.format or "text"],
        options=DecodeRequest(nbest=alternatives + 1),
    )
    best = [one.texts[0] for one in translated]
    others = [one.texts[1:] for one in translated] if alternatives else None
    directions = [one.direction for one in translated] if source is None else []
    detected = [_detected_language(one.source, one.confidence) for one in directions] or None
    if isinstance(fields.q, list):
        return LibreTranslateResponse(translatedText=best, alternatives=others, detectedLanguage=detected)
    return LibreTranslateResponse(
        translatedText=best[0],
        alternatives=others and others[0],
        detectedLanguage=detected and detected[0],
    )


def check_languages(service: Service, *codes: str | None) -> None:
    """Raise, as LibreTranslate does, for a language that no model has; only plain codes are repeated."""
    known = service.languages()
    for code in codes:
        if known and code is not None and base_code(code) not in known:
            name = code if re.fullmatch("[a-zA-Z]{2,3}", code) else "The language"
            raise ApiError(400, "no_language", f"{name} is not supported")


@ENDPOINTS.add("POST", "/detect")
async def detect(service: Service, fields: DetectFields) -> list[DetectedLanguage]:
    """The languages that a text may be in, the most likely first."""
    text = " ".join(fields.q) if isinstance(fields.q, list) else fields.q
    found = await service.detect(text)
    likely = [one for one in found if one[1] >= MIN_CONFIDENCE] or found[:1]
    return [_detected_language(code, confidence) for code, confidence in likely]


def _detected_language(code: str, confidence: float) -> DetectedLanguage:
    return DetectedLanguage(round(100 * confidence, 1), base_code(code))


@ENDPOINTS.add("GET", "/languages", needs_key=False)
async def languages(service: Service) -> list[LibreTranslateLanguage]:
    """The languages, and the targets of each."""
    pairs = service.pairs()
    records = []
    for code in service.languages():
        targets = [base_code(pair.target) for pair in pairs if base_code(pair.source) == code]
        records.append(LibreTranslateLanguage(code, language_name(code), sorted({code, *targets})))
    return records


@ENDPOINTS.add("GET", "/health", needs_key=False)
async def health() -> dict[str, str]:
    """The server responds."""
    return {"status": "ok"}


@ENDPOINTS.add("GET", "/frontend/settings", needs_key=False)
async def settings(service: Service) -> dict[str, Any]:
    """Limits and defaults for a front end."""
    pairs = service.pairs()
    pair = (pairs[0].source, pairs[0].target) if pairs else ("", "")
    source, target = ({"code": base_code(code), "name": language_name(code)} for code in pair)
    return {
        "apiKeys": service.keys.required,
        "keyRequired": service.keys.required,
        "charLimit": service.limits.max_characters,
        "frontendTimeout": 500,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {"source": source, "target": target},
    }


@ENDPOINTS.add("POST", "/suggest", needs_key=False, other_responses={403: LibreTranslateError})
async def suggest() -> Response:
    """Suggest a better translation: always refused, since nothing would read it."""
    raise ApiError(403, "no_suggestions", "Suggestions are disabled on this server.")


# --- files ---


@ENDPOINTS.add(
    "POST",
    "/translate_file",
    upload_field="file",
    uses_queue=True,
    has_deadline=False,
    other_responses={202: JobRecord},
    response=FileTranslationResponse,
    description=f"{SPLIT_SENTENCES} Formats: {', '.join(FORMATS)}.",
)
async def translate_file(service: Service, upload: Upload[FileFields], request: Request) -> Response:
    """Translate a file; with wait=false the response comes at once, with the URL of the status."""
    fields = upload.fields
    source = None if fields.source == AUTO else fields.source
    check_languages(service, source, fields.target)
    job = await service.start_document(upload.name, upload.content, source=source, target=fields.target)
    if not fields.wait:
        return json_response(_job_record(request, job), status=202)
    await service.jobs.finish(job)
    if job.error is not None:
        raise job.error
    return json_response(FileTranslationResponse(translatedFileUrl=_result_url(request, job)))


@ENDPOINTS.add("GET", "/translate_file/{job_id}", needs_key=False)
async def job_status(service: Service, job_id: str, request: Request) -> JobRecord:
    """The progress of a file."""
    return _job_record(request, service.jobs.find(job_id))


@ENDPOINTS.add("DELETE", "/translate_file/{job_id}", other_responses={204: None}, needs_key=False)
async def delete_job(service: Service, job_id: str) -> Response:
    """Cancel the translation of a file, or delete its result."""
    service.jobs.delete(service.jobs.find(job_id))
    return Response(status_code=204)


@ENDPOINTS.add("GET", "/download_file/{job_id}/{name}", has_deadline=False, needs_key=False, response=Content(BYTES))
async def download(service: Service, job_id: str) -> Response:
    """The translated file."""
    job = service.jobs.find(job_id)
    if job.state != "done":
        raise job.error or ApiError(404, "not_done", "The file is not translated yet. Retry later.")
    return service.jobs.download(job)


def _result_url(request: Request, job: DocumentJob) -> str:
    return f"{request.base_url}download_file/{job.id}/{quote(job.name)}"


def _job_record(request: Request, job: DocumentJob) -> JobRecord:
    is_done = job.state == "done"
    return JobRecord(
        id=job.id,
        state=job.state,
        progress=1.0 if is_done else job.translated / max(1, job.total),
        translated=job.translated,
        total=job.total,
        statusUrl=f"{request.base_url}translate_file/{job.id}",
        translatedFileUrl=_result_url(request, job) if is_done else None,
        error=job.error.message if job.error else None,
    )

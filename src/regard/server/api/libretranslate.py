"""The API of LibreTranslate, as far as its clients use it: text and HTML, files, detection, languages, settings."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from regard.documents import FORMATS, Segment, Template, plain_text_template, read_document, read_html, translate
from regard.languages import base_code, language_name
from regard.server.batcher import DecodeRequest
from regard.server.endpoint import BYTES, SPLIT_SENTENCES, Content, Endpoint, json_response
from regard.server.errors import ApiError
from regard.server.jobs import DocumentJob
from regard.server.requests import Upload
from regard.server.service import LanguageDirection, Service, TranslatedText

AUTO = "auto"  # the source whose language is to be detected
MIN_CONFIDENCE = 0.01  # of a language that /detect lists
TEMPLATE_READERS: dict[str, Callable[[str], Template]] = {"text": plain_text_template, "html": read_html}

LanguageCode = Annotated[str, Meta(min_length=1, max_length=40)]


class LibreTranslateFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of /translate; `format` is "text" or "html", `source` may be "auto"."""

    q: str | list[str]
    target: LanguageCode
    source: LanguageCode = AUTO
    format: Annotated[str, Meta(pattern="^(text|html)$")] = "text"
    alternatives: Annotated[int, Meta(ge=0, le=100)] = 0
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


async def translate_text(
    service: Service,
    body: LibreTranslateFields,
    request: Request,  # noqa: ARG001
) -> LibreTranslateResponse:
    """Translate a text or a list of texts."""
    texts = body.q if isinstance(body.q, list) else [body.q]
    translated = await service.translate(
        texts,
        source=None if body.source == AUTO else body.source,
        target=body.target,
        read=TEMPLATE_READERS[body.format],
        options=DecodeRequest(nbest=body.alternatives + 1),
    )
    return _translate_response(body, translated)


def _translate_response(body: LibreTranslateFields, translated: list[TranslatedText]) -> LibreTranslateResponse:
    """One of each for a text, lists of them for a list."""
    best = [one.texts[0] for one in translated]
    others = [one.texts[1:] for one in translated] if body.alternatives else None
    directions = [one.direction for one in translated] if body.source == AUTO else []
    detected = [_detected_language(one.source, one.confidence) for one in directions] or None
    if isinstance(body.q, list):
        return LibreTranslateResponse(translatedText=best, alternatives=others, detectedLanguage=detected)
    return LibreTranslateResponse(
        translatedText=best[0],
        alternatives=others[0] if others else None,
        detectedLanguage=detected[0] if detected else None,
    )


async def detect(service: Service, body: DetectFields, request: Request) -> list[DetectedLanguage]:  # noqa: ARG001
    """The languages that a text may be in, the likeliest first."""
    text = " ".join(body.q) if isinstance(body.q, list) else body.q
    found = await service.detect(text)
    likely = [one for one in found if one[1] >= MIN_CONFIDENCE] or found[:1]
    return [_detected_language(code, confidence) for code, confidence in likely]


def _detected_language(code: str, confidence: float) -> DetectedLanguage:
    return DetectedLanguage(round(100 * confidence, 1), base_code(code))


async def languages(service: Service, query: None, request: Request) -> list[LibreTranslateLanguage]:  # noqa: ARG001
    """The languages; each is also its own target, which changes nothing."""
    pairs = service.pairs()
    records = []
    for code in service.languages():
        targets = [base_code(pair.target) for pair in pairs if base_code(pair.source) == code]
        records.append(LibreTranslateLanguage(code, language_name(code), sorted({code, *targets})))
    return records


async def health(service: Service, query: None, request: Request) -> dict[str, str]:  # noqa: ARG001
    """The server responds."""
    return {"status": "ok"}


async def settings(service: Service, query: None, request: Request) -> dict[str, Any]:  # noqa: ARG001
    """What a front end of this API needs."""
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


# --- files ---


async def translate_file(service: Service, upload: Upload[FileFields], request: Request) -> Response:
    """Translate a file; with wait=false the response comes at once, with the URL of the status."""
    fields = upload.fields
    document = await asyncio.to_thread(read_document, upload.name, upload.content)
    text = " ".join(piece.text for piece in document if isinstance(piece, Segment))
    source = None if fields.source == AUTO else fields.source
    [direction] = await service.choose_directions([text], source=source, target=fields.target)
    name = _result_name(upload.name, fields.target)
    job = service.jobs.start(name, lambda job: _translate_document(service, document, direction, job))
    if not fields.wait:
        return json_response(_job_record(request, job), status=202)
    await service.jobs.finish(job)
    if job.error is not None:
        raise job.error
    return json_response(FileTranslationResponse(translatedFileUrl=_result_url(request, job)))


async def _translate_document(
    service: Service, document: Template, direction: LanguageDirection, job: DocumentJob
) -> str:
    if direction.model is None:
        return "".join(piece if isinstance(piece, str) else piece.raw for piece in document)
    translator = service.sentence_translator(direction.model, DecodeRequest(), is_background=True)
    return (await translate([document], translator, progress=job.report_progress))[0][0]


async def job_status(service: Service, query: None, request: Request) -> JobRecord:  # noqa: ARG001
    """The progress of a file."""
    return _job_record(request, service.jobs.find(request.path_params["id"]))


async def delete_job(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
    """Cancel the translation of a file, or delete its result."""
    service.jobs.delete(service.jobs.find(request.path_params["id"]))
    return Response(status_code=204)


async def download(service: Service, query: None, request: Request) -> Response:  # noqa: ARG001
    """The translated file, as an attachment that a browser never shows as a page of this server."""
    job = service.jobs.find(request.path_params["id"])
    if job.state != "done":
        raise job.error or ApiError(404, "not_done", "The file is not translated yet. Retry later.")
    job.settled.set()
    return FileResponse(service.jobs.path(job), media_type=BYTES, filename=job.name)


def _result_name(name: str, target: str) -> str:
    """The name of the file with the language, without characters that are special in file systems or headers."""
    path = PurePath(name.replace("\\", "/"))
    stem = re.sub(r"[^\w.-]+", "_", path.stem)[:80].strip(".") or "document"
    return f"{stem}_{re.sub('[^a-z]', '', base_code(target))}{path.suffix.lower()}"


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


ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/translate",
        handler=translate_text,
        body=LibreTranslateFields,
        body_format="fields",
        response=LibreTranslateResponse,
        uses_queue=True,
        summary="Translate a text or a list of texts; the fields may also come as a form or in the query.",
        description=SPLIT_SENTENCES,
    ),
    Endpoint(
        method="POST",
        path="/detect",
        handler=detect,
        body=DetectFields,
        body_format="fields",
        response=list[DetectedLanguage],
        summary="The languages that a text may be in, the likeliest first.",
    ),
    Endpoint(
        method="GET",
        path="/languages",
        handler=languages,
        response=list[LibreTranslateLanguage],
        key="none",
        summary="The languages, and the targets of each.",
    ),
    Endpoint(
        method="GET",
        path="/health",
        handler=health,
        response=dict[str, str],
        key="none",
        summary="The server responds.",
    ),
    Endpoint(
        method="GET",
        path="/frontend/settings",
        handler=settings,
        response=dict[str, Any],
        key="none",
        summary="Limits and defaults for a front end.",
    ),
    Endpoint(
        method="POST",
        path="/translate_file",
        handler=translate_file,
        body=FileFields,
        body_format="upload",
        upload_field="file",
        response=FileTranslationResponse,
        other_responses={202: JobRecord},
        uses_queue=True,
        has_deadline=False,
        summary=f"Translate a file of one of the formats {', '.join(FORMATS)}.",
        description=SPLIT_SENTENCES,
    ),
    Endpoint(
        method="GET",
        path="/translate_file/{id}",
        handler=job_status,
        response=JobRecord,
        key="none",
        summary="The progress of a file.",
    ),
    Endpoint(
        method="DELETE",
        path="/translate_file/{id}",
        handler=delete_job,
        other_responses={204: None},
        key="none",
        summary="Cancel the translation of a file, or delete its result.",
    ),
    Endpoint(
        method="GET",
        path="/download_file/{id}/{name}",
        handler=download,
        response=Content(BYTES),
        key="none",
        has_deadline=False,
        summary="The translated file.",
    ),
]

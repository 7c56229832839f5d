"""Files through the API of LibreTranslate: one waits for the translation, as its clients do, or asks about it."""

import asyncio
import re
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from regard.serve.answers import as_json
from regard.serve.documents import Template, read_document, translate
from regard.serve.documents.blocks import Block
from regard.serve.documents.jobs import Job
from regard.serve.fields import fitted
from regard.serve.languages import base_code
from regard.serve.leaving import unless_client_leaves
from regard.serve.openapi import SENTENCES, Paths, answers, asks
from regard.serve.refusals import Refusal
from regard.serve.requests import MULTIPART, check_text, media_type, read_form
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.speaking import Direction, check_key, direct_all, voice

AUTO = "auto"
Code = Annotated[str, Meta(min_length=1, max_length=40)]


class FileFields(msgspec.Struct, frozen=True, kw_only=True):
    """What /translate_file takes beside the file."""

    target: Code
    source: Code = AUTO
    wait: bool = True
    api_key: str | None = None


class FileAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where the translation is."""

    translatedFileUrl: str  # noqa: N815  (the API's own name)


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far a file is; the URL is there once it is done."""

    id: str
    state: str
    progress: float
    said: int
    sentences: int
    statusUrl: str  # noqa: N815
    translatedFileUrl: str | None  # noqa: N815
    error: str | None


class FileFailure(msgspec.Struct, frozen=True):
    """The form of refusals."""

    error: str


class FileRoutes:
    """The routes over a service."""

    def __init__(self, service: Service) -> None:
        self.service, self.jobs = service, service.jobs

    def routes(self) -> list[Route]:
        """The routes of this part."""
        return [
            Route("/translate_file", self.upload, methods=["POST"]),
            Route("/translate_file/{id}", self.status_or_end, methods=["GET", "DELETE"]),
            Route("/download_file/{id}/{name}", self.download),
        ]

    async def upload(self, request: Request) -> Response:
        """Translate a file; with wait=false the answer comes at once and tells where to ask about it."""
        name, content, asked = await self._read(request)
        check_key(self.service, request, given=asked.api_key)
        document = await asyncio.to_thread(read_document, name, content)  # a large one takes a while
        direction = await self._direct(document, asked)
        job = self.jobs.begin(
            _name_of_result(name, asked.target), lambda job: self._translated(document, direction, job)
        )
        if not asked.wait:
            return as_json(_record(request, job), status=202)
        await unless_client_leaves(request, self.jobs.finish(job))
        if job.refusal is not None:
            raise job.refusal
        return as_json(FileAnswer(translatedFileUrl=_result_url(request, job)))

    async def status_or_end(self, request: Request) -> Response:
        """How far the file is; DELETE gives it up, or forgets its translation."""
        job = self.jobs.find(request.path_params["id"])
        if request.method != "DELETE":
            return as_json(_record(request, job))
        self.jobs.forget(job)
        return Response(status_code=204)

    async def download(self, request: Request) -> Response:
        """The translation, never shown inside a page of ours."""
        job = self.jobs.find(request.path_params["id"])
        if job.state != "done":
            raise job.refusal or Refusal(404, "not_done", "The file is not translated yet. Ask again later.")
        job.settled.set()
        return FileResponse(self.jobs.path(job), media_type="application/octet-stream", filename=job.name)

    async def _read(self, request: Request) -> tuple[str, bytes, FileFields]:
        if media_type(request) != MULTIPART:
            raise Refusal(415, "not_a_form", "Send the file as multipart/form-data.")
        form = await read_form(request, self.service.limits, largest=self.service.limits.file_bytes)
        try:
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                raise Refusal(400, "no_file", "The form has no file. Send it as the field `file`, with its name.")
            texts = {name: check_text(value) for name, value in form.items() if isinstance(value, str)}
            asked = fitted(dict(request.query_params) | texts, FileFields, is_written=True)
            return check_text(file.filename), await file.read(), asked
        finally:
            await form.close()

    async def _direct(self, document: Template, asked: FileFields) -> Direction:
        texts = " ".join(piece.text for piece in document if isinstance(piece, Block))
        source = None if asked.source == AUTO else asked.source
        [direction] = await direct_all(self.service, [texts], source=source, target=asked.target)
        return direction

    async def _translated(self, document: Template, direction: Direction, job: Job) -> str:
        if direction.model is None:
            return "".join(piece if isinstance(piece, str) else piece.raw for piece in document)
        patient = voice(self.service, direction.model, Wish(), is_patient=True)
        return (await translate([document], patient, progress=job.note))[0][0]


def _name_of_result(name: str, target: str) -> str:
    """The file's name with the language, without what a file system or a header could trip over."""
    path = PurePath(name.replace("\\", "/"))
    stem = re.sub(r"[^\w.-]+", "_", path.stem)[:80].strip(".") or "document"
    return f"{stem}_{re.sub('[^a-z]', '', base_code(target))}{path.suffix.lower()}"


def _result_url(request: Request, job: Job) -> str:
    return f"{request.base_url}download_file/{job.id}/{quote(job.name)}"


def _record(request: Request, job: Job) -> JobRecord:
    is_done = job.state == "done"
    return JobRecord(
        id=job.id,
        state=job.state,
        progress=1.0 if is_done else job.said / max(1, job.sentences),
        said=job.said,
        sentences=job.sentences,
        statusUrl=f"{request.base_url}translate_file/{job.id}",
        translatedFileUrl=_result_url(request, job) if is_done else None,
        error=job.refusal.message if job.refusal else None,
    )


_CODE = {"type": "string", "minLength": 1, "maxLength": 40}
_FORM: dict[str, Any] = {
    "type": "object",
    "required": ["file", "target"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "target": _CODE,
        "source": _CODE,
        "wait": {"type": "boolean"},
        "api_key": {"type": "string"},
    },
}
_ID = asks("id", {"type": "string"}, place="path")
ROUTES_SCHEMA: Paths = {
    "/translate_file": {
        "post": {
            "summary": "Translate a file: txt, srt, po or html.",
            "description": SENTENCES,
            "requestBody": {"required": True, "content": {MULTIPART: {"schema": _FORM}}},
            "responses": {
                **answers(FileAnswer, refusals=FileFailure),
                "202": {"description": "Begun.", "content": {"application/json": {"schema": JobRecord}}},
            },
        }
    },
    "/translate_file/{id}": {
        "get": {
            "summary": "How far a file is.",
            "parameters": [_ID],
            "responses": answers(JobRecord, refusals=FileFailure),
        },
        "delete": {
            "summary": "Give a file up.",
            "parameters": [_ID],
            "responses": {**answers(None, refusals=FileFailure), "204": {"description": "Forgotten."}},
        },
    },
    "/download_file/{id}/{name}": {
        "get": {
            "summary": "The translated file.",
            "parameters": [_ID, asks("name", {"type": "string"}, place="path")],
            "responses": answers(None, media="application/octet-stream", refusals=FileFailure),
        }
    },
}

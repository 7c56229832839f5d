"""Read requests strictly and within bounds: bodies, JSON, forms, uploaded files and query strings."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from regard.server.errors import JSON, ApiError, ClientDisconnected
from regard.server.limits import Limits
from regard.struct_decoding import convert, decode_json

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
MAX_FIELDS = 1000  # of a form or a query string
MAX_PART_HEADER_BYTES = 10_000  # of a multipart form, in addition to the file

# What was given, in an error of msgspec, which does not escape it; the path after it, if any, has our own names.
_GIVEN = re.compile(r"(unknown field|value) [`'\"].*?[`'\"]( - at `\$[\w.\[\]]*`)?\Z", re.DOTALL)

Fields = TypeVar("Fields")


@dataclass(frozen=True)
class Upload(Generic[Fields]):
    """An uploaded file (empty if none was sent) and the other fields of the request."""

    name: str
    content: bytes
    fields: Fields


class NumberConvertor(Convertor[int]):
    """An integer in a path, with so few digits that Python can parse it; write `{step:number}`."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", NumberConvertor())


async def read_json(request: Request, limits: Limits, kind: type[Fields]) -> Fields:
    """The body as JSON of this type."""
    media = media_type(request)
    if media not in (JSON, "") and not media.endswith("+json"):
        raise ApiError(415, "not_json", "Send the body as application/json.")
    return parse_json(await read_body(request, limits.max_body_bytes, limits), kind)


async def read_fields(request: Request, limits: Limits, kind: type[Fields]) -> Fields:
    """The fields of a JSON object, a form or a query string as a struct; fields of the body override the query.

    A field that a form or a query string repeats is a list. Forms and query strings write numbers as text; JSON does
    not.
    """
    fields, media = query_fields(request), media_type(request)
    is_text = bool(fields) or media in (FORM, MULTIPART)
    if media == MULTIPART:
        form = await read_form(request, limits, limits.max_body_bytes)
        fields |= _group_items([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
        await form.close()
    elif (body := await read_body(request, limits.max_body_bytes, limits)).strip():
        fields |= _group_items(parse_form(body)) if media == FORM else parse_json(body, dict[str, Any])
    return convert_fields(fields, kind, is_text=is_text)


def read_query(request: Request, kind: type[Fields]) -> Fields:
    """The query string as a struct."""
    return convert_fields(query_fields(request), kind, is_text=True, code="bad_query")


async def read_upload(
    request: Request, limits: Limits, field: str, kind: type[Fields], *, allow_raw: bool = False
) -> Upload[Fields]:
    """The file in this field of a multipart form, or with `allow_raw` a body of another media type as it is.

    Fields come from the form and the query string.
    """
    fields = query_fields(request)
    if media_type(request) != MULTIPART:
        if not allow_raw:
            raise ApiError(415, "not_a_form", "Send the file as multipart/form-data.")
        converted = convert_fields(fields, kind, is_text=True, code="bad_query")
        return Upload("", await read_body(request, limits.max_file_bytes, limits), converted)
    form = await read_form(request, limits, limits.max_file_bytes)
    try:
        file = form.get(field)
        if not isinstance(file, UploadFile) or not file.filename:
            raise ApiError(400, "no_file", f"The form has no file. Send it as the field `{field}`, with its name.")
        fields |= _group_items([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
        return Upload(file.filename, await file.read(), convert_fields(fields, kind, is_text=True))
    finally:
        await form.close()


async def read_body(request: Request, max_bytes: int, limits: Limits) -> bytes:
    """The whole body; 413 if it is too large, 408 if it arrives too slowly."""

    def too_large() -> ApiError:
        return ApiError(413, "body_too_large", f"The body has more than {max_bytes} bytes. Send less at a time.")

    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() not in ("", "identity"):
        raise ApiError(415, "encoded", "The body is compressed. Send it without Content-Encoding.")
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise ApiError(400, "bad_length", "Content-Length is not a number.")
    if len(length) > 18 or int(length) > max_bytes:
        raise too_large()
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.body_timeout):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    raise too_large()
                parts.append(part)
    except TimeoutError:
        raise ApiError(408, "too_slow", "The body did not arrive in time.") from None
    except ClientDisconnect:
        raise ClientDisconnected from None
    return b"".join(parts)


async def read_form(request: Request, limits: Limits, max_bytes: int) -> FormData:
    """A multipart form with at most one file, its names and texts in UTF-8; the caller closes it."""
    body = await read_body(request, max_bytes + MAX_PART_HEADER_BYTES, limits)

    async def whole_body() -> AsyncGenerator[bytes, None]:
        yield body

    # Of several charsets the last counts. As latin-1 every byte stays what it is until it is decoded strictly.
    headers = Headers({"content-type": f"{request.headers['content-type']}; charset=latin-1"})
    parser = _FormParser(headers, whole_body(), max_files=1, max_fields=MAX_FIELDS, max_part_size=limits.max_body_bytes)
    try:
        form = await parser.parse()
        if not parser.is_complete:
            await form.close()
            raise ApiError(400, "bad_form", "The form is cut off: its last boundary is missing. Send it whole.")
        return FormData([(_from_latin1(name), _decode_part(value)) for name, value in form.multi_items()])
    except (MultiPartException, ValueError, KeyError):
        raise ApiError(400, "bad_form", "The body is not a valid form in UTF-8.") from None


class _FormParser(MultiPartParser):
    is_complete = False  # whether the boundary that ends the form has come

    def on_end(self) -> None:
        self.is_complete = True


def _decode_part(value: str | UploadFile) -> str | UploadFile:
    if isinstance(value, str):
        return _from_latin1(value)
    value.filename = _from_latin1(value.filename or "")
    return value


def _from_latin1(text: str) -> str:
    return text.encode("latin-1").decode()


def query_fields(request: Request) -> dict[str, Any]:
    """The fields of the query string, which is decoded as strictly as a form."""
    return _group_items(parse_form(request.scope["query_string"], "query"))


def media_type(request: Request) -> str:
    """The Content-Type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def parse_json(body: bytes, kind: type[Fields]) -> Fields:
    """JSON of this type: no NaN, no number out of range, no lone surrogate."""
    try:
        return decode_json(body, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ApiError(400, "bad_request", f"The body is not valid: {_validation_reason(error, kind)}.") from None
    except (msgspec.DecodeError, ValueError):
        raise ApiError(400, "bad_json", "The body is not valid JSON in UTF-8.") from None


def convert_fields(fields: dict[str, Any], kind: type[Fields], *, is_text: bool, code: str = "bad_request") -> Fields:
    """The fields as a struct; with `is_text` numbers may be written as strings."""
    try:
        return convert(fields, kind, strict=not is_text)
    except msgspec.ValidationError as error:
        raise ApiError(400, code, f"Invalid request: {_validation_reason(error, kind)}") from None


def _group_items(items: list[tuple[str, str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in items:
        before = fields.get(name, [])
        fields[name] = [*(before if isinstance(before, list) else [before]), value] if name in fields else value
    return fields


def parse_form(encoded: bytes, place: str = "body") -> list[tuple[str, str]]:
    """The items of a form, or of a query string, in UTF-8."""
    try:
        return parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        reason = f"is not a valid form in UTF-8, or has more than {MAX_FIELDS} fields"
        raise ApiError(400, f"bad_{'form' if place == 'body' else place}", f"The {place} {reason}.") from None


def _validation_reason(error: Exception, kind: Any) -> str:
    """The reason without the names and values that were sent; for an unknown field, with the allowed fields."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    reason = _GIVEN.sub(r"\1\2", str(error))
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", reason):
        reason = f"missing {missing[1]} parameter"
    if reason.endswith("unknown field") and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        reason += f"; allowed: {', '.join(field.encode_name for field in msgspec.structs.fields(kind))}"
    return reason

"""Reading requests: bodies within bounds of size and time; JSON, forms and query strings read strictly."""

import asyncio
import re
from typing import Any, TypeVar

import msgspec
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request

from regard.serve.limits import Limits
from regard.serve.refusals import ClientLeftError, Refusal


class Number(Convertor[int]):
    """A whole number in a path, of so few digits that Python reads it; write `{step:number}`."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("number", Number())
Parsed = TypeVar("Parsed")
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
FIELDS = 1000  # of a form


async def read_body(request: Request, limits: Limits, *, largest: int | None = None) -> bytes:
    """The whole body, or a refusal: 413 when it is too large, 408 when it comes too slowly."""
    bound = limits.body_bytes if largest is None else largest
    check_length(request, bound)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > bound:
                    raise too_large(bound)
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, "too_slow", "The body did not arrive in time.") from None
    except ClientDisconnect:
        raise ClientLeftError from None
    return b"".join(parts)


def check_length(request: Request, bound: int) -> None:
    """Refuse a body that says itself that it is too large, before it is read."""
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or len(length) > 18:
        raise Refusal(400, "bad_length", "Content-Length is not a number.")
    if int(length) > bound:
        raise too_large(bound)


def too_large(bound: int) -> Refusal:
    """The refusal of a body."""
    return Refusal(413, "body_too_large", f"The body has more than {bound} bytes.")


async def read_json(request: Request, limits: Limits, kind: type[Parsed]) -> Parsed:
    """The body as JSON of this kind; anything else is refused, and not repeated."""
    media = media_type(request)
    if media not in ("application/json", "") and not media.endswith("+json"):
        raise Refusal(415, "not_json", "Send the body as application/json.")
    return parse_json(await read_body(request, limits), kind)


def parse_json(body: bytes, kind: type[Parsed]) -> Parsed:
    """JSON of this kind: no NaN, no number out of range, no half of a surrogate pair."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Refusal(400, "bad_request", f"The body does not fit: {_reason(error, kind)}.") from None
    except (msgspec.DecodeError, ValueError):
        raise Refusal(400, "bad_json", "The body is not valid JSON in UTF-8.") from None


async def read_fields(request: Request, limits: Limits) -> dict[str, Any]:
    """The fields of a JSON object, a form or a query string; a field that a form or a query repeats is a list.

    Fields of the body go before those of the query. Text with half of a surrogate pair is refused.
    """
    fields = _gathered(request.query_params.multi_items())
    media, body = media_type(request), b""
    if media == MULTIPART:
        form = await read_form(request, limits, largest=limits.body_bytes)
        await form.close()  # of files only: they are not asked for here
        fields |= _gathered([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
    elif media == FORM:
        body = await read_body(request, limits)
        fields |= _gathered(_form_items(body))
    else:
        body = await read_body(request, limits)
        fields |= parse_json(body, dict[str, Any]) if body.strip() else {}
    return fields


async def read_form(request: Request, limits: Limits, *, largest: int) -> FormData:
    """A multipart form, files included, within bounds; use `largest=limits.file_bytes` where files are taken."""
    bound = largest + 10_000  # the parts' own headers
    body = await read_body(request, limits, largest=bound)
    whole = Request(request.scope, _replayed(body))
    try:
        return await whole.form(max_files=1, max_fields=FIELDS, max_part_size=limits.body_bytes)
    except (MultiPartException, ValueError, KeyError):
        raise Refusal(400, "bad_form", "The body is not a valid form.") from None
    except Exception as error:  # starlette turns a bad form into an HTTPException of its own
        if getattr(error, "status_code", None) == 400:
            raise Refusal(400, "bad_form", "The body is not a valid form.") from None
        raise


def media_type(request: Request) -> str:
    """The Content-Type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def check_text(text: str) -> str:
    """The text, unless it holds half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(400, "bad_text", "A text holds one half of a surrogate pair.") from None
    return text


def query_number(request: Request, name: str, *, default: int | None = None, highest: int = 10**9) -> int:
    """A whole number of the query, from 0."""
    given = request.query_params.get(name)
    if given is None and default is not None:
        return default
    if given is None or not re.fullmatch("[0-9]{1,9}", given) or int(given) > highest:
        raise Refusal(400, "bad_query", f"{name} must be a whole number from 0 to {highest}.")
    return int(given)


def query_number_or_mean(request: Request, name: str) -> int | None:
    """A whole number of the query; None for "mean", which is also the default."""
    return None if request.query_params.get(name, "mean") == "mean" else query_number(request, name)


def _gathered(items: list[tuple[str, str]]) -> dict[str, Any]:
    if len(items) > FIELDS:
        raise Refusal(400, "bad_form", "There are too many fields.")
    fields: dict[str, Any] = {}
    for name, value in items:
        check_text(value)
        fields[name] = [*_listed(fields[name]), value] if name in fields else value
    return fields


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _form_items(body: bytes) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl

    try:
        return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except ValueError:
        raise Refusal(400, "bad_form", "The body is not a valid form in UTF-8.") from None


def _replayed(body: bytes) -> Any:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _reason(error: Exception, kind: Any) -> str:
    """Why, without the names and values that were sent; where a field is unknown, with those that are known."""
    message = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    reason = re.sub(r"(unknown field|enum value|tag value|value) [`'\"].*?[`'\"]( - at|$)", r"\1\2", message)
    if reason.endswith("unknown field") and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        reason += f"; there are {', '.join(field.encode_name for field in msgspec.structs.fields(kind))}"
    return reason

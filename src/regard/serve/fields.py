"""The fields of a request as a struct, whichever way they came: JSON, a form, or a query string."""

from typing import TypeVar

import msgspec
from starlette.requests import Request

from regard.serve.limits import Limits
from regard.serve.refusals import Refusal
from regard.serve.requests import FORM, MULTIPART, media_type, read_fields

Fields = TypeVar("Fields")


async def read_as(request: Request, limits: Limits, kind: type[Fields]) -> Fields:
    """The request's fields as a struct of this kind, or a refusal that does not repeat them.

    Numbers of forms and query strings are written as text; those of JSON are not.
    """
    is_written = bool(request.query_params) or media_type(request) in (FORM, MULTIPART)
    return fitted(await read_fields(request, limits), kind, is_written=is_written)


def fitted(fields: object, kind: type[Fields], *, is_written: bool) -> Fields:
    """The fields as a struct. Its fields must be of plain types: only then do the messages repeat nothing."""
    try:
        return msgspec.convert(fields, kind, strict=not is_written)
    except msgspec.ValidationError as error:
        raise Refusal(400, "bad_request", f"The request does not fit: {error}.") from None

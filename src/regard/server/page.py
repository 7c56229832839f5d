"""The routes of the page: its HTML at /, its files under /page/ by names with a hash."""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.server.errors import ApiError
from regard.web.pages import served_page

FOR_EVER = "public, max-age=31536000, immutable"


def is_of_page(method: str, path: str) -> bool:
    """Whether a request is for the page or one of its files, which need no key and cost nothing."""
    return method in ("GET", "HEAD") and (path == "/" or path.startswith("/page/"))


def page_routes() -> list[Route]:
    """The page and its files."""
    served_page()  # bundled when the server starts, not when the first reader comes
    return [Route("/", _index), Route("/page/{name}", _file)]


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the header names gzip; the weight zero refuses it."""
    items = (item.partition(";") for item in accept_encoding.lower().split(","))
    weights = [weight.strip() for name, _, weight in items if name.strip() == "gzip"]
    return bool(weights) and not re.fullmatch(r"q=0(\.0*)?", weights[0])


async def _index(request: Request) -> Response:
    page = served_page()
    headers = {"etag": page.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == page.tag:
        return Response(status_code=304, headers=headers)
    return Response(page.html, headers=headers, media_type="text/html; charset=utf-8")


async def _file(request: Request) -> Response:
    file = served_page().files.get(request.path_params["name"])
    if file is None:
        raise ApiError(404, "not_found", "There is no such file. Reload the page.")
    headers = {"cache-control": FOR_EVER, "vary": "accept-encoding"}
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(file.compressed, headers=headers | {"content-encoding": "gzip"}, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)

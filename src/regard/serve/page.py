"""The page and its modules, as they lie in `regard.view`; nothing else can be fetched by its name."""

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard import view
from regard.serve.refusals import Refusal

DIRECTORY = Path(view.__file__).parent / "page"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
}
_NAME = re.compile("[a-z0-9_]+[.][a-z]+")


def routes() -> list[Route]:
    """The page at /, its files under /page/."""
    return [Route("/", _index), Route("/page/{name}", _file)]


async def _index(request: Request) -> Response:
    return _answer(request, "index.html")


async def _file(request: Request) -> Response:
    return _answer(request, request.path_params["name"])


def _answer(request: Request, name: str) -> Response:
    path = DIRECTORY / name
    if not _NAME.fullmatch(name) or path.suffix not in MEDIA_TYPES or not path.is_file():
        raise Refusal(404, "not_found", "There is no such file.")
    content, tag = _read(path, path.stat().st_mtime_ns)
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=MEDIA_TYPES[path.suffix])


@lru_cache(maxsize=256)
def _read(path: Path, _version: int) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'

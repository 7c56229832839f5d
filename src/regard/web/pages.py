"""The page as it is delivered: files of a server with hashed names, a single HTML file, a module for notebooks."""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from regard.errors import RegardError
from regard.web.bundle import bundle, split_bundle

FOLDER = Path(__file__).parent
# Later style sheets override earlier ones.
STYLES = [
    f"{name}.css"
    for name in (
        *("base", "shell", "components", "charts", "shared"),
        *("start", "translate", "inside", "heads", "pictures", "positions", "compare", "training", "what_if"),
        "print",
    )
]
_SOURCES = (".js", ".json", ".css", ".html", ".svg")
_NOT_IN_FILES = {"start.css", "compare.css"}  # of views that only a server has
_STYLE_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STYLE_SPACE = re.compile(r"""("[^"\n]*")|\s*([{};,>])\s*|(?<=:)\s+|\s+""")
_ENDS_ELEMENT = re.compile(r"</script|<!--|</style", re.IGNORECASE)


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent; its name has a hash of its content, so that a browser may keep it for ever."""

    content: bytes
    compressed: bytes
    media_type: str


@dataclass(frozen=True)
class ServedPage:
    """The page of a server: its HTML, and the files that it loads at once or later, by name."""

    html: bytes
    tag: str
    files: Mapping[str, StaticFile]


def served_page() -> ServedPage:
    """The page of a server, made again when one of its sources has changed."""
    return _served_page(sources_version())


def sources_version() -> tuple[int, int]:
    """What changes when a source of the page is edited, added or removed."""
    times = [path.stat().st_mtime_ns for path in FOLDER.rglob("*") if path.suffix in _SOURCES]
    return len(times), max(times)


@lru_cache(maxsize=1)
def _served_page(_version: tuple[int, int]) -> ServedPage:
    script, more = split_bundle(FOLDER / "entries" / "server.js", name="app.js")
    style, icon = style_sheet().encode(), (FOLDER / "icon.svg").read_bytes()
    version = _version_of((script + more).encode())  # of both scripts, since each names the other
    names = {
        "script": f"app.{version}.js",
        "more": f"more_views.{version}.js",
        "style": f"style.{_version_of(style)}.css",
        "icon": f"icon.{_version_of(icon)}.svg",
    }
    script = script.replace("./more_views.js", f"./{names['more']}")
    more = more.replace("./app.js", f"./{names['script']}")
    html = (FOLDER / "index.html").read_text(encoding="utf-8")
    for role, name in names.items():
        html = html.replace(f"{{{role}}}", f"page/{name}")  # it does not name the script that is loaded later
    files = {
        names["script"]: _static_file(script.encode(), "text/javascript; charset=utf-8"),
        names["more"]: _static_file(more.encode(), "text/javascript; charset=utf-8"),
        names["style"]: _static_file(style, "text/css; charset=utf-8"),
        names["icon"]: _static_file(icon, "image/svg+xml"),
    }
    return ServedPage(html.encode(), f'"{_version_of(html.encode())}"', files)


def _version_of(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def _static_file(content: bytes, media_type: str) -> StaticFile:
    return StaticFile(content, gzip.compress(content, 9, mtime=0), media_type)


def style_sheet(names: Iterable[str] = STYLES) -> str:
    """The page's style sheets as one, without comments and needless spaces."""
    text = "".join((FOLDER / "styles" / name).read_text(encoding="utf-8") for name in names)
    return _STYLE_SPACE.sub(_without_space, _STYLE_COMMENT.sub("", text)).strip()


def _without_space(found: re.Match[str]) -> str:
    is_after_colon = found.string[found.start() - 1] == ":"
    return found[1] or found[2] or ("" if is_after_colon else " ")


@cache
def widget_module() -> str:
    """The module of the notebook's widget, as anywidget imports it."""
    module = bundle(FOLDER / "entries" / "widget.js", exports=("render",))
    return f"{module}export default {{ render }};\n"


@cache
def _file_script() -> str:
    return bundle(FOLDER / "entries" / "file.js")


def render_html_file(data: dict[str, Any], *, title: str) -> str:
    """The page over embedded data as one self-contained HTML file; its policy allows no request at all."""
    script, style = _file_script(), style_sheet(name for name in STYLES if name not in _NOT_IN_FILES)
    for name, text in (("the script", script), ("the style sheet", style)):
        if found := _ENDS_ELEMENT.search(text):
            raise RegardError(f"{name} of the page contains {found[0]!r}, which HTML would read as its end.")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    embedded = msgspec.json.encode(data).replace(b"<", b"\\u003c").decode()  # so that no text in it can end the script
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript><p>This page needs JavaScript. Switch it on.</p></noscript>
<script type="application/json" id="data">{embedded}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

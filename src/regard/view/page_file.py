"""The page's modules as one, for a single HTML file that works from a disk without a network, and for the notebook.

A module imports by name from its siblings, exports by name, and shares no top-level name with another; so all of them
can stand one after the other as one module, each below those that it imports.
"""

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from regard.errors import RegardError

PAGE = Path(__file__).parent / "page"
STYLES = ["style.css", "style_views.css"]  # in the order in which index.html links them
_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"\./([\w-]+\.js)";[ \t]*\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function\b|const\b|let\b|class\b)", re.MULTILINE)
_STRAY = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_TOP_LEVEL = re.compile(r"^(export )?(?:async )?(?:function\*?|const|let|class)\s+(\w+)", re.MULTILINE)
_ENDS_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)


def one_module(entry: str, *, folder: Path = PAGE) -> str:
    """The entry module and all that it imports, as the text of one module without imports and exports."""
    order = _order(entry, folder, {})
    parts = [f"// --- {name}\n{_EXPORT.sub('', _IMPORT.sub('', text)).strip()}\n" for name, text in order.items()]
    for name, text in zip(order, parts, strict=True):
        if found := _STRAY.search(text):
            raise RegardError(
                f'{name} has {found[0]!r}; a module of the page may import {{ names }} from "./sibling.js", and export '
                "functions, constants and classes by name; nothing else."
            )
    _check_names(order)
    return "\n".join(parts)


def page_style() -> str:
    """The page's style sheets as one."""
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in STYLES)


def html_file(data: dict[str, Any], *, title: str) -> str:
    """The page over embedded data as one self-contained HTML file; nothing in it can be fetched or sent."""
    script, style = one_module("static.js"), page_style()
    for name, text in (("the script", script), ("the style sheet", style)):
        if found := _ENDS_SCRIPT.search(text) or re.search("</style", text, re.IGNORECASE):
            raise RegardError(f"{name} of the page holds {found[0]!r}, which HTML would read as its end.")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    embedded = msgspec.json.encode(data).replace(b"<", b"\\u003c").decode()  # so that no text of it can end the script
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
<div id="page" class="regard"></div>
<noscript><p>This page draws with JavaScript; please switch it on.</p></noscript>
<script type="application/json" id="data">{embedded}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _order(name: str, folder: Path, found: dict[str, str]) -> dict[str, str]:
    """Modules by name, each after those that it imports."""
    path = folder / name
    if not path.is_file():
        raise RegardError(
            f"the page has no module {name}; there are {', '.join(sorted(p.name for p in folder.glob('*.js')))}."
        )
    text = path.read_text(encoding="utf-8")
    waiting = found | {name: ""}  # a module that imports this one back need not come first
    for _, needed in _IMPORT.findall(text):
        if needed not in waiting:
            waiting = _order(needed, folder, waiting)
    del waiting[name]
    return waiting | {name: text}


def _check_names(modules: dict[str, str]) -> None:
    """Refuse what would mean something else in one module than in many: a name taken twice, or not exported."""
    owners: dict[str, str] = {}
    exported: set[tuple[str, str]] = set()
    for name, text in modules.items():
        for is_exported, word in _TOP_LEVEL.findall(text):
            if word in owners:
                raise RegardError(f"{name} and {owners[word]} both have {word!r} at their top level; rename one.")
            owners[word] = name
            exported |= {(name, word)} if is_exported else set()
    for name, text in modules.items():
        for names, needed in _IMPORT.findall(text):
            for word in filter(None, map(str.strip, names.split(","))):
                if (needed, word) not in exported:
                    raise RegardError(f"{name} imports {word!r} from {needed}, which does not export that name.")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

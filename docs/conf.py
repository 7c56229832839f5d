"""Configuration of the docs site: `make docs` builds build/docs from the Markdown of this folder and from docstrings.

The pages stay plain Markdown that GitHub can show, so what Sphinx needs beyond it is added here while it reads them:

- README.md and README.ko.md list the pages; their lists become the navigation.
- api.md gets an entry for every public name of `regard`.
- A link to a folder, or to a page outside this folder, becomes plain text: the site does not have them.
- NAME.md and NAME.ko.md are the same page in two languages, and link to each other.
"""

import re
from inspect import isclass, ismodule
from pathlib import Path
from typing import Any

import msgspec
from sphinx.application import Sphinx

import regard
from regard.inference import evaluation
from regard.tracing.image_maps import HeadPointing

vars(evaluation)["HeadPointing"] = HeadPointing  # imported for types only, but msgspec evaluates it for a signature

project = "regard"
author = "The regard authors"
project_copyright = author
release = version = regard.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
myst_heading_anchors = 4
default_role = "code"  # docstrings write `name` as Markdown does
add_module_names = False
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
suppress_warnings = ["misc.highlighting_failure"]  # an ellipsis in a JSON example

html_theme = "furo"
html_title = f"regard {version}"
html_copy_source = False
html_show_sphinx = False
html_additional_pages = {"index": "redirect.html"}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

DOCS = Path(__file__).resolve().parent
KOREAN = ".ko"
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#:]+)\)")
LIST_ITEM = re.compile(r"^- " + LINK.pattern.removeprefix("(?<!!)"))


def setup(app: Sphinx) -> None:
    app.connect("source-read", complete_page)
    app.connect("html-page-context", add_language_link)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", mark_code_blocks)


def complete_page(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add to a page what the site needs and plain Markdown cannot express."""
    text = source[0]
    if page in ("README", f"README{KOREAN}"):
        text += navigation(text, page)
    if page == "decisions/README":
        text += "\n\n```{toctree}\n:glob:\n\n[0-9]*\n```\n"
    if page == "api":
        text += api_reference()
    source[0] = LINK.sub(lambda link: without_missing_target(link, DOCS / Path(page).parent), text)


def without_missing_target(link: re.Match[str], folder: Path) -> str:
    target = (folder / link["target"]).resolve()
    is_foreign_page = target.suffix == ".md" and not target.is_relative_to(DOCS)
    return link["text"] if target.is_dir() or is_foreign_page else link[0]


def navigation(text: str, page: str) -> str:
    """A toctree for each list of pages, with the heading above it as its caption."""
    lists: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif (item := LIST_ITEM.match(line)) and belongs(item["target"], page):
            lists.setdefault(heading, []).append(entry(item["target"]))
    if page == root_doc:
        lists["한국어"] = [f"README{KOREAN}"]
    return "".join(toctree(caption, entries) for caption, entries in lists.items())


def belongs(target: str, page: str) -> bool:
    """Whether a page is in the language of the list: each page stands in the navigation once."""
    return (KOREAN in target) == (KOREAN in page) and not target.startswith("..")


def entry(target: str) -> str:
    return target.removesuffix(".md")


def toctree(caption: str, entries: list[str]) -> str:
    return "\n".join(["\n\n```{toctree}", f":caption: {caption}", ":hidden:", "", *entries, "```\n"])


def api_reference() -> str:
    names = sorted({*regard.__all__, *(name for name in dir(regard) if not name.startswith("_"))}, key=str.lower)
    directives = [directive(name) for name in names]
    return "\n".join(["\n\n```{eval-rst}", *directives, "```\n"])


def directive(name: str) -> str:
    value = getattr(regard, name)
    if ismodule(value):
        imported = "   :imported-members:\n" if hasattr(value, "__all__") else ""  # else every import would be listed
        return f".. automodule:: {value.__name__}\n   :members:\n{imported}"
    if isclass(value):
        fields = "   :undoc-members:\n" if issubclass(value, msgspec.Struct) else ""
        return f".. autoclass:: regard.{name}\n   :members:\n{fields}"
    return f".. autofunction:: regard.{name}\n" if callable(value) else f".. autodata:: regard.{name}\n   :no-value:\n"


def shorten_signature(_app: Sphinx, _kind: str, _name: str, value: object, *_: object) -> tuple[str, None] | None:
    """The defaults of a config fill a page; its fields are listed below it anyway."""
    return ("", None) if isclass(value) and issubclass(value, msgspec.Struct) else None


def mark_code_blocks(_app: Sphinx, *arguments: Any) -> None:
    """In a docstring an indented block is code and an asterisk is an asterisk, as in Markdown."""
    lines: list[str] = arguments[-1]
    if lines and lines[0].startswith("Alias for field number"):  # what Python writes for a named tuple
        lines.clear()
    lines[:] = [line for group in zip(["", *lines], lines, strict=False) for line in marked(*group)]


def marked(previous: str, line: str) -> list[str]:
    if line.startswith("    ") and not previous.strip():
        return ["::", "", line]
    return [line if line.startswith(" ") else re.sub(r"(?<!\\)([*_|])(?![^`]*`)", r"\\\1", line)]


def add_language_link(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _document: object) -> None:
    is_korean = page.endswith(KOREAN)
    other = page.removesuffix(KOREAN) if is_korean else f"{page}{KOREAN}"
    exists = (DOCS / f"{other}.md").exists()
    context["other_page"] = other if exists else None
    context["other_language"] = "English" if is_korean else "한국어"
    context["other_language_code"] = "en" if is_korean else "ko"
    context["language"] = "ko" if is_korean else "en"

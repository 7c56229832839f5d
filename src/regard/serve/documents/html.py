"""HTML with its tags kept: text between block tags is translated as one, with the inline tags in it put back."""

import html
import re
from collections.abc import Iterator

from regard.serve.documents.blocks import Template
from regard.serve.documents.making import Making
from regard.serve.documents.tags import Token, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Tags that stand inside a sentence; any other one ends it.
INLINE = _words(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark nobr q ruby s samp
    small span strike strong sub sup time tt u var wbr
    """
)
VOID = _words("area base br col embed hr img input link meta source track wbr")
# Their inside stays as it is: programs, formulas, footnote marks, what somebody typed.
KEPT = _words("code kbd samp var sub sup math svg textarea")
_SAYS_KEPT = re.compile(r"""\s(?:translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b)""", re.IGNORECASE)


def read_html(document: str) -> Template:
    """The document, or a piece of one, as blocks of text and the markup between them."""
    template: Template = []
    making, is_preformatted = Making(), False
    for token in _with_kept_elements_whole(tokens(document)):
        if token.kind == "text" or token.name in INLINE or token.raw.startswith("<!--"):
            _add(token, making)
            continue
        template += [*making.made(lines_end=is_preformatted, escape=_escaped), token.raw]
        making = Making()
        if token.name == "pre":
            is_preformatted = token.kind == "start"
    return [*template, *making.made(lines_end=is_preformatted, escape=_escaped)]


def _with_kept_elements_whole(row: Iterator[Token]) -> Iterator[Token]:
    """The tokens, each element that is kept as it is made into one of them."""
    for token in row:
        if token.kind == "start" and token.name not in VOID and (token.name in KEPT or _SAYS_KEPT.search(token.raw)):
            yield Token("other", token.raw + "".join(_rest_of(token.name, row)), token.name)
        else:
            yield token


def _rest_of(name: str, row: Iterator[Token]) -> Iterator[str]:
    depth = 1
    for token in row:
        yield token.raw
        if token.name == name:
            depth += {"start": 1, "end": -1}.get(token.kind, 0)
        if depth == 0:
            return


def _add(token: Token, making: Making) -> None:
    if token.kind == "text":
        making.text(token.raw, html.unescape(token.raw))
    elif token.kind == "end":
        making.close(token.name, token.raw)
    elif token.kind == "start" and token.name not in VOID:
        making.open(token.name, token.raw)
    else:
        making.stand(token.raw)


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)

"""HTML with its tags kept: text between block tags is translated as one, with the inline tags in it put back."""

from collections.abc import Iterator

from regard.serve.documents.blocks import Template
from regard.serve.documents.elements import add, escaped, with_kept_whole
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


def read_html(document: str, *, kept: frozenset[str] = frozenset()) -> Template:
    """The document, or a piece of one, as blocks of text and the markup between them.

    The inside of elements named in `kept` stays as it is too.
    """
    template: Template = []
    making, is_preformatted = Making(), False
    for token in with_kept_whole(_with_void_closed(tokens(document)), KEPT | kept):
        if token.kind == "text" or token.name in INLINE or token.raw.startswith("<!--"):
            add(token, making)
            continue
        template += [*making.made(lines_end=is_preformatted, escape=escaped), token.raw]
        making = Making()
        if token.name == "pre":
            is_preformatted = token.kind == "start"
    return [*template, *making.made(lines_end=is_preformatted, escape=escaped)]


def _with_void_closed(row: Iterator[Token]) -> Iterator[Token]:
    """The tokens, those of elements that have no inside no beginnings."""
    for token in row:
        yield Token("other", token.raw, token.name) if token.kind == "start" and token.name in VOID else token

"""HTML or XML as a row of tokens that, put one after the other, are the document again to the last character.

Not the standard library's parser: what it hands out cannot be put together again, and some malformed documents make it
look at the same text again and again. Here every character is looked at once. What is never closed (a tag, a comment, a
script) goes on to the end of the document, as it does in a browser. XML knows no element whose inside is no markup, and
HTML no CDATA.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

RAW_TEXT = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes"})
_MARKUP = re.compile(
    r"<(?:(?P<end>/)?(?P<name>[a-zA-Z][^\s/>]*+)|(?P<comment>!--)|(?P<data>!\[CDATA\[)|(?P<type>!DOCTYPE\b)|[!?/])"
)
_QUOTE_OR_END = re.compile(r"=\s*+([\"'])|>")  # only after an equals sign does a quote begin a value
_COMMENT_END = re.compile(r"--!?>")
_DATA_END = re.compile(r"\]\]>")
_TYPE_END = re.compile(r"[^\[>]*+(?:\[.*?\]\s*+)?>", re.DOTALL)  # its brackets hold declarations


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of the document; `name` is that of a tag, in lower case."""

    kind: Literal["text", "start", "end", "other"]
    raw: str
    name: str = ""


def tokens(document: str, *, is_xml: bool = False) -> Iterator[Token]:
    """The document's tags, comments and texts, in order. The inside of a script is neither: it is `other`."""
    position = 0
    for start, token in _markup(document, is_xml):
        if start > position:
            yield Token("text", document[position:start])
        yield token
        position = start + len(token.raw)
    if position < len(document):
        yield Token("text", document[position:])


def _markup(document: str, is_xml: bool) -> Iterator[tuple[int, Token]]:
    position = 0
    while match := _MARKUP.search(document, position):
        start, name = match.start(), (match["name"] or "").lower()
        position = _end(document, match, is_xml)
        kind: Literal["start", "end", "other"] = ("end" if match["end"] else "start") if name else "other"
        yield start, Token(kind, document[start:position], name)
        if kind == "start" and name in RAW_TEXT and not is_xml:
            inside = position
            closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(document, inside)
            position = closing.start() if closing else len(document)
            if position > inside:
                yield inside, Token("other", document[inside:position])


def _end(document: str, match: re.Match[str], is_xml: bool) -> int:
    """Behind the markup that begins there."""
    if match["comment"]:
        closing = _COMMENT_END.search(document, match.end() - 2)  # its dashes may be those that begin the comment
    elif match["data"] and is_xml:
        closing = _DATA_END.search(document, match.end())
    elif match["type"] and is_xml:
        closing = _TYPE_END.match(document, match.end())
    else:
        return _end_of_tag(document, match)
    return closing.end() if closing else len(document)


def _end_of_tag(document: str, match: re.Match[str]) -> int:
    """Behind the `>` of a tag; one inside a quoted value is not it. What has no name has no values."""
    position = match.end()
    if not match["name"]:
        return document.find(">", position) + 1 or len(document)
    while found := _QUOTE_OR_END.search(document, position):
        if not found[1]:
            return found.end()
        position = document.find(found[1], found.end()) + 1
        if not position:
            break
    return len(document)

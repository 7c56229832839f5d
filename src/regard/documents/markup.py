"""HTML and XML to segments and back: tokens that, joined, are the document again to the last character.

The standard library's parser is no help: its events cannot be joined again, and some malformed documents make it scan
the same text again and again. Here every character is scanned once. What is never closed (a tag, a comment, a script)
extends to the end of the document, as it does in a browser. XML has no elements of raw text, and HTML no CDATA.

In HTML the text between block tags is one segment, with its inline tags. In XML tag names have no meaning, unless the
client gives them one: a tag beside text is inline, any other one separates segments. In
`<page><line>I <b>see</b></line></page>` the page and the line have no text beside other elements, so they separate; the
b is inline. Character references are decoded. A reference to an entity of the document, such as `&company;`, stays.
"""

import html
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.documents.template import SegmentBuilder, Template


def _tag_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RAW_TEXT = _tag_names("script style xmp iframe noembed noframes")
VOID_TAGS = _tag_names("area base br col embed hr img input link meta source track wbr")

# Tags inside a sentence; any other tag ends it.
INLINE_TAGS = _tag_names(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark nobr q ruby s samp
    small span strike strong sub sup time tt u var wbr
    """
)

# Their content is not translated: programs, formulas, footnote marks, input.
UNTRANSLATED = _tag_names("code kbd samp var sub sup math svg textarea")

_MARKUP = re.compile(
    r"<(?:(?P<end>/)?(?P<name>[a-zA-Z][^\s/>]*+)|(?P<comment>!--)|(?P<data>!\[CDATA\[)|(?P<type>!DOCTYPE\b)|[!?/])"
)
_QUOTE_OR_END = re.compile(r"=\s*+([\"'])|>")  # only after an equals sign does a quote begin a value
_COMMENT_END = re.compile(r"--!?>")
_DATA_END = re.compile(r"\]\]>")
_TYPE_END = re.compile(r"[^\[>]*+(?:\[.*?\]\s*+)?>", re.DOTALL)  # its brackets hold declarations


@dataclass(frozen=True, slots=True)
class MarkupToken:
    """A part of the document; `name` is that of a tag, in lower case."""

    kind: Literal["text", "start", "end", "other"]
    raw: str
    name: str = ""


def tokenize_markup(document: str, *, is_xml: bool = False) -> Iterator[MarkupToken]:
    """The tags, comments and texts of the document, in order.

    Elements without an end tag (`<br>` in HTML, `<x/>` in XML) and the content of a script are `other`.
    """
    position = 0
    while match := _MARKUP.search(document, position):
        start, name = match.start(), (match["name"] or "").lower()
        if start > position:
            yield MarkupToken("text", document[position:start])
        position = _markup_end(document, match, is_xml)
        raw = document[start:position]
        is_empty = raw.endswith("/>") if is_xml else name in VOID_TAGS
        if not name or (is_empty and not match["end"]):
            yield MarkupToken("other", raw, name)
            continue
        yield MarkupToken("end" if match["end"] else "start", raw, name)
        if not match["end"] and name in RAW_TEXT and not is_xml:
            closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(document, position)
            start, position = position, closing.start() if closing else len(document)
            if position > start:
                yield MarkupToken("other", document[start:position])
    if position < len(document):
        yield MarkupToken("text", document[position:])


def _markup_end(document: str, match: re.Match[str], is_xml: bool) -> int:
    """The end of the markup that starts at the match; a `>` inside a quoted value does not end a tag."""
    position = match.end()
    if match["comment"]:
        closing = _COMMENT_END.search(document, position - 2)  # its dashes may be those that begin the comment
    elif match["data"] and is_xml:
        closing = _DATA_END.search(document, position)
    elif match["type"] and is_xml:
        closing = _TYPE_END.match(document, position)
    elif not match["name"]:  # such markup has no values
        return document.find(">", position) + 1 or len(document)
    else:
        while (closing := _QUOTE_OR_END.search(document, position)) and closing[1]:
            position = document.find(closing[1], closing.end()) + 1
            if not position:
                return len(document)
    return closing.end() if closing else len(document)


_NO_TRANSLATE_ATTRIBUTE = re.compile(
    r"""\s(?:translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b)""", re.IGNORECASE
)


def protect_elements(row: Iterator[MarkupToken], ignore: frozenset[str]) -> Iterator[MarkupToken]:
    """The tokens, with each untranslated element (by its name or its attribute) as one token."""
    for token in row:
        if token.kind != "start" or not (token.name in ignore or _NO_TRANSLATE_ATTRIBUTE.search(token.raw)):
            yield token
            continue
        raws, depth = [token.raw], 1
        while depth and (inner := next(row, None)):
            raws.append(inner.raw)
            if inner.name == token.name:
                depth += {"start": 1, "end": -1}.get(inner.kind, 0)
        yield MarkupToken("other", "".join(raws), token.name)


_LEADING_ZEROS = re.compile("&#0+(?=[0-9])")
_ENDLESS_NUMBER = re.compile("&#[0-9]{10,};?")  # beyond Unicode; Python parses no number of 4,301 digits


def unescape_text(raw: str) -> str:
    """The text with its character references decoded, as a browser does."""
    if "&#" in raw:
        raw = _ENDLESS_NUMBER.sub("\N{REPLACEMENT CHARACTER}", _LEADING_ZEROS.sub("&#", raw))
    return html.unescape(raw)


def escape_text(text: str) -> str:
    """The text with `&`, `<` and `>` escaped."""
    return html.escape(text, quote=False)


def read_html(document: str, *, ignore: frozenset[str] = frozenset()) -> Template:
    """The document, or a fragment, as segments and the markup between them.

    The content of elements named in `ignore` is not translated either.
    """
    template: Template = []
    builder, is_preformatted = SegmentBuilder(), False
    for token in protect_elements(tokenize_markup(document), UNTRANSLATED | ignore):
        if token.kind == "text" or token.name in INLINE_TAGS or token.raw.startswith("<!--"):
            if token.kind == "text":
                builder.add_text(token.raw, unescape_text(token.raw))
            else:
                builder.add_tag(token.kind, token.name, token.raw)
            continue
        template += [*builder.build(break_at_newlines=is_preformatted, escape=escape_text), token.raw]
        builder = SegmentBuilder()
        if token.name == "pre":
            is_preformatted = token.kind == "start"
    return [*template, *builder.build(break_at_newlines=is_preformatted, escape=escape_text)]


PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,9})|#x(?P<hexadecimal>[0-9a-fA-F]{1,8})|(?P<name>[A-Za-z_:][\w:.-]*+));"
)


@dataclass(frozen=True)
class XmlTagRules:
    """The meaning of tags by their names, in lower case; for others the outline of the document decides."""

    splitting: frozenset[str] = frozenset()  # these end a sentence
    inline: frozenset[str] = frozenset()  # these never do
    ignore: frozenset[str] = frozenset()  # their content is not translated
    outline_detection: bool = True  # without it, only the named tags end a sentence


@dataclass(frozen=True, slots=True)
class PlacedToken:
    """A token with its element and parent."""

    token: MarkupToken
    element: int  # index of the start tag of its element
    parent: int  # index of the start tag of the element around it; -1: none


def read_xml(document: str, tags: XmlTagRules) -> Template:
    """The document, or a fragment, as segments and the markup between them."""
    template: Template = []
    builder = SegmentBuilder()
    placed = list(_place_tokens(protect_elements(tokenize_markup(document, is_xml=True), tags.ignore)))
    for one, is_inline in zip(placed, _are_inline(placed, tags), strict=True):
        if one.token.kind == "text":
            _add_xml_text(one.token.raw, builder)
        elif is_inline:
            builder.add_tag(one.token.kind, one.token.name, one.token.raw)
        else:
            template += [*builder.build(break_at_newlines=False, escape=escape_text), one.token.raw]
            builder = SegmentBuilder()
    return [*template, *builder.build(break_at_newlines=False, escape=escape_text)]


def _add_xml_text(raw: str, builder: SegmentBuilder) -> None:
    """Add text with its references decoded; a reference to an unknown entity or character is a placeholder."""
    position = 0
    for match in _REFERENCE.finditer(raw):
        builder.add_text(raw[position : match.start()])
        position = match.end()
        if match["name"]:
            meaning = PREDEFINED.get(match["name"], "")
        else:
            code = int(match["decimal"] or match["hexadecimal"], 10 if match["decimal"] else 16)
            is_character = 0 < code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF  # surrogates
            meaning = chr(code) if is_character else ""
        builder.add_text(match[0], meaning) if meaning else builder.add_placeholder(match[0])
    builder.add_text(raw[position:])


def _place_tokens(row: Iterator[MarkupToken]) -> Iterator[PlacedToken]:
    """The tokens with their elements; an end tag also ends the unclosed elements inside."""
    around, names = [("", -1)], Counter[str]()
    for number, token in enumerate(row):
        if token.kind == "end" and names[token.name]:
            element, ended = number, ""
            while ended != token.name:
                ended, element = around.pop()
                names[ended] -= 1
            yield PlacedToken(token, element, around[-1][1])
            continue
        yield PlacedToken(token, number, around[-1][1])
        if token.kind == "start":
            around.append((token.name, number))
            names[token.name] += 1


def _are_inline(placed: Sequence[PlacedToken], tags: XmlTagRules) -> list[bool]:
    """For each token whether it is inside a sentence: beside text, or inside an element that is."""
    with_text = {one.parent for one in placed if one.token.kind == "text" and not one.token.raw.isspace()}
    inline: list[bool] = []
    for number, one in enumerate(placed):
        if one.element < number:
            inline.append(inline[one.element])  # an end tag is like its start tag
        elif one.token.name in tags.splitting or one.token.name in tags.inline:
            inline.append(one.token.name in tags.inline)
        else:
            is_inside = one.parent >= 0 and inline[one.parent]
            inline.append(is_inside or one.parent in with_text or not tags.outline_detection)
    return inline

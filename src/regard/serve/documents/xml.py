"""XML with its tags kept: what stands beside text is part of a sentence, all else is structure between sentences.

Names of tags mean nothing here, unless the sender has said what they mean. In `<page><line>I <b>see</b></line></page>`
the page and the line hold no text beside other elements, so they part sentences; the b is one with its sentence.
References to characters are read. One to an entity of the document's own, such as `&company;`, stands as it is.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.serve.documents.blocks import Template
from regard.serve.documents.elements import add, escaped, with_kept_whole
from regard.serve.documents.making import Making
from regard.serve.documents.tags import Token, tokens

PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,9})|#x(?P<hexadecimal>[0-9a-fA-F]{1,8})|(?P<name>[A-Za-z_:][\w:.-]*+));"
)


@dataclass(frozen=True)
class Tags:
    """What tags mean by their names, in lower case; the outline of a document says it of the others."""

    splitting: frozenset[str] = frozenset()  # they end a sentence
    inline: frozenset[str] = frozenset()  # they never do
    kept: frozenset[str] = frozenset()  # their inside stays as it is
    has_outline: bool = True  # without one, only those that are named end a sentence


@dataclass(frozen=True, slots=True)
class _Placed:
    """A token by its place among the elements."""

    token: Token
    element: int  # number of the token by which its element begins
    parent: int  # the same of the element around it; -1: there is none


def read_xml(document: str, tags: Tags) -> Template:
    """The document, or a piece of one, as blocks of text and the markup between them."""
    template: Template = []
    making = Making()
    placed = list(_placed(with_kept_whole(_with_empty_closed(tokens(document, is_xml=True)), tags.kept)))
    for one, is_inline in zip(placed, _inline(placed, tags), strict=True):
        if is_inline or one.token.kind == "text":
            _add(one.token, making)
        else:
            template += [*making.made(lines_end=False, escape=escaped), one.token.raw]
            making = Making()
    return [*template, *making.made(lines_end=False, escape=escaped)]


def _add(token: Token, making: Making) -> None:
    """Add what a token says to the block, by the references that XML has."""
    if token.kind != "text":
        add(token, making)
        return
    position = 0
    for match in _REFERENCE.finditer(token.raw):
        making.text(token.raw[position : match.start()])
        meaning = _meaning(match)
        making.text(match[0], meaning) if meaning else making.stand(match[0])
        position = match.end()
    making.text(token.raw[position:])


def _meaning(reference: re.Match[str]) -> str:
    """The character that is meant, if it is known."""
    if reference["name"]:
        return PREDEFINED.get(reference["name"], "")
    code = int(reference["decimal"] or reference["hexadecimal"], 10 if reference["decimal"] else 16)
    is_character = 0 < code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF  # those are halves of pairs
    return chr(code) if is_character else ""


def _with_empty_closed(row: Iterator[Token]) -> Iterator[Token]:
    """The tokens, those of empty elements such as `<x/>` no beginnings."""
    for token in row:
        is_empty = token.kind == "start" and token.raw.endswith("/>")
        yield Token("other", token.raw, token.name) if is_empty else token


def _placed(row: Iterator[Token]) -> Iterator[_Placed]:
    """The tokens with their places; an end ends what was opened in its element and never closed."""
    around, names = [("", -1)], Counter[str]()
    for number, token in enumerate(row):
        if token.kind == "end" and names[token.name]:
            element, ended = number, ""
            while ended != token.name:
                ended, element = around.pop()
                names[ended] -= 1
            yield _Placed(token, element, around[-1][1])
            continue
        yield _Placed(token, number, around[-1][1])
        if token.kind == "start":
            around.append((token.name, number))
            names[token.name] += 1


def _inline(placed: Sequence[_Placed], tags: Tags) -> list[bool]:
    """For each token whether it stands in a sentence: beside text, or inside what does."""
    with_text = {one.parent for one in placed if one.token.kind == "text" and not one.token.raw.isspace()}
    inline: list[bool] = []
    for number, one in enumerate(placed):
        if one.element < number:
            inline.append(inline[one.element])  # an end is as its beginning
        elif one.token.name in tags.splitting or one.token.name in tags.inline:
            inline.append(one.token.name in tags.inline)
        else:
            is_inside = one.parent >= 0 and inline[one.parent]
            inline.append(is_inside or one.parent in with_text or not tags.has_outline)
    return inline

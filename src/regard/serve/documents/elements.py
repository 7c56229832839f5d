"""What HTML and XML have in common: elements that are kept whole, and tokens that go into a block."""

import html
import re
from collections.abc import Iterator

from regard.serve.documents.making import Making
from regard.serve.documents.tags import Token

_SAYS_KEPT = re.compile(r"""\s(?:translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b)""", re.IGNORECASE)


def with_kept_whole(row: Iterator[Token], kept: frozenset[str]) -> Iterator[Token]:
    """The tokens, each element that is kept as it is, by its name or its own word, made into one of them."""
    for token in row:
        if token.kind == "start" and (token.name in kept or _SAYS_KEPT.search(token.raw)):
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


def add(token: Token, making: Making) -> None:
    """Add what a token says to the block."""
    if token.kind == "text":
        making.text(token.raw, html.unescape(token.raw))
    elif token.kind == "end":
        making.close(token.name, token.raw)
    elif token.kind == "start":
        making.open(token.name, token.raw)
    else:
        making.stand(token.raw)


def escaped(text: str) -> str:
    """Text as it is written between tags."""
    return html.escape(text, quote=False)

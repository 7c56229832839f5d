"""Gettext catalogues: messages without a translation get one; all else, finished translations included, is kept."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from regard.data.readers.po import unescape
from regard.errors import RegardError
from regard.serve.documents.blocks import Template
from regard.serve.documents.making import Making
from regard.serve.documents.tags import tokens

_LINE = re.compile(r"[^\n]*\n?")
_STATEMENT = re.compile(r'\s*(?P<keyword>msg(?:ctxt|id|id_plural|str|str\[\d+\]))?\s*"(?P<quoted>(?:[^"\\]|\\.)*+)"\s*')
# What a program puts values into: %s, %(name)d, %1$s, {name}, {{ name }}, ${name}. It comes out as it went in.
_PLACEHOLDER = re.compile(
    r"(%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[zjtL])?[diouxXeEfFgGcrsa](?![a-z])|%%"
    r"|\$\{[^{}\s]{1,64}\}|\{\{[^{}]{1,64}\}\}|%?\{[^{}\s]{0,64}\})"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass
class _Statement:
    """A keyword with its strings, on one line or several; without a keyword, a line that is kept."""

    keyword: str
    lines: list[str]
    text: str = ""


def read_po(document: str) -> Template:
    """The messages that have no translation yet as blocks in its place, and all else as it is."""
    template: Template = []
    for message in _messages(document):
        texts = {statement.keyword: statement.text for statement in message}
        for statement in message:
            source = _source(statement.keyword, texts)
            if source and not statement.text:
                template += _translation(statement, source)
            else:
                template += statement.lines
    return template


def _messages(document: str) -> Iterator[list[_Statement]]:
    """The statements by messages; what stands between two goes with the first."""
    message, has_forms = list[_Statement](), False
    for statement in _statements(document):
        if has_forms and statement.keyword in ("msgctxt", "msgid"):
            yield message
            message, has_forms = [], False
        message.append(statement)
        has_forms |= statement.keyword.startswith("msgstr")
    yield message


def _source(keyword: str, texts: dict[str, str]) -> str:
    """What a statement translates. Of a header, nothing.

    The first form renders the singular, later ones the plural; a sole form, as Korean has it, the plural.
    """
    if not keyword.startswith("msgstr"):
        return ""
    singular = texts.get("msgid", "")
    is_singular = keyword == "msgstr[0]" and "msgstr[1]" in texts
    return singular if is_singular else texts.get("msgid_plural", singular)


def _statements(document: str) -> Iterator[_Statement]:
    current: _Statement | None = None
    for number, match in enumerate(_LINE.finditer(document), start=1):
        line, statement = match[0], _STATEMENT.fullmatch(match[0])
        if statement is None and line.strip(" \t\r\n\ufeff") and not line.lstrip(" \t\ufeff").startswith("#"):
            raise RegardError(f"Line {number} of the catalogue is no statement of its. Check the file with msgfmt.")
        if statement is not None and statement["keyword"] is None and current is not None:
            current.lines.append(line)
            current.text += _text(statement["quoted"], number)
            continue
        if current is not None:
            yield current
        current = None
        if statement is None or statement["keyword"] is None:
            yield _Statement("", [line])
        else:
            current = _Statement(statement["keyword"], [line], _text(statement["quoted"], number))
    if current is not None:
        yield current


def _text(quoted: str, number: int) -> str:
    try:
        return unescape(quoted)
    except UnicodeDecodeError:
        raise RegardError(f"Line {number} of the catalogue has an escape that is not UTF-8. Mend it.") from None


def _translation(statement: _Statement, source: str) -> Template:
    making = Making()
    for token in tokens(source):
        if token.kind == "start":
            making.open(token.name, token.raw)
        elif token.kind == "end":
            making.close(token.name, token.raw)
        else:
            for index, piece in enumerate(_PLACEHOLDER.split(token.raw)):
                (making.stand if index % 2 else making.text)(piece)
    ending = statement.lines[0][len(statement.lines[0].rstrip("\r\n")) :]
    finish = partial(_quoted, statement.keyword)
    blocks = making.made(lines_end=True, finish=finish)
    return [*(replace(block, raw=finish(source)) for block in blocks), ending]


def _quoted(keyword: str, text: str) -> str:
    """The statement; of several lines, each has a string of its own, after an empty one, as gettext writes them."""
    strings = [f'"{"".join(_ESCAPES.get(one, one) for one in line)}"' for line in text.splitlines(keepends=True)]
    return f"{keyword} " + "\n".join(strings if len(strings) == 1 else ['""', *strings])

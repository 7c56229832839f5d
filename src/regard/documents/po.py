"""Gettext catalogues (PO): messages without a translation get one; the rest stays as it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from regard.data.pair_readers.po import PLACEHOLDER, parse_po_line
from regard.documents.markup import tokenize_markup
from regard.documents.template import SegmentBuilder, Template
from regard.errors import RegardError

_LINE = re.compile(r"[^\n]*\n?")

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass
class PoStatement:
    """A keyword with its strings, on one line or several; without a keyword, a line that stays."""

    keyword: str
    lines: list[str]
    text: str = ""


def po_template(document: str) -> Template:
    """The missing translations as segments, and the rest as it is."""
    template: Template = []
    message, has_translation = list[PoStatement](), False
    for statement in _read_statements(document):
        if has_translation and statement.keyword in ("msgctxt", "msgid"):
            template += _message_template(message)
            message, has_translation = [], False
        message.append(statement)
        has_translation |= statement.keyword.startswith("msgstr")
    return template + _message_template(message)


def _message_template(message: list[PoStatement]) -> Template:
    """The statements of one message; each empty translation is a segment with its source text.

    The first plural form translates the singular, later ones the plural; a single form, as in Korean, the plural.
    """
    template: Template = []
    texts = {statement.keyword: statement.text for statement in message}
    singular = texts.get("msgid", "")  # empty in the header
    for statement in message:
        is_singular = statement.keyword == "msgstr[0]" and "msgstr[1]" in texts
        source = singular if is_singular else texts.get("msgid_plural", singular)
        is_missing = statement.keyword.startswith("msgstr") and source and not statement.text
        template += _filled_statement(statement, source) if is_missing else statement.lines
    return template


def _read_statements(document: str) -> Iterator[PoStatement]:
    current: PoStatement | None = None
    for number, match in enumerate(_LINE.finditer(document), start=1):
        raw, line = match[0], parse_po_line(match[0], partial(_error_at, number))
        if line.text is not None and not line.keyword and current is not None:
            current.lines.append(raw)
            current.text += line.text
            continue
        if current is not None:
            yield current
        current = PoStatement(line.keyword, [raw], line.text or "") if line.keyword else None
        if current is None:
            yield PoStatement("", [raw])
    if current is not None:
        yield current


def _error_at(number: int, reason: str) -> RegardError:
    return RegardError(f"Line {number} of the catalogue: {reason}")


def _filled_statement(statement: PoStatement, source: str) -> Template:
    builder = SegmentBuilder()
    for token in tokenize_markup(source):
        if token.name and token.kind != "text":
            builder.add_tag(token.kind, token.name, token.raw)
        else:
            for index, piece in enumerate(PLACEHOLDER.split(token.raw)):
                (builder.add_placeholder if index % 2 else builder.add_text)(piece)
    ending = statement.lines[0][len(statement.lines[0].rstrip("\r\n")) :]
    serialize = partial(_quote, statement.keyword)
    blocks = builder.build(break_at_newlines=True, serialize=serialize)
    return [*(replace(block, raw=serialize(source)) for block in blocks), ending]


def _quote(keyword: str, text: str) -> str:
    """The statement; several lines are one string each, after an empty one, as gettext writes them."""
    strings = [f'"{"".join(_ESCAPES.get(one, one) for one in line)}"' for line in text.splitlines(keepends=True)]
    return f"{keyword} " + "\n".join(strings if len(strings) == 1 else ['""', *strings])

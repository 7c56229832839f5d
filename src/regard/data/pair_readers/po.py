"""Pairs from a gettext catalogue (PO): every translated message, with its plural forms.

The header is skipped, and so are messages that are fuzzy, obsolete or not translated.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from regard.data.pair_readers.text import Pair, join_lines
from regard.data.text_lines import error_at, numbered_lines
from regard.errors import RegardError

_STATEMENT = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[[0-9]\])?\s*"((?:[^"\\]|\\.)*+)"')
# Placeholders of programs: %s, %(name)d, %1$s, {name}, {{ name }}, ${name}.
PLACEHOLDER = re.compile(
    r"(%(?:\(\w++\)|\d++\$)?[-+#0]*+\d*+(?:\.\d++)?(?:hh?|ll?|[zjtL])?[diouxXeEfFgGcrsa](?![a-z])|%%"
    r"|\$\{[^{}\s]{1,64}\}|\{\{[^{}]{1,64}\}\}|%?\{[^{}\s]{0,64}\})"
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_NAMED_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def read_po(path: Path) -> Iterator[Pair]:
    """Every translated message of the catalogue."""
    count = 0
    for message in _read_messages(path):
        for source, target in message.translations():
            count += 1
            yield Pair(join_lines(source), join_lines(target), message.line)
    if count == 0:
        raise RegardError(f"{path} contains no finished translation. Give a catalogue with translated msgstr entries.")


@dataclass
class _Message:
    texts: dict[str, str] = field(default_factory=dict)  # by keyword, in the order of the file
    line: int = 0
    fuzzy: bool = False

    @property
    def forms(self) -> list[str]:
        return [text for keyword, text in self.texts.items() if keyword.startswith("msgstr")]

    def translations(self) -> Iterator[tuple[str, str]]:
        """The first form translates the singular, later ones the plural; a single form, as in Korean, the plural."""
        singular, forms = self.texts["msgid"], self.forms
        plural = self.texts.get("msgid_plural", singular)
        sources = [singular] + [plural] * (len(forms) - 1) if len(forms) > 1 else [plural]
        if singular and not self.fuzzy:
            yield from ((source, form) for source, form in zip(sources, forms, strict=True) if form)


def _read_messages(path: Path) -> Iterator[_Message]:
    message, number = _Message(), 0
    for number, raw in numbered_lines(path):
        line = raw.strip()
        if message.forms and (not line or line.startswith(("#", "msgctxt", "msgid"))):
            yield message
            message = _Message()
        if line.startswith("#~"):
            message.fuzzy = False  # obsolete: the flags above belong to it
        elif line.startswith("#,"):
            message.fuzzy |= "fuzzy" in re.split(r"[,\s]+", line)
        else:
            _add_line(parse_po_line(line, partial(error_at, path, number)), message, path, number)
    if message.forms:
        yield message
    elif message.texts:
        raise error_at(path, number, "the file ends inside a message. Add its msgstr.")


def _add_line(line: "PoLine", message: _Message, path: Path, number: int) -> None:
    """Add a statement, or the next string of the last one, to the message."""
    if line.text is None:
        return
    if not line.keyword:
        if not message.texts:
            raise error_at(path, number, "a string that follows no msgid or msgstr. Check the file with msgfmt.")
        message.texts[next(reversed(message.texts))] += line.text
        return
    keyword = line.keyword
    is_early = keyword not in ("msgctxt", "msgid") and "msgid" not in message.texts
    is_unordered = keyword.startswith("msgstr[") and keyword != f"msgstr[{len(message.forms)}]"
    if is_early or is_unordered or keyword in message.texts:
        raise error_at(path, number, f"{keyword} is in the wrong position. A message is one msgid, then its msgstr.")
    message.texts[keyword] = line.text
    message.line = message.line or number


# --- lines of a catalogue, also for regard.documents.po ---------------------------------------------------------------


@dataclass(frozen=True)
class PoLine:
    """One line of a catalogue: a keyword with a string, a string that continues the last one, or neither."""

    keyword: str = ""  # such as msgid or msgstr[0]; empty for a string that continues
    text: str | None = None  # None: a comment or an empty line


def parse_po_line(line: str, fail: Callable[[str], RegardError]) -> PoLine:
    """Parse one line; `fail` makes the error from a message. Octal and hex escapes are bytes, maybe not UTF-8."""
    stripped = line.strip().removeprefix("\ufeff").strip()
    if not stripped or stripped.startswith("#"):
        return PoLine()
    match = _STATEMENT.fullmatch(stripped)
    if match is None:
        raise fail('expected msgid, msgstr, a comment or a "quoted string". Check the file with msgfmt.')
    try:
        text = _ESCAPE.sub(_decode_escape, match[2].encode("utf-8")).decode("utf-8")
    except UnicodeDecodeError:
        raise fail("an escape gives bytes that are not UTF-8. Write the character itself.") from None
    return PoLine(match[1] or "", text)


def _decode_escape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1] in b"01234567":
        return bytes([int(code, 8) % 256])
    return _NAMED_ESCAPES.get(code, code)

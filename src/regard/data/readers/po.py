"""Pairs from a gettext catalogue: every translated message, its plural forms included.

Skipped are the header, and messages that are fuzzy, obsolete or not translated: nobody vouches for them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.readers.lines import error_at, numbered_lines
from regard.data.readers.pair import Pair, one_line
from regard.errors import RegardError

_STATEMENT = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d+\])?\s*"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def read_po(path: Path) -> Iterator[Pair]:
    """Every translated message of the catalogue."""
    count = 0
    for message in _messages(path):
        for source, target in message.translations():
            count += 1
            yield Pair(one_line(source), one_line(target), message.line)
    if count == 0:
        raise RegardError(f"{path} holds no finished translation. Give a catalogue whose msgstr are filled in.")


@dataclass
class _Message:
    texts: dict[str, str] = field(default_factory=dict)  # by keyword, in the order of the file
    line: int = 0
    fuzzy: bool = False

    @property
    def forms(self) -> list[str]:
        return [text for keyword, text in self.texts.items() if keyword.startswith("msgstr")]

    def translations(self) -> Iterator[tuple[str, str]]:
        """The first form renders the singular, later ones the plural; a sole form, as Korean has it, the plural."""
        singular, forms = self.texts["msgid"], self.forms
        plural = self.texts.get("msgid_plural", singular)
        sources = [singular] + [plural] * (len(forms) - 1) if len(forms) > 1 else [plural]
        if singular and not self.fuzzy:
            yield from ((source, form) for source, form in zip(sources, forms, strict=True) if form)


def _messages(path: Path) -> Iterator[_Message]:
    message, number = _Message(), 0
    for number, raw in numbered_lines(path):
        line = raw.strip()
        if message.forms and _begins_another(line):
            yield message
            message = _Message()
        if line.startswith("#~"):
            message.fuzzy = False  # obsolete: the flags above it were its own
        elif line.startswith("#,"):
            message.fuzzy |= "fuzzy" in re.split(r"[,\s]+", line)
        elif line and not line.startswith("#"):
            _add(line, message, path, number)
    if message.forms:
        yield message
    elif message.texts:
        raise error_at(path, number, "the file ends inside a message. Add its msgstr.")


def _begins_another(line: str) -> bool:
    return not line or line.startswith(("#", "msgctxt", "msgid"))


def _add(line: str, message: _Message, path: Path, number: int) -> None:
    """Add a statement, or the next piece of the last one, to the message."""
    match = _STATEMENT.fullmatch(line)
    if match is None:
        raise error_at(
            path, number, 'expected msgid, msgstr, a comment or a "quoted string". Check the file with msgfmt.'
        )
    keyword, quoted = match.groups()
    text = _unescape(quoted, path, number)
    if keyword is None:
        if not message.texts:
            raise error_at(path, number, "a string that follows no msgid or msgstr. Check the file with msgfmt.")
        keyword = next(reversed(message.texts))
        message.texts[keyword] += text
        return
    if keyword in message.texts or (keyword not in ("msgctxt", "msgid") and "msgid" not in message.texts):
        raise error_at(path, number, f"{keyword} is out of place. A message is one msgid, then its msgstr.")
    message.texts[keyword] = text
    message.line = message.line or number


def unescape(quoted: str) -> str:
    """What stands between the quotes of a string; octal and hex escapes are bytes, which may not be UTF-8."""
    return _ESCAPE.sub(_escaped, quoted.encode("utf-8")).decode("utf-8") if "\\" in quoted else quoted


def _unescape(quoted: str, path: Path, number: int) -> str:
    try:
        return unescape(quoted)
    except UnicodeDecodeError:
        raise error_at(path, number, "an escape gives bytes that are not UTF-8. Write the character itself.") from None


def _escaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1] in b"01234567":
        return bytes([int(code, 8) % 256])
    return _NAMED.get(code, code)

"""Pairs from a translation memory (TMX), read as a stream.

A document type may declare entities that unfold into gigabytes or name other files, so a file that has one is
refused before anything in it is expanded.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from regard.data.readers.lines import LONGEST_LINE, error_at, read_pieces
from regard.data.readers.pair import Pair, one_line
from regard.errors import RegardError

_CODES = {"bpt", "ept", "it", "ph", "ut"}  # hold the markup of the translated document, not its text
_BLOCK = 2**16  # bytes
_END = b""
_MOST_LANGUAGES_SHOWN = 12


def read_tmx(path: Path, *, languages: tuple[str, str]) -> Iterator[Pair]:
    """The pair of each unit that has both languages; `en` also stands for `en-GB` and the like."""
    units, count = _Units(path, languages), 0
    for block in chain(read_pieces(path, lambda file: file.read(_BLOCK)), [_END]):
        for pair in units.feed(block):
            count += 1
            yield pair
    if count == 0:
        seen = ", ".join(sorted(units.seen)) or "none"
        wanted = " and ".join(languages)
        raise RegardError(f"{path} has no unit in both {wanted}; its languages are: {seen}. Set data.languages.")


class _Units:
    """Follows expat through the file and gathers the finished pairs."""

    def __init__(self, path: Path, languages: tuple[str, str]) -> None:
        self.seen: set[str] = set()
        self._path = path
        self._languages = languages
        self._pairs: list[Pair] = []
        self._unit: dict[str, str] = {}
        self._line = 0
        self._language: str | None = None  # of the variant we are in, if it is wanted
        self._text: list[str] | None = None  # of the segment we are in
        self._size = 0
        self._codes = 0  # how many code elements we are inside of
        self._is_root = True
        self._parser = self._listening_parser()

    def feed(self, block: bytes) -> list[Pair]:
        """Parse one more block; returns the pairs that it finishes."""
        self._pairs = []
        try:
            self._parser.Parse(block, block == _END)
        except expat.ExpatError as error:
            problem = f"not well-formed XML: {expat.ErrorString(error.code)}. Export the file again."
            raise error_at(self._path, error.lineno, problem) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not know
            raise self._error(f"{error}. Save the file as UTF-8.") from None
        return self._pairs

    def _listening_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        return parser

    def _doctype(self, *_: object) -> None:
        raise self._error("the file has a document type (<!DOCTYPE ...>), which may hide entities. Remove it.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_root and name != "tmx":
            raise self._error(f"expected a <tmx> document, got <{name[:40]}>.")
        self._is_root = False
        if name == "tu":
            self._unit, self._line = {}, self._parser.CurrentLineNumber
        elif name == "tuv":
            self._language = self._wanted(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self._text, self._size, self._codes = [], 0, 0
        elif name in _CODES:
            self._codes += 1

    def _characters(self, text: str) -> None:
        if self._text is None or self._codes or self._language is None:
            return
        self._size += len(text)
        if self._size > LONGEST_LINE:
            raise self._error(f"the segment is longer than {LONGEST_LINE:,} characters. Break it into sentences.")
        self._text.append(text)

    def _end(self, name: str) -> None:
        if name in _CODES:
            self._codes -= 1
        elif name == "seg" and self._text is not None:
            if self._language is not None:
                self._unit.setdefault(self._language, one_line("".join(self._text)))
            self._text = None
        elif name == "tu":
            source, target = (self._unit.get(language) for language in self._languages)
            if source is not None and target is not None:
                self._pairs.append(Pair(source, target, self._line))

    def _wanted(self, code: str) -> str | None:
        """The wanted language that a code names; of `pt` and `pt-BR`, the closer one."""
        if code and len(self.seen) < _MOST_LANGUAGES_SHOWN:
            self.seen.add(code[:40])
        matches = [language for language in self._languages if _names(code, language)]
        return max(matches, key=len, default=None)

    def _error(self, problem: str) -> RegardError:
        return error_at(self._path, self._parser.CurrentLineNumber, problem)


def _names(code: str, language: str) -> bool:
    code, language = code.lower().replace("_", "-"), language.lower().replace("_", "-")
    return code == language or code.startswith(language + "-")

"""Pairs from a translation memory (TMX), read as a stream.

The standard names its document type, `<!DOCTYPE tmx SYSTEM "tmx14.dtd">`, which is not loaded. A declaration inside the
file may define entities that expand to gigabytes or refer to other files: it is refused before anything is expanded.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from regard.data.pair_readers.text import Pair, join_lines
from regard.data.text_lines import MAX_LINE_BYTES, error_at, read_chunks
from regard.errors import RegardError
from regard.languages import plain_code

_CODE_ELEMENTS = {"bpt", "ept", "it", "ph", "ut"}  # contain markup of the translated document, not its text
_CHUNK_BYTES = 2**16
_MAX_TAG_BYTES = 2**20  # of a tag or a comment; expat parses one that is not complete again with every chunk
_END = b""
_MAX_LANGUAGES_SHOWN = 12


def read_tmx(path: Path, *, languages: tuple[str, str]) -> Iterator[Pair]:
    """The pair of each unit that has both languages; `en` also matches `en-GB` and other variants."""
    parser, count = _TmxParser(path, languages), 0
    for block in chain(read_chunks(path, lambda file: file.read(_CHUNK_BYTES)), [_END]):
        for pair in parser.feed(block):
            count += 1
            yield pair
    if count == 0:
        seen = ", ".join(sorted(parser.languages_seen)) or "none"
        wanted = " and ".join(languages)
        raise RegardError(f"{path} has no unit in both {wanted}; its languages are: {seen}. Set data.languages.")


class _TmxParser:
    """Receives expat's events and collects the finished pairs."""

    def __init__(self, path: Path, languages: tuple[str, str]) -> None:
        self.languages_seen: set[str] = set()
        self._path = path
        self._languages = languages
        self._pairs: list[Pair] = []
        self._unit: dict[str, str] = {}
        self._line = 0
        self._language: str | None = None  # of the current variant, if it is wanted
        self._text: list[str] | None = None  # of the current segment
        self._size = 0
        self._codes = 0  # depth of nested code elements
        self._is_root = True
        self._fed = 0  # bytes
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._skipped_entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def feed(self, block: bytes) -> list[Pair]:
        """Parse one more block and return the pairs that it completes."""
        self._pairs = []
        try:
            self._parser.Parse(block, block == _END)
        except expat.ExpatError as error:
            problem = f"not well-formed XML: {expat.ErrorString(error.code)}. Export the file again."
            raise error_at(self._path, error.lineno, problem) from None
        except (LookupError, ValueError) as error:  # an encoding that expat does not support
            raise self._error(f"{error}. Save the file as UTF-8.") from None
        self._fed += len(block)
        if self._fed - max(0, self._parser.CurrentByteIndex) > _MAX_TAG_BYTES:
            raise self._error(f"a tag or a comment is longer than {_MAX_TAG_BYTES:,} bytes. Export the file again.")
        return self._pairs

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_internal_subset: int) -> None:
        if has_internal_subset:
            raise self._error("<!DOCTYPE ... [...]> declares something, maybe entities. Remove what is in brackets.")

    def _skipped_entity(self, name: str, _is_parameter: int) -> None:
        raise self._error(f"&{name[:40]}; is not defined in this file. Write the character itself.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_root and name != "tmx":
            raise self._error(f"expected a <tmx> document, got <{name[:40]}>.")
        self._is_root = False
        if name == "tu":
            self._unit, self._line = {}, self._parser.CurrentLineNumber
        elif name == "tuv":
            self._language = self._match_language(attributes.get("xml:lang") or attributes.get("lang") or "")
        elif name == "seg":
            self._text, self._size, self._codes = [], 0, 0
        elif name in _CODE_ELEMENTS:
            self._codes += 1

    def _characters(self, text: str) -> None:
        if self._text is None or self._codes or self._language is None:
            return
        self._size += len(text)
        if self._size > MAX_LINE_BYTES:
            raise self._error(f"the segment is longer than {MAX_LINE_BYTES:,} characters. Break it into sentences.")
        self._text.append(text)

    def _end(self, name: str) -> None:
        if name in _CODE_ELEMENTS:
            self._codes -= 1
        elif name == "seg" and self._text is not None:
            if self._language is not None:
                self._unit.setdefault(self._language, join_lines("".join(self._text)))
            self._text = None
        elif name == "tu":
            source, target = (self._unit.get(language) for language in self._languages)
            if source is not None and target is not None:
                self._pairs.append(Pair(source, target, self._line))

    def _match_language(self, code: str) -> str | None:
        """The wanted language that a code matches; of `pt` and `pt-BR`, the more specific one."""
        if code and len(self.languages_seen) < _MAX_LANGUAGES_SHOWN:
            self.languages_seen.add(code[:40])
        code = plain_code(code)
        matches = [own for own in self._languages if f"{code}-".startswith(f"{plain_code(own)}-")]
        return max(matches, key=len, default=None)

    def _error(self, problem: str) -> RegardError:
        return error_at(self._path, self._parser.CurrentLineNumber, problem)

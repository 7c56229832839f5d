"""A document as a template: text that stays as it is, and segments to translate with their markup.

Every format is read into a `Template`, so that one function translates them all. Markup is separate: models are not
trained on it, and `markup_projection` puts it back around the aligned words of the translation.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Span:
    """Markup around text[start:end] of a segment; a placeholder if start == end.

    A span comes after its parent and before its children and later siblings, as opening tags do.
    """

    start: int
    end: int
    opening: str
    closing: str = ""
    parent: int = -1  # index of the span around it; -1: none


@dataclass(frozen=True)
class Segment:
    """Text that is translated as one, such as a paragraph."""

    text: str  # without markup
    raw: str  # with markup, as in the document: the output if there is nothing to translate
    spans: tuple[Span, ...] = ()
    break_at_newlines: bool = True  # whether a sentence ends at a line break
    escape: Callable[[str], str] = str  # how the format writes text between markup
    serialize: Callable[[str], str] = str  # how the format writes the whole segment
    keep_whole: bool = False  # whether it is one sentence, if the model can take it as one


Template = list[str | Segment]


def has_letters(text: str) -> bool:
    """Whether there is anything to translate; for numbers and signs alone a model would invent a translation."""
    return any(unicodedata.category(character)[0] == "L" for character in text)


def without_splitting(template: Template) -> Template:
    """The template with each segment as one sentence, if the model can take it as one."""
    return [replace(piece, keep_whole=True) if isinstance(piece, Segment) else piece for piece in template]


def plain_text_template(text: str, *, break_at_newlines: bool = True) -> Template:
    """The template of plain text."""
    return [Segment(text, text, break_at_newlines=break_at_newlines)]


@dataclass
class SegmentBuilder:
    """A segment that is being built."""

    raw: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    length: int = 0  # of the texts
    unclosed: list[tuple[str, int]] = field(default_factory=list)  # names and indices of spans, the innermost last
    names: Counter[str] = field(default_factory=Counter)  # of those unclosed

    def add_text(self, raw: str, meaning: str | None = None) -> None:
        """Add text, and its meaning if it is written with references."""
        self.raw.append(raw)
        self.texts.append(raw if meaning is None else meaning)
        self.length += len(self.texts[-1])

    def add_placeholder(self, raw: str) -> None:
        """Add something that stays as it is at one position."""
        self._append(Span(self.length, self.length, raw, parent=self._parent))

    def add_tag(self, kind: Literal["start", "end", "other"], name: str, raw: str) -> None:
        """Open a tag, close one, or add a placeholder.

        An end tag closes the innermost tag of its name and the unclosed tags inside it; without such a tag it is a
        placeholder. A tag that is never closed ends with the segment.
        """
        if kind == "start":
            self._append(Span(self.length, -1, raw, parent=self._parent))
            self.unclosed.append((name, len(self.spans) - 1))
            self.names[name] += 1
            return
        if kind == "other" or not self.names[name]:
            self.add_placeholder(raw)
            return
        self.raw.append(raw)
        ended = ""
        while ended != name:
            ended, index = self.unclosed.pop()
            self.names[ended] -= 1
            self.spans[index] = replace(self.spans[index], end=self.length, closing=raw if ended == name else "")

    def build(
        self, *, break_at_newlines: bool, escape: Callable[[str], str] = str, serialize: Callable[[str], str] = str
    ) -> list[Segment]:
        """The segment in a list; an empty list if nothing was added."""
        spans = tuple(replace(span, end=self.length) if span.end < 0 else span for span in self.spans)
        raw = "".join(self.raw)
        return [Segment("".join(self.texts), raw, spans, break_at_newlines, escape, serialize)] if raw else []

    @property
    def _parent(self) -> int:
        return self.unclosed[-1][1] if self.unclosed else -1

    def _append(self, span: Span) -> None:
        self.raw.append(span.opening)
        self.spans.append(span)

"""A block made from what comes in: text, tags that open and close, things that stand at one place."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from regard.serve.documents.blocks import Block, Span


@dataclass
class Making:
    """A block on its way."""

    raw: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    length: int = 0  # of the texts
    unclosed: list[tuple[str, int]] = field(default_factory=list)  # names and indices of spans, the innermost last
    names: Counter[str] = field(default_factory=Counter)  # of those unclosed

    def text(self, raw: str, meaning: str | None = None) -> None:
        """Text, and what it means where that is not what is written."""
        self.raw.append(raw)
        self.texts.append(raw if meaning is None else meaning)
        self.length += len(self.texts[-1])

    def stand(self, raw: str) -> None:
        """Something that stands at one place and is kept as it is."""
        self._append(Span(self.length, self.length, raw, parent=self._parent))

    def open(self, name: str, raw: str) -> None:
        """A tag; unless it is closed it lasts to the block's end."""
        self._append(Span(self.length, -1, raw, parent=self._parent))
        self.unclosed.append((name, len(self.spans) - 1))
        self.names[name] += 1

    def close(self, name: str, raw: str) -> None:
        """The innermost tag of that name ends, and with it what was opened in it and never closed.

        Where there is none, the end stands for itself.
        """
        if not self.names[name]:
            self.stand(raw)
            return
        self.raw.append(raw)
        ended = ""
        while ended != name:
            ended, index = self.unclosed.pop()
            self.names[ended] -= 1
            self.spans[index] = replace(self.spans[index], end=self.length, closing=raw if ended == name else "")

    def made(
        self, *, lines_end: bool, escape: Callable[[str], str] = str, finish: Callable[[str], str] = str
    ) -> list[Block]:
        """The block, if anything came in."""
        spans = tuple(replace(span, end=self.length) if span.end < 0 else span for span in self.spans)
        raw = "".join(self.raw)
        return [Block("".join(self.texts), raw, spans, lines_end, escape, finish)] if raw else []

    @property
    def _parent(self) -> int:
        return self.unclosed[-1][1] if self.unclosed else -1

    def _append(self, span: Span) -> None:
        self.raw.append(span.opening)
        self.spans.append(span)

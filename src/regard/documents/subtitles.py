"""SubRip subtitles: numbers, times and tags stay, and a translated cue has as many lines as its source."""

import re
from bisect import bisect_left
from functools import partial

from regard.documents.markup import tokenize_markup
from regard.documents.template import SegmentBuilder, Template
from regard.errors import RegardError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
_TIMES = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+")
_TAGS = frozenset({"b", "font", "i", "s", "u"})
_DASH = re.compile(r"\s*[-–—]\s*")  # before the line of another speaker
_PLACING = re.compile(r"(\{[^{}\n]*\})")  # such as {\an8}
_LINE_END = re.compile(r"[\r\n]+")
_SPACE_OR_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}|( )")


def read_srt(document: str) -> Template:
    """The texts of the cues as segments, and the rest as it is."""
    template: Template = []
    cue: list[str] | None = None  # lines since the last times
    for match in _LINE.finditer(document):
        line = match[0]
        if cue is None or not line.strip():
            template += [*_cues(cue or []), line]
            cue = [] if _TIMES.match(line) else None
        else:
            cue.append(line)
    if document.strip() and not any(_TIMES.match(line[0]) for line in _LINE.finditer(document)):
        raise RegardError("The subtitles have no times, such as 00:00:01,000 --> 00:00:02,500. Give a SubRip file.")
    return [*template, *_cues(cue or [])]


def _cues(lines: list[str]) -> Template:
    """The lines of a cue as one segment; lines of several speakers as one segment each."""
    template: Template = []
    is_dialogue = sum(_DASH.match(line) is not None for line in lines) > 1
    for group in [[line] for line in lines] if is_dialogue else [lines] if lines else []:
        first_end, last_end = (line[len(line.rstrip("\r\n")) :] for line in (group[0], group[-1]))
        text = "".join(group).removesuffix(last_end)
        builder = SegmentBuilder()
        if dash := _DASH.match(text):
            builder.add_placeholder(dash[0])
        for token in tokenize_markup(text[len(dash[0]) if dash else 0 :]):
            if token.kind != "text" and token.name in _TAGS:
                builder.add_tag(token.kind, token.name, token.raw)
            else:
                for index, piece in enumerate(_PLACING.split(token.raw)):
                    (builder.add_placeholder if index % 2 else builder.add_text)(piece)
        serialize = partial(wrap, lines=len(group), newline=first_end)
        template += [*builder.build(break_at_newlines=False, serialize=serialize), last_end]
    return template


def wrap(text: str, lines: int, newline: str) -> str:
    """The text broken at spaces into lines of about equal length; tags have no length and are not broken."""
    text = _LINE_END.sub(" ", text)
    columns, indices = list[int](), list[int]()  # of the spaces: visible characters before each, and its index
    shown, position = 0, 0
    for match in _SPACE_OR_MARKUP.finditer(text):
        shown += match.start() - position
        position = match.end()
        if match[1]:
            columns.append(shown)
            indices.append(match.start())
            shown += 1
    whole = shown + len(text) - position
    wanted = (whole * number / lines for number in range(1, lines)) if columns else ()
    breaks = {indices[_nearest_break(columns, column)] for column in wanted}
    return "".join(newline if index in breaks else character for index, character in enumerate(text))


def _nearest_break(columns: list[int], wanted: float) -> int:
    """The index of the nearest of the sorted columns; of two equally near ones, the first."""
    after = bisect_left(columns, wanted)
    if after == 0 or after == len(columns):
        return min(after, len(columns) - 1)
    return after if columns[after] - wanted < wanted - columns[after - 1] else after - 1

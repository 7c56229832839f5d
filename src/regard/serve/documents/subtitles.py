"""SubRip subtitles: numbers, times and tags are kept, and a translated cue has as many lines as it had."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from regard.serve.documents.blocks import Template
from regard.serve.documents.making import Making
from regard.serve.documents.tags import tokens

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)?")
_TIMES = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+")
_TAGS = frozenset({"b", "font", "i", "s", "u"})
_DASH = re.compile(r"\s*[-–—]\s*")  # before what another person says
_PLACING = re.compile(r"(\{[^{}\n]*\})")  # such as {\an8}
_LINE_END = re.compile(r"[\r\n]+")
_SPACE_OR_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}|( )")


def read_srt(document: str) -> Template:
    """The cues' texts as blocks, and all else as it is."""
    template: Template = []
    cue: list[str] | None = None  # lines since the last times
    for line in _lines(document):
        if cue is None or not line.strip():
            template += [*_blocks(cue or []), line]
            cue = [] if _TIMES.match(line) else None
        else:
            cue.append(line)
    return [*template, *_blocks(cue or [])]


def _lines(document: str) -> Iterator[str]:
    return (match[0] for match in _LINE.finditer(document) if match[0])


def _blocks(lines: list[str]) -> Template:
    """The lines of a cue as one block; where each is said by another person, as one block each."""
    template: Template = []
    for group in [[line] for line in lines] if _is_dialogue(lines) else [lines] if lines else []:
        last = group[-1].rstrip("\r\n")
        template += [*_block([*group[:-1], last], group[0]), group[-1][len(last) :]]
    return template


def _is_dialogue(lines: list[str]) -> bool:
    return sum(_DASH.match(line) is not None for line in lines) > 1


def _block(lines: list[str], first: str) -> Template:
    newline = first[len(first.rstrip("\r\n")) :]
    making = Making()
    text = "".join(lines)
    if dash := _DASH.match(text):
        making.stand(dash[0])
    for token in tokens(text[len(dash[0]) if dash else 0 :]):
        if token.name not in _TAGS:
            for index, piece in enumerate(_PLACING.split(token.raw)):
                (making.stand if index % 2 else making.text)(piece)
        elif token.kind == "end":
            making.close(token.name, token.raw)
        else:
            making.open(token.name, token.raw)
    return [*making.made(lines_end=False, finish=lambda said: wrap(said, len(lines), newline))]


def wrap(text: str, lines: int, newline: str) -> str:
    """The text broken at spaces into lines of about the same length, whatever lines it had.

    Tags count for nothing, and are not broken.
    """
    text = _LINE_END.sub(" ", text)
    columns, places = list[int](), list[int]()  # of the spaces: how much is shown before each, and where it stands
    shown, position = 0, 0
    for match in _SPACE_OR_MARKUP.finditer(text):
        shown += match.start() - position
        position = match.end()
        if match[1]:
            columns.append(shown)
            places.append(match.start())
            shown += 1
    whole = shown + len(text) - position
    wanted = (whole * number / lines for number in range(1, lines)) if columns else ()
    breaks = {places[_nearest(columns, column)] for column in wanted}
    return "".join(newline if index in breaks else character for index, character in enumerate(text))


def _nearest(columns: list[int], wanted: float) -> int:
    """Which of the columns, that are in their order, is nearest; of two as near, the first."""
    after = bisect_left(columns, wanted)
    if after == 0 or after == len(columns):
        return min(after, len(columns) - 1)
    return after if columns[after] - wanted < wanted - columns[after - 1] else after - 1

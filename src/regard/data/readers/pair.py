"""The one thing every reader of training data yields."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A sentence and its translation, each one line of text, and the line of the file where the pair begins."""

    source: str
    target: str
    line: int


def one_line(text: str) -> str:
    """The text with its newlines, and the space around them, turned into single spaces."""
    if "\n" not in text:
        return text
    return " ".join(part for piece in text.split("\n") if (part := piece.strip()))

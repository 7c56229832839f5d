"""A document to be translated: what stays as it is, and blocks of text with their markup.

Every format is read into a `Template`, so that there is one way to translate, whatever the format. Markup is kept apart
from the text, since a model has never seen any; `weaving` puts it back around the right words of the translation.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Span:
    """Markup around text[start:end] of a block; with start == end, something that stands at one place.

    A span comes after its parent and before its children and later siblings, as opening tags do.
    """

    start: int
    end: int
    opening: str
    closing: str = ""
    parent: int = -1  # index of the span that it stands in


@dataclass(frozen=True)
class Block:
    """Text that is translated as one, such as a paragraph."""

    text: str  # without markup
    raw: str  # with it, as it stands in the document: what is kept if there is nothing to translate
    spans: tuple[Span, ...] = ()
    lines_end: bool = True  # whether a sentence ends at a line's end
    escape: Callable[[str], str] = str  # how the format writes text between markup
    finish: Callable[[str], str] = str  # how the format writes the whole block
    is_one: bool = False  # whether it is said as one sentence, if the model can read it


Template = list[str | Block]


def has_words(text: str) -> bool:
    """Whether there is anything to translate; of numbers and signs alone, a model makes something up."""
    return any(unicodedata.category(character)[0] == "L" for character in text)


def unsplit(template: Template) -> Template:
    """The same with each block said as one sentence, if the model can read it."""
    return [replace(piece, is_one=True) if isinstance(piece, Block) else piece for piece in template]


def plain(text: str, *, lines_end: bool = True) -> Template:
    """The template of plain text."""
    return [Block(text, text, lines_end=lines_end)]

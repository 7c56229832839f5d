"""What a word is in both languages, and how the tables of words are read.

Every word exists once, so words are compared by identity, which is quick.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ABSENT = "-"  # an empty column of a table
LOOSE = "~"

Person = Literal["first", "second", "third"]


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun, a name or a pronoun; without a counter it never stands with a number."""

    english: str
    plural: str
    korean: str
    counter: str
    groups: tuple[str, ...]
    person: Person = "third"

    def is_in(self, group: str) -> bool:
        """Whether the noun belongs to the group, or is the noun that the group names."""
        return group in self.groups or group == self.english

    @property
    def is_living(self) -> bool:
        """Whether Korean marks its plural with 들."""
        return "person" in self.groups or "animal" in self.groups


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """One sense of a verb: who does it, to what, and what else it may take."""

    english: str
    past: str
    korean: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    traits: tuple[str, ...]

    def has(self, trait: str) -> bool:
        """Whether the verb carries the trait."""
        return trait in self.traits


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """A quality, and the groups of nouns that have it."""

    english: str
    korean: str
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Determiner:
    """What stands before a noun; an empty side is not said in that language."""

    english: str
    korean: str


@dataclass(frozen=True, eq=False, slots=True)
class Numeral:
    """A native Korean number, as it stands before a counter."""

    english: str
    korean: str


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """A fixed phrase; each of its words carries the label of what it expresses, shared by both languages.

    A label that begins with LOOSE says that the word, an article perhaps, is expressed only in part.
    """

    english: tuple[tuple[str, str], ...]
    korean: tuple[tuple[str, str], ...]


def rows(table: str, columns: int) -> Iterator[list[str]]:
    """The rows of a table whose columns are parted by `|`; an absent entry is an empty string."""
    for line in table.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != columns:
            raise ValueError(f"a row of the lexicon has {len(cells)} columns instead of {columns}: {line!r}")
        yield ["" if cell == ABSENT else cell for cell in cells]


def labelled(text: str) -> tuple[tuple[str, str], ...]:
    """The words of `every/1 morning/2` with their labels; a word without one has the label 1."""
    parts = (word.partition("/") for word in text.split())
    return tuple((word, label or "1") for word, _, label in parts)


def expression(english: str, korean: str) -> Expression:
    """A fixed phrase from the labelled texts of both languages."""
    return Expression(labelled(english), labelled(korean))


def expressions(table: str) -> tuple[Expression, ...]:
    """The fixed phrases of a table `English = Korean; English = Korean`."""
    return tuple(expression(*entry.split("=")) for entry in table.split(";"))

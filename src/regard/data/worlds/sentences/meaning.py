"""What a sentence means, before either language says it.

Nodes are compared by identity, never by value: words of two languages are linked because they express the same node.
"""

from dataclasses import dataclass
from typing import Literal

from regard.data.worlds.sentences.lexicon import Adjective, Determiner, Expression, Noun, Numeral, Person, Verb

Tense = Literal["present", "past", "future"]
Modality = Literal["plain", "progressive", "must", "can", "want"]
Asked = Literal["whether", "who", "what", "where", "when", "why", "how many"]
Connective = Literal["and", "but"]
Subordinator = Literal["because", "when", "if", "before", "after"]


@dataclass(frozen=True, eq=False, slots=True)
class NounPhrase:
    """A noun with all that describes it."""

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    number: Numeral | None = None
    measure: Numeral | None = None
    owner: "NounPhrase | None" = None
    relative: "Clause | None" = None
    joined: "NounPhrase | None" = None

    @property
    def person(self) -> Person:
        """The grammatical person."""
        return self.noun.person

    @property
    def is_third_singular(self) -> bool:
        """Whether an English verb in the present takes its -s."""
        return self.person == "third" and not self.is_many

    @property
    def is_many(self) -> bool:
        """Whether English treats the phrase as a plural."""
        return self.plural or self.joined is not None or self.noun.is_in("many")

    @property
    def is_general(self) -> bool:
        """Whether the phrase speaks of a kind as a whole: robots, children."""
        return self.plural and not self.determiner.english and not (self.number or self.owner)


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where something happens, or where it leads to."""

    preposition: str
    at: NounPhrase
    relation: Expression | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Circumstances:
    """All that surrounds an action."""

    receiver: NounPhrase | None = None
    manner: Expression | None = None
    company: NounPhrase | None = None
    place: Place | None = None
    tool: NounPhrase | None = None
    time: Expression | None = None
    adverb: Expression | None = None  # how often; in a question the word that asks where, when or why


@dataclass(frozen=True, eq=False, slots=True)
class Action:
    """A verb with its object."""

    verb: Verb
    object: NounPhrase | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Quality:
    """To be big, very big, bigger than something or as big as something."""

    adjective: Adjective
    degree: Expression | None = None
    than: NounPhrase | None = None
    alike: NounPhrase | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Identity:
    """To be something."""

    noun: NounPhrase


@dataclass(frozen=True, eq=False, slots=True)
class Location:
    """To be somewhere; `introduces` what is there, or tells where a known thing is."""

    place: Place
    introduces: bool


@dataclass(frozen=True, eq=False, slots=True)
class Weather:
    """It rains, it snows."""

    verb: Verb


@dataclass(frozen=True, eq=False, slots=True)
class Report:
    """To say, think or believe that something is so."""

    verb: Verb
    content: "Statement"


Predicate = Action | Quality | Identity | Location | Weather | Report


@dataclass(frozen=True, eq=False, slots=True)
class Clause:
    """A subject and what is said of it; in a relative clause the noun outside stands for `gap`."""

    subject: NounPhrase | None
    predicate: Predicate
    tense: Tense = "present"
    modality: Modality = "plain"
    negated: bool = False
    around: Circumstances = Circumstances()
    gap: Literal["subject", "object"] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Subordinate:
    """A main clause and the statement that it hangs on."""

    main: Clause
    subordinator: Subordinator
    statement: "Statement"


@dataclass(frozen=True, eq=False, slots=True)
class Coordinate:
    """Two statements side by side; a second clause without a subject shares that of the first."""

    first: "Statement"
    connective: Connective
    second: "Statement"


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A clause with one part asked for."""

    clause: Clause
    asked: Asked


Statement = Clause | Subordinate | Coordinate
Sentence = Statement | Question

"""The meaning of a sentence before either language expresses it; words with the meaning they express; sentence pairs.

Nodes are compared by identity, not by value: words of two languages are linked if they express the same node.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import Adjective, Determiner, Expression, Noun, Numeral, Person, Verb

Tense = Literal["present", "past", "future"]
Modality = Literal["plain", "progressive", "must", "can", "want"]
QuestionWord = Literal["whether", "who", "what", "where", "when", "why", "how many"]
Connective = Literal["and", "but"]
Subordinator = Literal["because", "when", "if", "before", "after"]


@dataclass(frozen=True, eq=False, slots=True)
class NounPhrase:
    """A noun with everything that describes it."""

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
        """Whether the phrase means a kind as a whole: robots, children."""
        return self.plural and not self.determiner.english and not (self.number or self.owner)


@dataclass(frozen=True, eq=False, slots=True)
class PlacePhrase:
    """Where something happens, or where it leads to."""

    preposition: str
    at: NounPhrase
    relation: Expression | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Circumstances:
    """Receiver, manner, company, place, tool and time of an action."""

    receiver: NounPhrase | None = None
    manner: Expression | None = None
    company: NounPhrase | None = None
    place: PlacePhrase | None = None
    tool: NounPhrase | None = None
    time: Expression | None = None
    adverb: Expression | None = None  # how often; in a question where, when or why


@dataclass(frozen=True, eq=False, slots=True)
class Action:
    """A verb with its object."""

    verb: Verb
    object: NounPhrase | None = None


@dataclass(frozen=True, eq=False, slots=True)
class QualityClause:
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
    """To be somewhere; `introduces` something new (there is ...), or locates something known."""

    place: PlacePhrase
    introduces: bool


@dataclass(frozen=True, eq=False, slots=True)
class Weather:
    """It rains, it snows."""

    verb: Verb


@dataclass(frozen=True, eq=False, slots=True)
class ReportClause:
    """To say, think or believe that something is so."""

    verb: Verb
    content: "Statement"


Predicate = Action | QualityClause | Identity | Location | Weather | ReportClause


@dataclass(frozen=True, eq=False, slots=True)
class Clause:
    """A subject and its predicate; in a relative clause the noun outside fills the `gap`."""

    subject: NounPhrase | None
    predicate: Predicate
    tense: Tense = "present"
    modality: Modality = "plain"
    negated: bool = False
    around: Circumstances = Circumstances()
    gap: Literal["subject", "object"] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Subordinate:
    """A main clause and the statement that is subordinate to it."""

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
    asked: QuestionWord


@dataclass(frozen=True, eq=False, slots=True)
class Command:
    """What somebody is to do; the subject of the clause is `you`, which neither language expresses."""

    clause: Clause


Statement = Clause | Subordinate | Coordinate
Sentence = Statement | Question | Command
GENERAL_MODALITIES: tuple[Modality, ...] = ("plain", "must", "can")
MODALITIES: tuple[Modality, ...] = ("plain", "plain", "plain", "progressive", "must", "can", "want")


@dataclass(frozen=True, slots=True)
class Stance:
    """Tense, modality and negation of a clause; `is_main` if it is in no other clause."""

    tense: Tense = "present"
    modality: Modality = "plain"
    negated: bool = False
    is_main: bool = True

    @property
    def allows_general(self) -> bool:
        """Whether the subject may be a kind as a whole, which Korean marks only in a main clause."""
        return self.is_main and self.tense == "present" and self.modality in GENERAL_MODALITIES

    @property
    def is_plain(self) -> bool:
        """Whether English expresses it with the verb alone."""
        return self.modality == "plain" and not self.negated


def random_tense(rng: SeededRandom) -> Tense:
    """Present, past or future."""
    if rng.happens(0.42):
        return "present"
    return "past" if rng.happens(0.7) else "future"


def past_or_present(rng: SeededRandom) -> Tense:
    """Present or past."""
    return "past" if rng.happens(0.5) else "present"


def without_future(tense: Tense) -> Tense:
    """The tense of a clause whose main clause has the given one: if it rains, we will stay."""
    return "past" if tense == "past" else "present"


def random_stance(rng: SeededRandom) -> Stance:
    """Any tense and modality that go together."""
    tense = random_tense(rng)
    return Stance(tense, rng.choice(MODALITIES) if tense != "future" else "plain")


def is_ambiguous(verb: Verb, stance: Stance, subject: NounPhrase) -> bool:
    """Whether the English past looks like the present: they read."""
    is_bare_past = stance.tense == "past" and stance.is_plain
    return is_bare_past and verb.past == verb.english and not subject.is_third_singular


Key = tuple[object, str]  # a node of the meaning, and a facet of it
Link = tuple[int, int]


class AnnotatedWord(NamedTuple):
    """A word with the facets of meaning that it expresses, and those that it only helps to express."""

    text: str
    about: tuple[Key, ...] = ()
    near: tuple[Key, ...] = ()


class WordLabels(NamedTuple):
    """The part of speech of a word (a universal tag, such as NOUN) and its role in the sentence."""

    part_of_speech: str
    role: str


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences of one meaning; links are (source word, target word), and every sure link is possible too."""

    source: str
    target: str
    sure: frozenset[Link]
    possible: frozenset[Link]
    pattern: str
    label: str = ""  # of the sentence, in a corpus for classification
    source_labels: tuple[WordLabels, ...] = ()  # of its words, if they were requested
    target_labels: tuple[WordLabels, ...] = ()


def link_words(
    source: Sequence[AnnotatedWord], target: Sequence[AnnotatedWord]
) -> tuple[frozenset[Link], frozenset[Link]]:
    """The sure links, where both words express a facet, and the possible ones, where at least one helps to."""
    target_words: dict[Key, list[tuple[int, bool]]] = {}
    for index, word in enumerate(target):
        for key in word.about:
            target_words.setdefault(key, []).append((index, True))
        for key in word.near:
            target_words.setdefault(key, []).append((index, False))
    sure, possible = set[Link](), set[Link]()
    for index, word in enumerate(source):
        for keys, is_about in ((word.about, True), (word.near, False)):
            for key in keys:
                for target_index, target_is_about in target_words.get(key, ()):
                    possible.add((index, target_index))
                    if is_about and target_is_about:
                        sure.add((index, target_index))
    return frozenset(sure), frozenset(possible)


def make_pair(source: Sequence[AnnotatedWord], target: Sequence[AnnotatedWord], pattern: str) -> SentencePair:
    """The pair that two lists of words make."""
    sure, possible = link_words(source, target)
    return SentencePair(
        " ".join(word.text for word in source), " ".join(word.text for word in target), sure, possible, pattern
    )

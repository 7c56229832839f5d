"""The patterns of sentences: what each one shows, and how often it is drawn."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from regard.data.worlds.sentences.actions import action, complete
from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.descriptions import BARE
from regard.data.worlds.sentences.joined import because, condition, coordination, report, sequence, when
from regard.data.worlds.sentences.meaning import Action, Clause, NounPhrase, Sentence
from regard.data.worlds.sentences.phrases import LEAN, RICH, SPARSE, Detail, candidates
from regard.data.worlds.sentences.questions import question
from regard.data.worlds.sentences.stance import GENERAL_MODALITIES, Stance, past_or_present, some_stance, some_tense
from regard.data.worlds.sentences.states import comparison, identity, location, quality, weather
from regard.data.worlds.sentences.verbs import CHANGE, GIVING, GOING, MOVING, SPEAKING_OF_KINDS, STAYING, TRANSITIVE

DETAILS = (LEAN, SPARSE, SPARSE, RICH)


def simple(chance: Chance) -> Sentence:
    """The boy eats an apple."""
    return action(chance, some_stance(chance), LEAN)


def showing(chance: Chance, draw: Callable[[Chance], Clause], shows: Callable[[Clause], object]) -> Clause:
    """The first clause drawn that shows what its pattern is for."""
    while not shows(clause := draw(chance)):
        pass
    return clause


def nouns_of(clause: Clause) -> list[NounPhrase]:
    """The subject and the object of the clause."""
    target = clause.predicate.object if isinstance(clause.predicate, Action) else None
    return [phrase for phrase in (clause.subject, target) if phrase is not None]


def with_adjectives(chance: Chance) -> Sentence:
    """The brave girl raises a small cat; the cat is small."""
    if chance.happens(0.5):
        return quality(chance, Stance(some_tense(chance)), LEAN)
    return showing(
        chance,
        lambda chance: action(chance, some_stance(chance), Detail(adjective=0.9)),
        lambda clause: any(phrase.adjective for phrase in nouns_of(clause)),
    )


def with_place(chance: Chance) -> Sentence:
    """The boy reads a book in the park."""
    detail = Detail(place=1.0, adjective=0.2, company=0.2, manner=0.2)
    verbs = chance.pick((TRANSITIVE, MOVING, GOING, STAYING))
    return showing(
        chance,
        lambda chance: action(chance, Stance(some_tense(chance)), detail, chance.pick(verbs)),
        lambda clause: clause.around.place,
    )


def with_time(chance: Chance) -> Sentence:
    """The boy read a book yesterday; it will rain tomorrow."""
    detail = Detail(time=1.0, place=0.3, adjective=0.15)
    if chance.happens(0.05):
        return weather(chance, Stance(some_tense(chance)), detail)
    return action(chance, some_stance(chance), detail)


def negation(chance: Chance) -> Sentence:
    """The boy does not eat bread; he cannot swim."""
    stance = replace(some_stance(chance), negated=True)
    if stance.modality == "must":
        stance = replace(stance, tense="present")
    if chance.happens(0.75):
        return action(chance, stance, SPARSE)
    return chance.pick((quality, identity, location))(chance, stance, LEAN)


def ability(chance: Chance) -> Sentence:
    """Robots must obey orders; the girl can swim; he wants to sleep."""
    return showing(
        chance,
        lambda chance: action(chance, Stance("present", chance.pick(("must", "can", "want"))), chance.pick(DETAILS)),
        lambda clause: clause.modality != "plain",
    )


def number(chance: Chance) -> Sentence:
    """Minsu bought three apples; two dogs run."""
    detail = Detail(number=0.6, adjective=0.2, place=0.2, time=0.1)
    return showing(
        chance,
        lambda chance: action(chance, Stance(some_tense(chance)), detail),
        lambda clause: any(phrase.number for phrase in nouns_of(clause)),
    )


def possession(chance: Chance) -> Sentence:
    """The girl reads my book; Minsu's bag is big."""
    detail = Detail(owner=1.0, adjective=0.2, place=0.2)
    draw = quality if chance.happens(0.3) else action
    return showing(
        chance,
        lambda chance: draw(chance, some_stance(chance), detail),
        lambda clause: any(phrase.owner for phrase in nouns_of(clause)),
    )


def relative(chance: Chance) -> Sentence:
    """The boy who reads a book drinks milk; I know the man who lives in Seoul."""
    detail = Detail(relative=0.8, adjective=0.15, place=0.15)
    draw = quality if chance.happens(0.25) else action
    return showing(
        chance,
        lambda chance: draw(chance, Stance(some_tense(chance)), detail),
        lambda clause: any(phrase.relative for phrase in nouns_of(clause)),
    )


def comparing(chance: Chance) -> Sentence:
    """The car is faster than the bus."""
    return comparison(chance, Stance(past_or_present(chance)))


def being(chance: Chance) -> Sentence:
    """Minsu is a student; this is my book."""
    return identity(chance, Stance(past_or_present(chance)), SPARSE)


def locating(chance: Chance) -> Sentence:
    """There is a cat under the table; Minsu is at the library."""
    return location(chance, Stance(past_or_present(chance)), SPARSE)


def general(chance: Chance) -> Sentence:
    """AI changes the world; robots must obey orders."""
    modality = chance.pick(GENERAL_MODALITIES)
    if chance.happens(0.5):
        return action(chance, Stance(modality=modality), LEAN, CHANGE)
    verb = chance.pick(SPEAKING_OF_KINDS)
    kind = chance.pick(verb.subjects)
    subject = NounPhrase(chance.pick(candidates((kind,))), BARE, plural=True)
    return complete(chance, verb, subject, Stance(modality=modality), LEAN)


def giving(chance: Chance) -> Sentence:
    """The teacher gives a book to the student."""
    return action(chance, some_stance(chance), chance.pick(DETAILS), chance.pick(GIVING))


PATTERNS: dict[str, tuple[float, Callable[[Chance], Sentence]]] = {
    "simple": (7, simple),
    "adjective": (6, with_adjectives),
    "place": (5, with_place),
    "time": (6, with_time),
    "negation": (6, negation),
    "question": (8, question),
    "number": (6, number),
    "possession": (5, possession),
    "relative": (7, relative),
    "comparison": (4, comparing),
    "modal": (5, ability),
    "identity": (3, being),
    "location": (3, locating),
    "giving": (3, giving),
    "general": (3, general),
    "because": (8, because),
    "when": (7, when),
    "if": (6, condition),
    "sequence": (5, sequence),
    "report": (5, report),
    "coordination": (36, coordination),
}
NAMES = tuple(PATTERNS)
CUMULATIVE = tuple(accumulate(weight for weight, _ in PATTERNS.values()))


def some_sentence(chance: Chance) -> tuple[str, Sentence]:
    """The name of a pattern and a sentence of it."""
    name = chance.pick_weighted(NAMES, CUMULATIVE)
    return name, PATTERNS[name][1](chance)

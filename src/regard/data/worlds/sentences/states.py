"""States drawn by chance: qualities, comparisons, identities, locations, the weather."""

from dataclasses import replace

from regard.data.worlds.sentences.actions import relative_object, relative_subject
from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.circumstances import PLACES, by_furniture, place_phrase, preposition_of
from regard.data.worlds.sentences.descriptions import BARE, DEGREES, MOODS, NUMERALS, ONLY_BEFORE_NOUNS, THE, TIMES, A
from regard.data.worlds.sentences.lexicon import Adjective, Noun
from regard.data.worlds.sentences.meaning import (
    Circumstances,
    Clause,
    Identity,
    Location,
    NounPhrase,
    Place,
    Quality,
    Weather,
)
from regard.data.worlds.sentences.nouns import NOUNS, PRONOUNS, THAT_ONE, THIS_ONE, members
from regard.data.worlds.sentences.phrases import (
    LEAN,
    NAMES,
    Detail,
    adjectives_for,
    candidates,
    is_human,
    owner,
    person,
    relation,
    some_adjective,
    thing_as_subject,
)
from regard.data.worlds.sentences.stance import Stance, without_future
from regard.data.worlds.sentences.verbs import RAIN, SNOW

JOBS, LOCATED = members("job"), members("pet", "held")
COMPARABLE = (
    "person", "name", "animal", "fruit", "vehicle", "reading", "place", "furniture", "machine", "clothes", "lesson",
)  # fmt: skip


def qualities_of(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may end a sentence about the noun."""
    return tuple(adjective for adjective in adjectives_for(noun) if adjective.english not in ONLY_BEFORE_NOUNS)


QUALITIES = {noun: qualities_of(noun) for noun in NOUNS}
BEARERS = tuple(noun for noun, qualities in QUALITIES.items() if qualities)


def quality(chance: Chance, stance: Stance, detail: Detail) -> Clause:
    """Somebody or something is so."""
    if chance.happens(0.35):
        subject = NounPhrase(chance.pick(PRONOUNS + NAMES), BARE)
        adjective = chance.pick(QUALITIES[NAMES[0]])
    else:
        noun = chance.pick(BEARERS)
        adjective = chance.pick(QUALITIES[noun])
        subject = with_relative(chance, thing_as_subject(chance, noun, detail), detail)
    degree = chance.pick(DEGREES) if not stance.negated and chance.happens(0.35) else None
    return Clause(subject, Quality(adjective, degree), stance.tense, "plain", stance.negated)


def mood(chance: Chance, stance: Stance, detail: Detail) -> Clause:
    """Somebody is happy, tired or hungry."""
    subject = person(chance, replace(detail, adjective=0.0))
    degree = chance.pick(DEGREES) if not stance.negated and chance.happens(0.35) else None
    return Clause(subject, Quality(chance.pick(MOODS), degree), stance.tense, "plain", stance.negated)


def with_relative(chance: Chance, phrase: NounPhrase, detail: Detail) -> NounPhrase:
    """The subject of a quality, perhaps with a relative clause."""
    if phrase.noun.is_living:
        return relative_subject(chance, phrase, detail)
    return relative_object(chance, phrase, detail.relative)


def comparison(chance: Chance, stance: Stance) -> Clause:
    """One thing is bigger than another, or as big."""
    nouns = candidates((chance.pick(COMPARABLE),))
    first, second = chance.pick(nouns), chance.pick(nouns)
    shared = [adjective for adjective in QUALITIES[first] if adjective in QUALITIES[second]]
    if first == second or not shared:
        return comparison(chance, stance)
    other = thing_as_subject(chance, second, LEAN)
    is_alike = chance.happens(0.25)
    compared = Quality(chance.pick(shared), than=None if is_alike else other, alike=other if is_alike else None)
    return Clause(thing_as_subject(chance, first, LEAN), compared, stance.tense, "plain", stance.negated)


def identity(chance: Chance, stance: Stance, detail: Detail) -> Clause:
    """Somebody is a student; this is a book."""
    if chance.happens(0.25) and stance.is_main:
        return pointing(chance, stance)
    subject = relation(chance) if chance.happens(0.2) else NounPhrase(chance.pick(PRONOUNS + NAMES), BARE)
    noun = chance.pick(JOBS)
    adjective = some_adjective(chance, noun, detail.adjective)
    job = NounPhrase(noun, BARE if subject.is_many else A, plural=subject.is_many, adjective=adjective)
    return Clause(subject, Identity(job), without_future(stance.tense), "plain", stance.negated)


def pointing(chance: Chance, stance: Stance) -> Clause:
    """This is my book; that is a small cat."""
    noun = chance.pick(LOCATED)
    mine = owner(chance) if chance.happens(0.5) else None
    thing = NounPhrase(noun, BARE if mine else A, adjective=some_adjective(chance, noun, 0.4), owner=mine)
    pointer = NounPhrase(chance.pick((THIS_ONE, THAT_ONE)), BARE)
    return Clause(pointer, Identity(thing), "present", "plain", stance.negated)


def location(chance: Chance, stance: Stance, detail: Detail) -> Clause:
    """Something is somewhere, or there is something somewhere."""
    if stance.is_main and not stance.negated and chance.happens(0.45):
        return introduction(chance, stance)
    noun = chance.pick(LOCATED)
    subject = NounPhrase(noun, THE) if chance.happens(0.5) else person(chance, LEAN)
    if chance.happens(0.2):
        subject = NounPhrase(noun, BARE, owner=owner(chance))
    is_near = not is_human(subject) and chance.happens(0.6)
    place = by_furniture(chance) if is_near else some_room(chance, detail)
    return Clause(subject, Location(place, introduces=False), without_future(stance.tense), "plain", stance.negated)


def some_room(chance: Chance, detail: Detail) -> Place:
    """in the park, at the station."""
    at = place_phrase(chance, chance.pick(PLACES), detail)
    return Place(preposition_of(at), at)


def introduction(chance: Chance, stance: Stance) -> Clause:
    """There is a cat under the table; there are three books on the desk."""
    noun = chance.pick(LOCATED)
    number = chance.pick(NUMERALS) if chance.happens(0.5) else None
    is_many = number is not None and number is not NUMERALS[0]
    adjective = some_adjective(chance, noun, 0.3)
    subject = NounPhrase(noun, A if number is None else BARE, plural=is_many, adjective=adjective, number=number)
    place = by_furniture(chance) if chance.happens(0.6) else some_room(chance, LEAN)
    return Clause(subject, Location(place, introduces=True), without_future(stance.tense))


def weather(chance: Chance, stance: Stance, detail: Detail) -> Clause:
    """It rains, it will snow tomorrow."""
    verb = chance.pick((RAIN, SNOW))
    time = chance.pick(TIMES[stance.tense]) if chance.happens(detail.time) else None
    return Clause(None, Weather(verb), stance.tense, "plain", stance.negated, Circumstances(time=time))

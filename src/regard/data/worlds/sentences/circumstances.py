"""All that surrounds an action, drawn by chance: to whom, how, with whom, where, with what and when."""

from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.descriptions import (
    ANY_TIME,
    BARE,
    CLOCK,
    DURATIONS,
    FREQUENCIES,
    MANNERS,
    RELATIONS,
    THE,
    TIMES,
    A,
)
from regard.data.worlds.sentences.lexicon import Expression, Noun, Verb
from regard.data.worlds.sentences.meaning import Circumstances, NounPhrase, Place
from regard.data.worlds.sentences.nouns import members
from regard.data.worlds.sentences.phrases import Detail, candidates, is_human, known_person, owner, some_adjective
from regard.data.worlds.sentences.stance import Stance

PLACES, TOWNS, OUTDOORS, HOMES = members("place"), members("town"), members("outdoors"), members("home")
OPEN_PLACES = members("outdoors", "playground", "city")
PUBLIC, FURNITURE = members("public"), members("furniture")


def circumstances(chance: Chance, verb: Verb, subject: NounPhrase, stance: Stance, detail: Detail) -> Circumstances:
    """What surrounds the action; a state has hardly more than its time."""
    is_deed = not verb.has("state")
    time = some_time(chance, verb, stance) if chance.happens(detail.time) else None
    is_habit = is_deed and time is None and stance.tense == "present" and stance.is_plain
    return Circumstances(
        receiver=known_person(chance, subject) if verb.has("given") else None,
        manner=some_manner(chance, verb) if chance.happens(detail.manner) else None,
        company=company(chance, subject) if is_deed and chance.happens(detail.company) else None,
        place=some_place(chance, verb, subject, detail),
        tool=some_tool(chance, verb) if chance.happens(detail.manner) else None,
        time=time,
        adverb=chance.pick(FREQUENCIES) if is_habit and chance.happens(detail.manner / 2) else None,
    )


def company(chance: Chance, subject: NounPhrase) -> NounPhrase | None:
    """Somebody who comes along with a person; nobody comes along with two."""
    return known_person(chance, subject) if is_human(subject) and subject.joined is None else None


def some_manner(chance: Chance, verb: Verb) -> Expression | None:
    """An adverb of manner that suits the verb."""
    for trait, adverbs in MANNERS.items():
        if verb.has(trait):
            return chance.pick(adverbs)
    return None


def some_tool(chance: Chance, verb: Verb) -> NounPhrase | None:
    """by bus, with a pencil."""
    if verb.has("goal") and not verb.has("toward"):  # 기차로 부산으로 would take one particle twice
        return NounPhrase(chance.pick(PUBLIC), BARE)
    for trait in verb.traits:
        if trait.startswith("tool:"):
            return NounPhrase(chance.pick(candidates((trait.removeprefix("tool:"),))), A)
    return None


def some_time(chance: Chance, verb: Verb, stance: Stance) -> Expression:
    """A time that agrees with the tense."""
    if stance.modality == "progressive" and stance.tense == "present":
        return TIMES["now"][0]
    if verb.has("state"):
        return chance.pick(TIMES["state"] if stance.tense == "present" else TIMES[stance.tense])
    if chance.happens(0.15):
        return chance.pick(CLOCK)
    lasts = not verb.has("goal") and stance.tense != "present" and stance.modality == "plain"
    if lasts and chance.happens(0.15):
        return chance.pick(DURATIONS)
    return chance.pick(ANY_TIME if chance.happens(0.5) else TIMES[stance.tense])


def some_place(chance: Chance, verb: Verb, subject: NounPhrase, detail: Detail) -> Place | None:
    """Where the action is, or where it goes to; going and staying need a place."""
    goes, stays = verb.has("goal"), verb.has("stay")
    if not (goes or stays or chance.happens(detail.place)):
        return None
    if verb.has("the") or (verb.has("state") and not stays):
        return None
    if verb.has("near") and chance.happens(0.3):
        return by_furniture(chance)
    if is_human(subject) and chance.happens(0.1):
        return Place("to" if goes else "in", NounPhrase(chance.pick(TOWNS), BARE))
    phrase = place_phrase(chance, chance.pick(fitting_places(verb, subject)), detail)
    return Place("to" if goes else preposition_of(phrase), phrase)


def fitting_places(verb: Verb, subject: NounPhrase) -> tuple[Noun, ...]:
    """The places where the subject would do it; animals and robots keep to the open."""
    if verb.has("home"):
        return HOMES
    if is_human(subject):
        return OPEN_PLACES if verb.has("outdoors") else PLACES
    return OUTDOORS


def preposition_of(phrase: NounPhrase) -> str:
    """in or at, as the noun asks."""
    return "in" if phrase.noun.is_in("in") else "at"


def place_phrase(chance: Chance, noun: Noun, detail: Detail) -> NounPhrase:
    """the park, my house, the quiet library."""
    if noun.is_in("house") and chance.happens(0.5):
        return NounPhrase(noun, BARE, owner=owner(chance))
    return NounPhrase(noun, THE, adjective=some_adjective(chance, noun, detail.adjective))


def by_furniture(chance: Chance) -> Place:
    """under the table, behind the chair."""
    return Place("", NounPhrase(chance.pick(FURNITURE), THE), chance.pick(RELATIONS))

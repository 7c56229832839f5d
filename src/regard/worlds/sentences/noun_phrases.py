"""Noun phrases drawn at random, such that each is said in one way only in either language."""

from dataclasses import dataclass, replace
from functools import cache

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import (
    A_CERTAIN,
    ADJECTIVES,
    BARE,
    BOTTLE,
    CUP,
    NUMERALS,
    PRONOUNS,
    SIZES,
    THAT,
    THE,
    THE_KNOWN,
    THIS,
    A,
    Adjective,
    Determiner,
    Noun,
    Verb,
    members,
)
from regard.worlds.sentences.meaning import NounPhrase

UNCOUNTED_GROUPS = ("mass", "name", "town", "pronoun")
HUMAN_GROUPS = ("person", "name", "pronoun", "kinship")
OWNERLESS_GROUPS = ("unique", "landscape", "place", "nature")


@dataclass(frozen=True, slots=True)
class Detail:
    """How likely each part that a sentence could do without is said."""

    adjective: float = 0.0
    owner: float = 0.0
    number: float = 0.0
    relative: float = 0.0
    joined: float = 0.0
    place: float = 0.0
    time: float = 0.0
    manner: float = 0.0
    company: float = 0.0


LEAN = Detail()
SPARSE = Detail(adjective=0.15, owner=0.1, number=0.08, place=0.15, time=0.15, manner=0.1, joined=0.05)
RICH = Detail(
    adjective=0.4, owner=0.2, number=0.12, relative=0.3, joined=0.15, place=0.45, time=0.4, manner=0.3, company=0.2
)


@cache
def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """The qualities that the noun may have."""
    fitting = (adjective for adjective in ADJECTIVES if any(map(noun.is_in, adjective.groups)))
    return tuple(adjective for adjective in fitting if not (noun.is_in("mass") and adjective.english in SIZES))


@cache
def candidates(groups: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of any of the groups."""
    return members(*groups)


PEOPLE, NAMES, KINSHIP = members("person"), members("name"), members("kinship")


def random_adjective(rng: SeededRandom, noun: Noun, likely: float) -> Adjective | None:
    """A quality of the noun, or none."""
    fitting = adjectives_for(noun)
    return rng.choice(fitting) if fitting and rng.happens(likely) else None


def random_name(rng: SeededRandom) -> NounPhrase:
    """Somebody by name."""
    return NounPhrase(rng.choice(NAMES), BARE)


def random_owner(rng: SeededRandom) -> NounPhrase:
    """Somebody to whom a thing may belong."""
    if rng.happens(0.5):
        return NounPhrase(rng.choice(PRONOUNS), BARE)
    return random_name(rng) if rng.happens(0.7) else NounPhrase(rng.choice(PEOPLE), THE)


def may_be_owned(noun: Noun) -> bool:
    """Whether the thing, the pet or the friend may belong to somebody."""
    if noun.is_living:
        return noun.is_in("owned") or noun.is_in("kin")
    return noun.is_in("house") or not any(map(noun.is_in, OWNERLESS_GROUPS))


def random_relative(rng: SeededRandom) -> NounPhrase:
    """Somebody's mother, father, son or daughter."""
    return NounPhrase(rng.choice(KINSHIP), BARE, owner=random_owner(rng))


def is_human(phrase: NounPhrase) -> bool:
    """Whether the phrase names a person, who can wish, go with somebody and live in a town."""
    return any(map(phrase.noun.is_in, HUMAN_GROUPS))


def random_known_person(rng: SeededRandom, other: NounPhrase | None = None) -> NounPhrase:
    """A person without further description, who is not the other one."""
    phrase = random_name(rng) if rng.happens(0.5) else NounPhrase(rng.choice(PEOPLE), THE)
    return random_known_person(rng, other) if other is not None and phrase.noun == other.noun else phrase


def random_person(rng: SeededRandom, detail: Detail) -> NounPhrase:
    """A person as a subject: by pronoun, by name, or by what they are."""
    if rng.happens(detail.number):
        return counted_noun(rng, rng.choice(PEOPLE), detail)
    if not rng.happens(detail.adjective):
        if rng.happens(0.28):
            return NounPhrase(rng.choice(PRONOUNS), BARE)
        if rng.happens(0.38):
            return random_name(rng)
        if rng.happens(0.08):
            return random_relative(rng)
        return described_noun(rng, rng.choice(PEOPLE), LEAN)
    return described_noun(rng, rng.choice(PEOPLE), Detail(adjective=1.0))


def described_noun(rng: SeededRandom, noun: Noun, detail: Detail) -> NounPhrase:
    """the boy, a boy, this boy, the boys."""
    adjective = random_adjective(rng, noun, detail.adjective)
    if rng.happens(0.12) and noun.is_living:
        return NounPhrase(noun, THE, plural=True, adjective=adjective)
    if rng.happens(0.1):
        return NounPhrase(noun, rng.choice((THIS, THAT)), adjective=adjective)
    if rng.happens(0.1) and noun.is_in("person"):
        return NounPhrase(noun, A_CERTAIN, adjective=adjective)
    return NounPhrase(noun, THE, adjective=adjective)


def people_joined(rng: SeededRandom) -> NounPhrase:
    """Two persons side by side: Minsu and the girl."""
    first = random_known_person(rng)
    return replace(first, joined=random_known_person(rng, first))


def counted_noun(rng: SeededRandom, noun: Noun, detail: Detail) -> NounPhrase:
    """two boys, one cat, three red apples."""
    number = rng.choice(NUMERALS)
    adjective = random_adjective(rng, noun, detail.adjective)
    return NounPhrase(noun, BARE, plural=number is not NUMERALS[0], adjective=adjective, number=number)


def measured_noun(rng: SeededRandom, noun: Noun) -> NounPhrase:
    """two cups of tea, one bottle of water."""
    number = rng.choice(NUMERALS[:10])
    measure = CUP if noun.is_in("cupped") else BOTTLE
    return NounPhrase(noun, BARE, plural=number is not NUMERALS[0], number=number, measure=measure)


def object_of(rng: SeededRandom, verb: Verb, detail: Detail) -> NounPhrase:
    """What the verb is done to, with the article that the verb asks for."""
    noun = rng.choice(candidates(verb.objects))
    if rng.happens(detail.number):
        if noun.counter:
            return counted_noun(rng, noun, detail)
        if noun.is_in("bottled") or noun.is_in("cupped"):
            return measured_noun(rng, noun)
    phrase = object_phrase(rng, noun, verb, detail)
    is_plain = phrase.owner is None and phrase.adjective is None and phrase.determiner is not THE_KNOWN
    if is_plain and rng.happens(detail.joined):
        other = rng.choice(candidates(verb.objects))
        if other != noun:
            return replace(phrase, joined=object_phrase(rng, other, verb, LEAN))
    return phrase


def object_phrase(rng: SeededRandom, noun: Noun, verb: Verb, detail: Detail) -> NounPhrase:
    """One thing or person, or a kind, as the object of the verb."""
    if noun.is_in("kinship"):
        return NounPhrase(noun, BARE, owner=random_owner(rng))
    if noun.is_in("name") or noun.is_in("town"):
        return NounPhrase(noun, BARE)
    adjective = random_adjective(rng, noun, detail.adjective)
    if noun.is_in("mass"):
        return NounPhrase(noun, BARE, adjective=adjective)
    if noun.is_in("unique"):
        return NounPhrase(noun, THE)
    if may_be_owned(noun) and rng.happens(detail.owner):
        return NounPhrase(noun, BARE, adjective=adjective, owner=random_owner(rng))
    if verb.has("many"):
        return NounPhrase(noun, BARE, plural=True, adjective=adjective)
    if verb.has("the") or noun.is_in("person"):
        return NounPhrase(noun, THE, adjective=adjective)
    return NounPhrase(noun, random_determiner(rng), adjective=adjective)


def random_determiner(rng: SeededRandom) -> Determiner:
    """Mostly `a`; `the` for what was spoken of before, this and that for what is in sight."""
    if rng.happens(0.8):
        return A
    return rng.choice((THIS, THAT, THE_KNOWN, THE_KNOWN))


def thing_as_subject(rng: SeededRandom, noun: Noun, detail: Detail) -> NounPhrase:
    """A person, animal, thing or place that a quality describes."""
    if noun.is_in("person"):
        return described_noun(rng, noun, LEAN)
    if noun.is_in("kinship"):
        return NounPhrase(noun, BARE, owner=random_owner(rng))
    if any(map(noun.is_in, UNCOUNTED_GROUPS)):
        return NounPhrase(noun, BARE)
    if may_be_owned(noun) and rng.happens(max(detail.owner, 0.2)):
        return NounPhrase(noun, BARE, owner=random_owner(rng))
    if rng.happens(0.25) and not noun.is_in("unique"):
        return NounPhrase(noun, rng.choice((THIS, THAT)))
    return NounPhrase(noun, THE)

"""Random states (qualities, comparisons, identities, locations, the weather) and random questions."""

from dataclasses import replace

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import (
    BARE,
    DEEDS,
    DEGREES,
    GOING,
    HOW_MANY,
    MOODS,
    NOUNS,
    NUMERALS,
    ONLY_BEFORE_NOUNS,
    PRONOUNS,
    RAIN,
    SNOW,
    THAT_ONE,
    THE,
    THIS_ONE,
    TIMES,
    TRANSITIVE,
    WHAT,
    WHEN,
    WHERE,
    WHERE_TO,
    WHO,
    WHY,
    A,
    Adjective,
    Noun,
    Verb,
    members,
)
from regard.worlds.sentences.meaning import (
    Action,
    Circumstances,
    Clause,
    Identity,
    Location,
    Modality,
    NounPhrase,
    PlacePhrase,
    QualityClause,
    Question,
    Stance,
    Weather,
    random_tense,
    without_future,
)
from regard.worlds.sentences.noun_phrases import (
    LEAN,
    NAMES,
    SPARSE,
    Detail,
    adjectives_for,
    candidates,
    is_human,
    random_adjective,
    random_owner,
    random_person,
    random_relative,
    thing_as_subject,
)
from regard.worlds.sentences.random_clauses import (
    PLACES,
    by_furniture,
    place_phrase,
    preposition_of,
    random_action,
    relative_object,
    relative_subject,
)

JOBS, LOCATED = members("job"), members("pet", "held")
COMPARABLE = (
    "person", "name", "animal", "fruit", "vehicle", "reading", "place", "furniture", "machine", "clothes", "lesson",
)  # fmt: skip


def qualities_of(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may end a sentence about the noun."""
    return tuple(adjective for adjective in adjectives_for(noun) if adjective.english not in ONLY_BEFORE_NOUNS)


QUALITIES = {noun: qualities_of(noun) for noun in NOUNS}
BEARERS = tuple(noun for noun, qualities in QUALITIES.items() if qualities)


def quality(rng: SeededRandom, stance: Stance, detail: Detail) -> Clause:
    """Somebody or something is so."""
    if rng.happens(0.35):
        subject = NounPhrase(rng.choice(PRONOUNS + NAMES), BARE)
        adjective = rng.choice(QUALITIES[NAMES[0]])
    else:
        noun = rng.choice(BEARERS)
        adjective = rng.choice(QUALITIES[noun])
        subject = with_relative(rng, thing_as_subject(rng, noun, detail), detail)
    degree = rng.choice(DEGREES) if not stance.negated and rng.happens(0.35) else None
    return Clause(subject, QualityClause(adjective, degree), stance.tense, "plain", stance.negated)


def mood(rng: SeededRandom, stance: Stance, detail: Detail) -> Clause:
    """Somebody is happy, tired or hungry."""
    subject = random_person(rng, replace(detail, adjective=0.0))
    degree = rng.choice(DEGREES) if not stance.negated and rng.happens(0.35) else None
    return Clause(subject, QualityClause(rng.choice(MOODS), degree), stance.tense, "plain", stance.negated)


def with_relative(rng: SeededRandom, phrase: NounPhrase, detail: Detail) -> NounPhrase:
    """The subject of a quality, perhaps with a relative clause."""
    if phrase.noun.is_living:
        return relative_subject(rng, phrase, detail)
    return relative_object(rng, phrase, detail.relative)


def comparison(rng: SeededRandom, stance: Stance) -> Clause:
    """One thing is bigger than another, or as big."""
    nouns = candidates((rng.choice(COMPARABLE),))
    first, second = rng.choice(nouns), rng.choice(nouns)
    shared = [adjective for adjective in QUALITIES[first] if adjective in QUALITIES[second]]
    if first == second or not shared:
        return comparison(rng, stance)
    other = thing_as_subject(rng, second, LEAN)
    is_alike = rng.happens(0.25)
    compared = QualityClause(rng.choice(shared), than=None if is_alike else other, alike=other if is_alike else None)
    return Clause(thing_as_subject(rng, first, LEAN), compared, stance.tense, "plain", stance.negated)


def identity(rng: SeededRandom, stance: Stance, detail: Detail) -> Clause:
    """Somebody is a student; this is a book."""
    if rng.happens(0.25) and stance.is_main:
        return pointing(rng, stance)
    subject = random_relative(rng) if rng.happens(0.2) else NounPhrase(rng.choice(PRONOUNS + NAMES), BARE)
    noun = rng.choice(JOBS)
    adjective = random_adjective(rng, noun, detail.adjective)
    job = NounPhrase(noun, BARE if subject.is_many else A, plural=subject.is_many, adjective=adjective)
    return Clause(subject, Identity(job), without_future(stance.tense), "plain", stance.negated)


def pointing(rng: SeededRandom, stance: Stance) -> Clause:
    """This is my book; that is a small cat."""
    noun = rng.choice(LOCATED)
    mine = random_owner(rng) if rng.happens(0.5) else None
    thing = NounPhrase(noun, BARE if mine else A, adjective=random_adjective(rng, noun, 0.4), owner=mine)
    pointer = NounPhrase(rng.choice((THIS_ONE, THAT_ONE)), BARE)
    return Clause(pointer, Identity(thing), "present", "plain", stance.negated)


def location(rng: SeededRandom, stance: Stance, detail: Detail) -> Clause:
    """Something is somewhere, or there is something somewhere."""
    if stance.is_main and not stance.negated and rng.happens(0.45):
        return introduction(rng, stance)
    noun = rng.choice(LOCATED)
    subject = NounPhrase(noun, THE) if rng.happens(0.5) else random_person(rng, LEAN)
    if rng.happens(0.2):
        subject = NounPhrase(noun, BARE, owner=random_owner(rng))
    is_near = not is_human(subject) and rng.happens(0.6)
    place = by_furniture(rng) if is_near else random_indoor_place(rng, detail)
    return Clause(subject, Location(place, introduces=False), without_future(stance.tense), "plain", stance.negated)


def random_indoor_place(rng: SeededRandom, detail: Detail) -> PlacePhrase:
    """in the park, at the station."""
    at = place_phrase(rng, rng.choice(PLACES), detail)
    return PlacePhrase(preposition_of(at), at)


def introduction(rng: SeededRandom, stance: Stance) -> Clause:
    """There is a cat under the table; there are three books on the desk."""
    noun = rng.choice(LOCATED)
    number = rng.choice(NUMERALS) if rng.happens(0.5) else None
    is_many = number is not None and number is not NUMERALS[0]
    adjective = random_adjective(rng, noun, 0.3)
    subject = NounPhrase(noun, A if number is None else BARE, plural=is_many, adjective=adjective, number=number)
    place = by_furniture(rng) if rng.happens(0.6) else random_indoor_place(rng, LEAN)
    return Clause(subject, Location(place, introduces=True), without_future(stance.tense))


def weather(rng: SeededRandom, stance: Stance, detail: Detail) -> Clause:
    """It rains, it will snow tomorrow."""
    verb = rng.choice((RAIN, SNOW))
    time = rng.choice(TIMES[stance.tense]) if rng.happens(detail.time) else None
    return Clause(None, Weather(verb), stance.tense, "plain", stance.negated, Circumstances(time=time))


HUMAN_DEEDS = tuple(verb for verb in TRANSITIVE if "person" in verb.subjects and verb in DEEDS)


def is_single_sense(verb: Verb) -> bool:
    """Whether neither language needs the object to tell which verb is meant: 쓰다 is to write and to wear."""
    return sum(verb.english == other.english or verb.korean == other.korean for other in TRANSITIVE) == 1


def takes_things(verb: Verb) -> bool:
    """Whether one asks for the object with what, never with whom."""
    return not any(noun.is_in("person") or noun.is_in("kinship") for noun in candidates(verb.objects))


ASKED_WHAT = tuple(verb for verb in HUMAN_DEEDS if is_single_sense(verb) and takes_things(verb))
ASKED_WHERE = tuple(verb for verb in HUMAN_DEEDS + GOING if not verb.has("the"))
COUNTING = tuple(verb for verb in HUMAN_DEEDS if any(noun.counter for noun in candidates(verb.objects)))


def asked_stance(rng: SeededRandom) -> Stance:
    """A question is about this or that, never about a kind as a whole."""
    tense = random_tense(rng)
    modality: Modality = "plain"
    if tense == "present" and rng.happens(0.35):
        modality = rng.choice(("can", "progressive"))
    return Stance(tense, modality, is_main=False)


def question(rng: SeededRandom) -> Question:
    """Does the boy read a book? What did you buy? Nobody asks such things about himself."""
    draw = whether if rng.happens(0.4) else rng.choice((who, what, where, when_question, why, how_many))
    asked = draw(rng)
    subject = asked.clause.subject
    return question(rng) if subject is not None and subject.person == "first" else asked


def whether(rng: SeededRandom) -> Question:
    """Does the boy read a book?"""
    draw = rng.choice((random_action, random_action, random_action, quality, identity))
    return Question(draw(rng, asked_stance(rng), rng.choice((LEAN, SPARSE))), "whether")


def who(rng: SeededRandom) -> Question:
    """Who broke the window?"""
    clause = random_action(rng, asked_stance(rng), SPARSE, rng.choice(HUMAN_DEEDS))
    return Question(replace(clause, subject=NounPhrase(WHO, BARE)), "who")


def what(rng: SeededRandom) -> Question:
    """What does the boy eat?"""
    verb = rng.choice(ASKED_WHAT)
    clause = random_action(rng, asked_stance(rng), Detail(place=0.3, time=0.3), verb)
    return Question(replace(clause, predicate=Action(verb, NounPhrase(WHAT, BARE))), "what")


def where(rng: SeededRandom) -> Question:
    """Where did you buy the book? Where does she go?"""
    verb = rng.choice(ASKED_WHERE)
    clause = random_action(rng, asked_stance(rng), Detail(time=0.2), verb)
    around = Circumstances(time=clause.around.time, adverb=WHERE_TO if verb.has("goal") else WHERE)
    return Question(replace(clause, around=around), "where")


def when_question(rng: SeededRandom) -> Question:
    """When will you go to the park?"""
    clause = plain_action(rng)
    return Question(replace(clause, around=replace(clause.around, adverb=WHEN)), "when")


def why(rng: SeededRandom) -> Question:
    """Why did the girl cry?"""
    clause = plain_action(rng)
    return Question(replace(clause, around=replace(clause.around, adverb=WHY)), "why")


def plain_action(rng: SeededRandom) -> Clause:
    """An action without a time and without an adverb, so that one can be asked for."""
    return random_action(
        rng, Stance(random_tense(rng), is_main=False), Detail(place=0.3, adjective=0.1), rng.choice(DEEDS)
    )


def how_many(rng: SeededRandom) -> Question:
    """How many apples did you eat?"""
    verb = rng.choice(COUNTING)
    noun = rng.choice([noun for noun in candidates(verb.objects) if noun.counter])
    clause = random_action(rng, asked_stance(rng), LEAN, verb)
    counted = NounPhrase(noun, BARE, plural=True, number=HOW_MANY)
    return Question(replace(clause, predicate=Action(verb, counted)), "how many")

"""Random actions with their circumstances (to whom, how, with whom, where, with what, when) and relative clauses."""

from dataclasses import replace
from functools import cache

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import (
    ANY_TIME,
    BARE,
    CLOCK,
    DURATIONS,
    FREQUENCIES,
    GIVING,
    GOING,
    MANNERS,
    MOVING,
    NUMERALS,
    RELATIONS,
    STAYING,
    THE,
    TIMES,
    TRANSITIVE,
    VERBS,
    A,
    Expression,
    Noun,
    Verb,
    members,
)
from regard.worlds.sentences.meaning import (
    Action,
    Circumstances,
    Clause,
    NounPhrase,
    PlacePhrase,
    Stance,
    Tense,
    is_ambiguous,
)
from regard.worlds.sentences.noun_phrases import (
    LEAN,
    PEOPLE,
    Detail,
    candidates,
    is_human,
    object_of,
    people_joined,
    random_adjective,
    random_known_person,
    random_owner,
    random_person,
)

PLACES, TOWNS, OUTDOORS, HOMES = members("place"), members("town"), members("outdoors"), members("home")
OPEN_PLACES = members("outdoors", "playground", "city")
PUBLIC, FURNITURE = members("public"), members("furniture")


def random_circumstances(
    rng: SeededRandom, verb: Verb, subject: NounPhrase, stance: Stance, detail: Detail
) -> Circumstances:
    """The circumstances of an action; a state has little more than its time."""
    is_deed = not verb.has("state")
    time = random_time(rng, verb, stance) if rng.happens(detail.time) else None
    is_habit = is_deed and time is None and stance.tense == "present" and stance.is_plain
    return Circumstances(
        receiver=random_known_person(rng, subject) if verb.has("given") else None,
        manner=random_manner(rng, verb) if rng.happens(detail.manner) else None,
        company=random_company(rng, subject) if is_deed and rng.happens(detail.company) else None,
        place=random_place(rng, verb, subject, detail),
        tool=random_tool(rng, verb) if rng.happens(detail.manner) else None,
        time=time,
        adverb=rng.choice(FREQUENCIES) if is_habit and rng.happens(detail.manner / 2) else None,
    )


def random_company(rng: SeededRandom, subject: NounPhrase) -> NounPhrase | None:
    """A companion of a single person."""
    return random_known_person(rng, subject) if is_human(subject) and subject.joined is None else None


def random_manner(rng: SeededRandom, verb: Verb) -> Expression | None:
    """An adverb of manner that suits the verb."""
    for trait, adverbs in MANNERS.items():
        if verb.has(trait):
            return rng.choice(adverbs)
    return None


def random_tool(rng: SeededRandom, verb: Verb) -> NounPhrase | None:
    """by bus, with a pencil."""
    if verb.has("goal") and not verb.has("toward"):  # 기차로 부산으로 would take one particle twice
        return NounPhrase(rng.choice(PUBLIC), BARE)
    for trait in verb.traits:
        if trait.startswith("tool:"):
            return NounPhrase(rng.choice(candidates((trait.removeprefix("tool:"),))), A)
    return None


def random_time(rng: SeededRandom, verb: Verb, stance: Stance) -> Expression:
    """A time that agrees with the tense."""
    if stance.modality == "progressive" and stance.tense == "present":
        return TIMES["now"][0]
    if verb.has("state"):
        return rng.choice(TIMES["state"] if stance.tense == "present" else TIMES[stance.tense])
    if rng.happens(0.15):
        return rng.choice(CLOCK)
    lasts = not verb.has("goal") and stance.tense != "present" and stance.modality == "plain"
    if lasts and rng.happens(0.15):
        return rng.choice(DURATIONS)
    return rng.choice(ANY_TIME if rng.happens(0.5) else TIMES[stance.tense])


def random_place(rng: SeededRandom, verb: Verb, subject: NounPhrase, detail: Detail) -> PlacePhrase | None:
    """Where the action is, or where it goes to; going and staying need a place."""
    goes, stays = verb.has("goal"), verb.has("stay")
    if not (goes or stays or rng.happens(detail.place)):
        return None
    if verb.has("the") or (verb.has("state") and not stays):
        return None
    if verb.has("near") and rng.happens(0.3):
        return by_furniture(rng)
    if is_human(subject) and rng.happens(0.1):
        return PlacePhrase("to" if goes else "in", NounPhrase(rng.choice(TOWNS), BARE))
    phrase = place_phrase(rng, rng.choice(fitting_places(verb, subject)), detail)
    return PlacePhrase("to" if goes else preposition_of(phrase), phrase)


def fitting_places(verb: Verb, subject: NounPhrase) -> tuple[Noun, ...]:
    """The places that suit verb and subject; animals and robots stay outdoors."""
    if verb.has("home"):
        return HOMES
    if is_human(subject):
        return OPEN_PLACES if verb.has("outdoors") else PLACES
    return OUTDOORS


def preposition_of(phrase: NounPhrase) -> str:
    """in or at, depending on the noun."""
    return "in" if phrase.noun.is_in("in") else "at"


def place_phrase(rng: SeededRandom, noun: Noun, detail: Detail) -> NounPhrase:
    """the park, my house, the quiet library."""
    if noun.is_in("house") and rng.happens(0.5):
        return NounPhrase(noun, BARE, owner=random_owner(rng))
    return NounPhrase(noun, THE, adjective=random_adjective(rng, noun, detail.adjective))


def by_furniture(rng: SeededRandom) -> PlacePhrase:
    """under the table, behind the chair."""
    return PlacePhrase("", NounPhrase(rng.choice(FURNITURE), THE), rng.choice(RELATIONS))


FORCES = members("force")


def random_verb(rng: SeededRandom) -> Verb:
    """A verb of any frame; most of them take an object."""
    if rng.happens(0.7):
        return rng.choice(TRANSITIVE)
    return rng.choice(MOVING if rng.happens(0.4) else rng.choice((GOING, GIVING, STAYING)))


def random_action(rng: SeededRandom, stance: Stance, detail: Detail, verb: Verb | None = None) -> Clause:
    """Somebody or something does something."""
    chosen = verb or random_verb(rng)
    subject = subject_of(rng, chosen, stance, detail)
    if is_ambiguous(chosen, stance, subject):
        return random_action(rng, stance, detail, verb)
    return complete(rng, chosen, subject, stance, detail)


def complete(rng: SeededRandom, verb: Verb, subject: NounPhrase, stance: Stance, detail: Detail) -> Clause:
    """The clause of a verb and its subject, with object and circumstances."""
    stance = fitting_stance(verb, subject, stance)
    target = other_object(rng, verb, subject, detail) if verb.objects else None
    # Words after a relative clause would be read as part of it.
    is_closed = target is not None and target.relative is not None and not verb.has("given")
    around = Circumstances() if is_closed else random_circumstances(rng, verb, subject, stance, detail)
    return Clause(subject, Action(verb, target), stance.tense, stance.modality, stance.negated, around)


def fitting_stance(verb: Verb, subject: NounPhrase, stance: Stance) -> Stance:
    """The stance, made plain where the verb or the subject does not go with its modality."""
    match stance.modality:
        case "progressive":
            is_unfit = verb.has("state")
        case "must":
            is_unfit = verb.has("state") or verb.has("unbidden")
        case "can":
            is_unfit = verb.has("unbidden")
        case "want":
            is_unfit = verb.has("unbidden") or not is_human(subject)
        case "plain":
            return stance
    return replace(stance, modality="plain") if is_unfit else stance


def other_object(rng: SeededRandom, verb: Verb, subject: NounPhrase, detail: Detail) -> NounPhrase:
    """An object that is not the subject itself."""
    phrase = object_of(rng, verb, detail)
    while phrase.noun == subject.noun:
        phrase = object_of(rng, verb, detail)
    if verb.has("given"):
        return phrase
    return relative_object(rng, phrase, detail.relative, Clause(subject, Action(verb)))


def subject_of(rng: SeededRandom, verb: Verb, stance: Stance, detail: Detail) -> NounPhrase:
    """A subject that suits the verb."""
    kind = rng.choice(verb.subjects)
    if kind == "force":
        return NounPhrase(rng.choice(FORCES), BARE)
    if kind == "person":
        return human_subject(rng, stance, detail)
    noun = rng.choice(candidates((kind,)))
    adjective = random_adjective(rng, noun, detail.adjective)
    stance = replace(stance, modality="plain") if stance.modality == "want" else stance
    # Korean tells a kind from one of it by 은/는, which every negation and duty takes as well.
    if stance.allows_general and (not stance.is_plain or rng.happens(0.3)):
        return NounPhrase(noun, BARE, plural=True, adjective=adjective)
    if rng.happens(detail.number):
        return NounPhrase(noun, BARE, plural=True, adjective=adjective, number=rng.choice(NUMERALS[1:]))
    return relative_subject(rng, NounPhrase(noun, THE, adjective=adjective), detail)


def human_subject(rng: SeededRandom, stance: Stance, detail: Detail) -> NounPhrase:
    """A person, two persons, or people in general."""
    if rng.happens(detail.joined / 2):
        return people_joined(rng)
    if stance.allows_general and detail.number < 0.5 and rng.happens(0.06):
        return NounPhrase(rng.choice(PEOPLE), BARE, plural=True)
    return relative_subject(rng, random_person(rng, detail), detail)


# --- relative clauses ------------------------------------------------------------------------------------------------


def takes_relative(phrase: NounPhrase) -> bool:
    """Whether a relative clause may follow: only where the noun has an article and stands alone."""
    has_article = phrase.determiner.english in ("the", "a")
    return has_article and phrase.joined is None and not phrase.noun.is_in("unique")


def relative_subject(rng: SeededRandom, phrase: NounPhrase, detail: Detail) -> NounPhrase:
    """The subject, perhaps with what it does: the boy who reads a book."""
    if not (takes_relative(phrase) and rng.happens(detail.relative)):
        return phrase
    stance = relative_stance(rng)
    echo = NounPhrase(phrase.noun, BARE, plural=phrase.plural)
    verbs = verbs_of(phrase.noun.groups[0])
    verb = rng.choice(verbs)
    while is_ambiguous(verb, stance, echo):
        verb = rng.choice(verbs)
    inner = Detail(place=detail.place / 2, adjective=detail.adjective / 2)
    clause = complete(rng, verb, echo, stance, inner)
    return replace(phrase, determiner=THE, relative=replace(clause, gap="subject"))


def relative_object(rng: SeededRandom, phrase: NounPhrase, likely: float, outer: Clause | None = None) -> NounPhrase:
    """The object, perhaps with a relative clause that has another subject: the book that Minsu bought."""
    if phrase.noun.is_in("person"):
        return relative_subject(rng, phrase, Detail(relative=likely))
    verbs = verbs_for(phrase.noun)
    if not (verbs and takes_relative(phrase) and rng.happens(likely)):
        return phrase
    stance = relative_stance(rng)
    subject, verb = random_person(rng, LEAN), rng.choice(verbs)
    if is_ambiguous(verb, stance, subject) or (outer is not None and repeats(outer, subject, verb)):
        return phrase
    inner = complete(rng, verb, subject, stance, LEAN)
    echo = NounPhrase(phrase.noun, BARE, plural=phrase.plural)
    return replace(phrase, determiner=THE, relative=replace(inner, predicate=Action(verb, echo), gap="object"))


def repeats(outer: Clause, subject: NounPhrase, verb: Verb) -> bool:
    """Whether the inner clause would repeat the verb or the subject of the outer one."""
    has_same_verb = isinstance(outer.predicate, Action) and outer.predicate.verb is verb
    return has_same_verb or (outer.subject is not None and outer.subject.noun is subject.noun)


def relative_stance(rng: SeededRandom) -> Stance:
    """Relative clauses are in the present, the past or the present progressive."""
    tense: Tense = "past" if rng.happens(0.5) else "present"
    is_going_on = tense == "present" and rng.happens(0.3)
    return Stance(tense, "progressive" if is_going_on else "plain", is_main=False)


@cache
def verbs_of(kind: str) -> tuple[Verb, ...]:
    """The verbs that the kind of subject can do."""
    return tuple(verb for verb in VERBS if kind in verb.subjects)


@cache
def verbs_for(noun: Noun) -> tuple[Verb, ...]:
    """The verbs that a person can do to the noun."""
    fits = (verb for verb in TRANSITIVE if "person" in verb.subjects)
    return tuple(verb for verb in fits if any(map(noun.is_in, verb.objects)))

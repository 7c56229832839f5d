"""Actions drawn by chance, and the relative clauses that tell of one person or thing by an action."""

from dataclasses import replace
from functools import cache

from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.circumstances import circumstances
from regard.data.worlds.sentences.descriptions import BARE, NUMERALS, THE
from regard.data.worlds.sentences.lexicon import Noun, Verb
from regard.data.worlds.sentences.meaning import Action, Circumstances, Clause, NounPhrase, Tense
from regard.data.worlds.sentences.nouns import members
from regard.data.worlds.sentences.phrases import (
    LEAN,
    PEOPLE,
    Detail,
    candidates,
    is_human,
    object_of,
    people_joined,
    person,
    some_adjective,
)
from regard.data.worlds.sentences.stance import Stance, is_ambiguous
from regard.data.worlds.sentences.verbs import GIVING, GOING, MOVING, STAYING, TRANSITIVE, VERBS

FORCES = members("force")


def some_verb(chance: Chance) -> Verb:
    """A verb of any frame; most of them take an object."""
    if chance.happens(0.7):
        return chance.pick(TRANSITIVE)
    return chance.pick(MOVING if chance.happens(0.4) else chance.pick((GOING, GIVING, STAYING)))


def action(chance: Chance, stance: Stance, detail: Detail, verb: Verb | None = None) -> Clause:
    """Somebody or something does something."""
    chosen = verb or some_verb(chance)
    subject = subject_of(chance, chosen, stance, detail)
    if is_ambiguous(chosen, stance, subject):
        return action(chance, stance, detail, verb)
    return complete(chance, chosen, subject, stance, detail)


def complete(chance: Chance, verb: Verb, subject: NounPhrase, stance: Stance, detail: Detail) -> Clause:
    """The clause of a verb and its subject, with object and circumstances."""
    stance = fitting_stance(verb, subject, stance)
    target = other_object(chance, verb, subject, detail) if verb.objects else None
    # What followed a relative clause would be taken for a part of it.
    is_closed = target is not None and target.relative is not None and not verb.has("given")
    around = Circumstances() if is_closed else circumstances(chance, verb, subject, stance, detail)
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


def other_object(chance: Chance, verb: Verb, subject: NounPhrase, detail: Detail) -> NounPhrase:
    """An object that is not the subject itself."""
    phrase = object_of(chance, verb, detail)
    while phrase.noun == subject.noun:
        phrase = object_of(chance, verb, detail)
    if verb.has("given"):
        return phrase
    return relative_object(chance, phrase, detail.relative, Clause(subject, Action(verb)))


def subject_of(chance: Chance, verb: Verb, stance: Stance, detail: Detail) -> NounPhrase:
    """Somebody or something that can do what the verb says."""
    kind = chance.pick(verb.subjects)
    if kind == "force":
        return NounPhrase(chance.pick(FORCES), BARE)
    if kind == "person":
        return human_subject(chance, stance, detail)
    noun = chance.pick(candidates((kind,)))
    adjective = some_adjective(chance, noun, detail.adjective)
    stance = replace(stance, modality="plain") if stance.modality == "want" else stance
    # Korean tells a kind from one of it by 은/는, which every negation and duty takes as well.
    if stance.allows_general and (not stance.is_plain or chance.happens(0.3)):
        return NounPhrase(noun, BARE, plural=True, adjective=adjective)
    if chance.happens(detail.number):
        return NounPhrase(noun, BARE, plural=True, adjective=adjective, number=chance.pick(NUMERALS[1:]))
    return relative_subject(chance, NounPhrase(noun, THE, adjective=adjective), detail)


def human_subject(chance: Chance, stance: Stance, detail: Detail) -> NounPhrase:
    """A person, two persons, or people in general."""
    if chance.happens(detail.joined / 2):
        return people_joined(chance)
    if stance.allows_general and detail.number < 0.5 and chance.happens(0.06):
        return NounPhrase(chance.pick(PEOPLE), BARE, plural=True)
    return relative_subject(chance, person(chance, detail), detail)


# --- relative clauses ------------------------------------------------------------------------------------------------


def takes_relative(phrase: NounPhrase) -> bool:
    """Whether a relative clause may follow: only where the noun has an article and stands alone."""
    has_article = phrase.determiner.english in ("the", "a")
    return has_article and phrase.joined is None and not phrase.noun.is_in("unique")


def relative_subject(chance: Chance, phrase: NounPhrase, detail: Detail) -> NounPhrase:
    """The subject, perhaps with what it does: the boy who reads a book."""
    if not (takes_relative(phrase) and chance.happens(detail.relative)):
        return phrase
    stance = relative_stance(chance)
    echo = NounPhrase(phrase.noun, BARE, plural=phrase.plural)
    verbs = verbs_of(phrase.noun.groups[0])
    verb = chance.pick(verbs)
    while is_ambiguous(verb, stance, echo):
        verb = chance.pick(verbs)
    inner = Detail(place=detail.place / 2, adjective=detail.adjective / 2)
    clause = complete(chance, verb, echo, stance, inner)
    return replace(phrase, determiner=THE, relative=replace(clause, gap="subject"))


def relative_object(chance: Chance, phrase: NounPhrase, likely: float, outer: Clause | None = None) -> NounPhrase:
    """The thing, perhaps with what somebody else than in the outer clause did to it: the book that Minsu bought."""
    if phrase.noun.is_in("person"):
        return relative_subject(chance, phrase, Detail(relative=likely))
    verbs = verbs_for(phrase.noun)
    if not (verbs and takes_relative(phrase) and chance.happens(likely)):
        return phrase
    stance = relative_stance(chance)
    subject, verb = person(chance, LEAN), chance.pick(verbs)
    if is_ambiguous(verb, stance, subject) or (outer is not None and repeats(outer, subject, verb)):
        return phrase
    inner = complete(chance, verb, subject, stance, LEAN)
    echo = NounPhrase(phrase.noun, BARE, plural=phrase.plural)
    return replace(phrase, determiner=THE, relative=replace(inner, predicate=Action(verb, echo), gap="object"))


def repeats(outer: Clause, subject: NounPhrase, verb: Verb) -> bool:
    """Whether the inner clause would say the verb or the name of the outer one again."""
    has_same_verb = isinstance(outer.predicate, Action) and outer.predicate.verb is verb
    return has_same_verb or (outer.subject is not None and outer.subject.noun is subject.noun)


def relative_stance(chance: Chance) -> Stance:
    """Relative clauses tell what is, was, or is going on."""
    tense: Tense = "past" if chance.happens(0.5) else "present"
    is_going_on = tense == "present" and chance.happens(0.3)
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

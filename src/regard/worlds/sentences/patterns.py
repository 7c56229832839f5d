"""The patterns of sentences and how often each is drawn; sentences of several clauses.

Clauses are attached to the right only, so each sentence has one reading.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import (
    BARE,
    CHANGE,
    DEEDS,
    GIVING,
    GOING,
    MOVING,
    REPORTING,
    SPEAKING_OF_KINDS,
    STAYING,
    TRANSITIVE,
)
from regard.worlds.sentences.meaning import (
    GENERAL_MODALITIES,
    Action,
    Clause,
    Coordinate,
    Modality,
    NounPhrase,
    ReportClause,
    Sentence,
    Stance,
    Statement,
    Subordinate,
    Subordinator,
    Tense,
    is_ambiguous,
    past_or_present,
    random_stance,
    random_tense,
    without_future,
)
from regard.worlds.sentences.noun_phrases import LEAN, RICH, SPARSE, Detail, candidates, is_human, random_person
from regard.worlds.sentences.random_clauses import complete, random_action
from regard.worlds.sentences.states import comparison, identity, location, mood, quality, question, weather

JOINED_DETAILS = (LEAN, SPARSE, RICH, RICH)
MAIN_MODALITIES: tuple[Modality, ...] = ("plain", "plain", "must", "can")
SEQUENCES: tuple[Subordinator, ...] = ("before", "after")
MAX_DEPTH = 2


def random_subordinate(rng: SeededRandom, subordinator: Subordinator, tense: Tense) -> Subordinate:
    """A main clause in the tense, and the statement that it hangs on."""
    main = main_clause(rng, subordinator, tense)
    return Subordinate(main, subordinator, subordinate_statement(rng, subordinator, main, depth=1))


def main_clause(rng: SeededRandom, subordinator: Subordinator | None, tense: Tense) -> Clause:
    """What may have another statement hanging on it; only deeds come before or after something."""
    detail, negated = rng.choice(JOINED_DETAILS), rng.happens(0.12)
    if subordinator in SEQUENCES:
        return random_action(rng, Stance(tense), detail, rng.choice(DEEDS))
    if rng.happens(0.15):
        return mood(rng, Stance(tense, negated=negated), detail)
    modality = rng.choice(MAIN_MODALITIES) if tense == "present" else "plain"
    return random_action(rng, Stance(tense, modality, negated), detail)


def subordinate_statement(rng: SeededRandom, subordinator: Subordinator, main: Clause, depth: int) -> Statement:
    """The statement after because, when or if; another may hang on it."""
    clause = subordinate_clause(rng, subordinator, main)
    if depth > MAX_DEPTH or not rng.happens(0.4):
        return clause
    inner: Subordinator = "when" if subordinator == "because" else "because"
    return Subordinate(clause, inner, subordinate_statement(rng, inner, clause, depth + 1))


def subordinate_clause(rng: SeededRandom, subordinator: Subordinator, main: Clause) -> Clause:
    """One clause that does not repeat the name or the time of the main clause."""
    detail = rng.choice(JOINED_DETAILS)
    if main.around.time is not None:
        detail = replace(detail, time=0.0)
    stance = Stance(without_future(main.tense), is_main=False)
    if subordinator in SEQUENCES:
        clause = random_action(rng, stance, detail, rng.choice(DEEDS))
    else:
        stance = replace(stance, negated=rng.happens(0.15))
        clause = subordinate_event(rng, subordinator, stance, detail)
    return subordinate_clause(rng, subordinator, main) if repeats_name(main.subject, clause.subject) else clause


def subordinate_event(rng: SeededRandom, subordinator: Subordinator, stance: Stance, detail: Detail) -> Clause:
    """An action, a state or the weather; nobody asks what happens if somebody is a doctor."""
    if rng.happens(0.6):
        return random_action(rng, stance, detail)
    if rng.happens(0.35):
        return weather(rng, stance, LEAN)
    if subordinator == "because":
        return rng.choice((mood, quality, location, identity))(rng, stance, detail)
    states = (mood, location, identity) if stance.tense == "past" else (mood, location)
    return rng.choice(states)(rng, stance, detail)


def repeats_name(first: NounPhrase | None, second: NounPhrase | None) -> bool:
    """Whether the same noun is the subject twice, where a speaker would use a pronoun."""
    return first is not None and second is not None and first.noun == second.noun and not first.noun.is_in("pronoun")


# --- side by side ----------------------------------------------------------------------------------------------------


def coordination(rng: SeededRandom) -> Coordinate:
    """The boy reads a book and drinks milk; Minsu likes tea but Yuna likes coffee."""
    if rng.happens(0.25):
        return shared_subject(rng)
    tense = random_tense(rng)
    second: Statement = conjunct(rng, tense)
    if rng.happens(0.35):
        second = Coordinate(second, "and", conjunct(rng, tense))
    return Coordinate(conjunct(rng, tense), "and" if rng.happens(0.65) else "but", second)


def conjunct(rng: SeededRandom, tense: Tense) -> Statement:
    """One side of a coordination."""
    if rng.happens(0.6):
        return random_subordinate(rng, rng.choice(("because", "when", "before", "after")), tense)
    return main_clause(rng, None, tense)


def shared_subject(rng: SeededRandom) -> Coordinate:
    """The boy reads a book and drinks milk; the boy reads a book but does not drink milk."""
    stance = Stance(past_or_present(rng))
    first = random_action(rng, stance, rng.choice((LEAN, SPARSE)), rng.choice(DEEDS))
    second = random_action(rng, replace(stance, is_main=False), rng.choice((LEAN, SPARSE)), rng.choice(DEEDS))
    if first.subject is None or not can_share(first.subject, second, stance):
        return shared_subject(rng)
    differs = rng.happens(0.3)
    shared = replace(second, subject=first.subject, gap="subject", negated=differs)
    return Coordinate(first, "but" if differs else "and", shared)


def can_share(subject: NounPhrase, clause: Clause, stance: Stance) -> bool:
    """Whether the person may do what the clause says, to somebody else, in a tense that can be heard."""
    if clause.subject is None or not isinstance(clause.predicate, Action):
        return False
    target, receiver = clause.predicate.object, clause.around.receiver
    meets_itself = any(phrase is not None and phrase.noun == subject.noun for phrase in (target, receiver))
    is_heard = not is_ambiguous(clause.predicate.verb, stance, subject)
    return is_human(subject) and is_human(clause.subject) and is_heard and not meets_itself


def report(rng: SeededRandom) -> Clause:
    """Minsu says that the boy reads a book."""
    speaker = random_person(rng, LEAN)
    tense = past_or_present(rng)
    content = reported(rng, tense)
    said_by = content.main.subject if isinstance(content, Subordinate) else content.subject
    if repeats_name(speaker, said_by):
        return report(rng)
    return Clause(speaker, ReportClause(rng.choice(REPORTING), content), tense)


def reported(rng: SeededRandom, tense: Tense) -> Clause | Subordinate:
    """What is said, thought or believed."""
    stance = Stance(tense, is_main=False)
    if rng.happens(0.3):
        return quality(rng, stance, SPARSE)
    clause = random_action(rng, stance, rng.choice(JOINED_DETAILS))
    return (
        Subordinate(clause, "because", subordinate_statement(rng, "because", clause, MAX_DEPTH))
        if rng.happens(0.35)
        else clause
    )


DETAILS = (LEAN, SPARSE, SPARSE, RICH)


def showing(rng: SeededRandom, draw: Callable[[SeededRandom], Clause], shows: Callable[[Clause], object]) -> Clause:
    """The first clause drawn that shows what its pattern is for."""
    while not shows(clause := draw(rng)):
        pass
    return clause


def nouns_of(clause: Clause) -> list[NounPhrase]:
    """The subject and the object of the clause."""
    target = clause.predicate.object if isinstance(clause.predicate, Action) else None
    return [phrase for phrase in (clause.subject, target) if phrase is not None]


def with_adjectives(rng: SeededRandom) -> Sentence:
    """The brave girl raises a small cat; the cat is small."""
    if rng.happens(0.5):
        return quality(rng, Stance(random_tense(rng)), LEAN)
    return showing(
        rng,
        lambda rng: random_action(rng, random_stance(rng), Detail(adjective=0.9)),
        lambda clause: any(phrase.adjective for phrase in nouns_of(clause)),
    )


def with_place(rng: SeededRandom) -> Sentence:
    """The boy reads a book in the park."""
    detail = Detail(place=1.0, adjective=0.2, company=0.2, manner=0.2)
    verbs = rng.choice((TRANSITIVE, MOVING, GOING, STAYING))
    return showing(
        rng,
        lambda rng: random_action(rng, Stance(random_tense(rng)), detail, rng.choice(verbs)),
        lambda clause: clause.around.place,
    )


def with_time(rng: SeededRandom) -> Sentence:
    """The boy read a book yesterday; it will rain tomorrow."""
    detail = Detail(time=1.0, place=0.3, adjective=0.15)
    if rng.happens(0.05):
        return weather(rng, Stance(random_tense(rng)), detail)
    return random_action(rng, random_stance(rng), detail)


def negation(rng: SeededRandom) -> Sentence:
    """The boy does not eat bread; he cannot swim."""
    stance = replace(random_stance(rng), negated=True)
    if stance.modality == "must":
        stance = replace(stance, tense="present")
    if rng.happens(0.75):
        return random_action(rng, stance, SPARSE)
    return rng.choice((quality, identity, location))(rng, stance, LEAN)


def ability(rng: SeededRandom) -> Sentence:
    """Robots must obey orders; the girl can swim; he wants to sleep."""
    return showing(
        rng,
        lambda rng: random_action(rng, Stance("present", rng.choice(("must", "can", "want"))), rng.choice(DETAILS)),
        lambda clause: clause.modality != "plain",
    )


def number(rng: SeededRandom) -> Sentence:
    """Minsu bought three apples; two dogs run."""
    detail = Detail(number=0.6, adjective=0.2, place=0.2, time=0.1)
    return showing(
        rng,
        lambda rng: random_action(rng, Stance(random_tense(rng)), detail),
        lambda clause: any(phrase.number for phrase in nouns_of(clause)),
    )


def possession(rng: SeededRandom) -> Sentence:
    """The girl reads my book; Minsu's bag is big."""
    detail = Detail(owner=1.0, adjective=0.2, place=0.2)
    draw = quality if rng.happens(0.3) else random_action
    return showing(
        rng,
        lambda rng: draw(rng, random_stance(rng), detail),
        lambda clause: any(phrase.owner for phrase in nouns_of(clause)),
    )


def relative(rng: SeededRandom) -> Sentence:
    """The boy who reads a book drinks milk; I know the man who lives in Seoul."""
    detail = Detail(relative=0.8, adjective=0.15, place=0.15)
    draw = quality if rng.happens(0.25) else random_action
    return showing(
        rng,
        lambda rng: draw(rng, Stance(random_tense(rng)), detail),
        lambda clause: any(phrase.relative for phrase in nouns_of(clause)),
    )


def general(rng: SeededRandom) -> Sentence:
    """AI changes the world; robots must obey orders."""
    modality = rng.choice(GENERAL_MODALITIES)
    if rng.happens(0.5):
        return random_action(rng, Stance(modality=modality), LEAN, CHANGE)
    verb = rng.choice(SPEAKING_OF_KINDS)
    kind = rng.choice(verb.subjects)
    subject = NounPhrase(rng.choice(candidates((kind,))), BARE, plural=True)
    return complete(rng, verb, subject, Stance(modality=modality), LEAN)


PATTERNS: dict[str, tuple[float, Callable[[SeededRandom], Sentence]]] = {
    "simple": (7, lambda rng: random_action(rng, random_stance(rng), LEAN)),
    "adjective": (6, with_adjectives),
    "place": (5, with_place),
    "time": (6, with_time),
    "negation": (6, negation),
    "question": (8, question),
    "number": (6, number),
    "possession": (5, possession),
    "relative": (7, relative),
    "comparison": (4, lambda rng: comparison(rng, Stance(past_or_present(rng)))),
    "modal": (5, ability),
    "identity": (3, lambda rng: identity(rng, Stance(past_or_present(rng)), SPARSE)),
    "location": (3, lambda rng: location(rng, Stance(past_or_present(rng)), SPARSE)),
    "giving": (3, lambda rng: random_action(rng, random_stance(rng), rng.choice(DETAILS), rng.choice(GIVING))),
    "general": (3, general),
    "because": (8, lambda rng: random_subordinate(rng, "because", random_tense(rng))),
    "when": (7, lambda rng: random_subordinate(rng, "when", random_tense(rng))),
    "if": (6, lambda rng: random_subordinate(rng, "if", "future" if rng.happens(0.6) else "present")),
    "sequence": (5, lambda rng: random_subordinate(rng, rng.choice(SEQUENCES), random_tense(rng))),
    "report": (5, report),
    "coordination": (36, coordination),
}

PATTERN_NAMES = tuple(PATTERNS)
CUMULATIVE = tuple(accumulate(weight for weight, _ in PATTERNS.values()))


def random_sentence(rng: SeededRandom) -> tuple[str, Sentence]:
    """The name of a pattern and a sentence of it."""
    name = rng.weighted_choice(PATTERN_NAMES, CUMULATIVE)
    return name, PATTERNS[name][1](rng)

"""Sentences of several clauses drawn by chance; they hang on each other to the right only, so each reads in one way."""

from dataclasses import replace

from regard.data.worlds.sentences.actions import action
from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.meaning import (
    Action,
    Clause,
    Coordinate,
    Modality,
    NounPhrase,
    Report,
    Statement,
    Subordinate,
    Subordinator,
    Tense,
)
from regard.data.worlds.sentences.phrases import LEAN, RICH, SPARSE, Detail, is_human, person
from regard.data.worlds.sentences.stance import Stance, is_ambiguous, past_or_present, some_tense, without_future
from regard.data.worlds.sentences.states import identity, location, mood, quality, weather
from regard.data.worlds.sentences.verbs import DEEDS, REPORTING

DETAILS = (LEAN, SPARSE, RICH, RICH)
MAIN_MODALITIES: tuple[Modality, ...] = ("plain", "plain", "must", "can")
SEQUENCES: tuple[Subordinator, ...] = ("before", "after")
DEEPEST = 2


def because(chance: Chance) -> Subordinate:
    """The girl reads a book because it rains."""
    return hanging(chance, "because", some_tense(chance))


def when(chance: Chance) -> Subordinate:
    """Minsu reads a book when the baby sleeps."""
    return hanging(chance, "when", some_tense(chance))


def condition(chance: Chance) -> Subordinate:
    """We will go to the park if it does not rain."""
    return hanging(chance, "if", "future" if chance.happens(0.6) else "present")


def sequence(chance: Chance) -> Subordinate:
    """Minsu washed the apple before Yuna came to the kitchen."""
    return hanging(chance, chance.pick(SEQUENCES), some_tense(chance))


def hanging(chance: Chance, subordinator: Subordinator, tense: Tense) -> Subordinate:
    """A main clause in the tense, and the statement that it hangs on."""
    main = main_clause(chance, subordinator, tense)
    return Subordinate(main, subordinator, hung(chance, subordinator, main, depth=1))


def main_clause(chance: Chance, subordinator: Subordinator | None, tense: Tense) -> Clause:
    """What may have another statement hanging on it; only deeds come before or after something."""
    detail, negated = chance.pick(DETAILS), chance.happens(0.12)
    if subordinator in SEQUENCES:
        return action(chance, Stance(tense), detail, chance.pick(DEEDS))
    if chance.happens(0.15):
        return mood(chance, Stance(tense, negated=negated), detail)
    modality = chance.pick(MAIN_MODALITIES) if tense == "present" else "plain"
    return action(chance, Stance(tense, modality, negated), detail)


def hung(chance: Chance, subordinator: Subordinator, main: Clause, depth: int) -> Statement:
    """The statement after because, when or if; another may hang on it."""
    clause = hung_clause(chance, subordinator, main)
    if depth > DEEPEST or not chance.happens(0.4):
        return clause
    inner: Subordinator = "when" if subordinator == "because" else "because"
    return Subordinate(clause, inner, hung(chance, inner, clause, depth + 1))


def hung_clause(chance: Chance, subordinator: Subordinator, main: Clause) -> Clause:
    """One clause that does not repeat the name or the time of the main clause."""
    detail = chance.pick(DETAILS)
    if main.around.time is not None:
        detail = replace(detail, time=0.0)
    stance = Stance(without_future(main.tense), is_main=False)
    if subordinator in SEQUENCES:
        clause = action(chance, stance, detail, chance.pick(DEEDS))
    else:
        stance = replace(stance, negated=chance.happens(0.15))
        clause = hung_event(chance, subordinator, stance, detail)
    return hung_clause(chance, subordinator, main) if repeats_name(main.subject, clause.subject) else clause


def hung_event(chance: Chance, subordinator: Subordinator, stance: Stance, detail: Detail) -> Clause:
    """An action, a state or the weather; nobody asks what happens if somebody is a doctor."""
    if chance.happens(0.6):
        return action(chance, stance, detail)
    if chance.happens(0.35):
        return weather(chance, stance, LEAN)
    if subordinator == "because":
        return chance.pick((mood, quality, location, identity))(chance, stance, detail)
    states = (mood, location, identity) if stance.tense == "past" else (mood, location)
    return chance.pick(states)(chance, stance, detail)


def repeats_name(first: NounPhrase | None, second: NounPhrase | None) -> bool:
    """Whether the same noun is the subject twice, where a speaker would use a pronoun."""
    return first is not None and second is not None and first.noun == second.noun and not first.noun.is_in("pronoun")


# --- side by side ----------------------------------------------------------------------------------------------------


def coordination(chance: Chance) -> Coordinate:
    """The boy reads a book and drinks milk; Minsu likes tea but Yuna likes coffee."""
    if chance.happens(0.25):
        return shared_subject(chance)
    tense = some_tense(chance)
    second: Statement = conjunct(chance, tense)
    if chance.happens(0.35):
        second = Coordinate(second, "and", conjunct(chance, tense))
    return Coordinate(conjunct(chance, tense), "and" if chance.happens(0.65) else "but", second)


def conjunct(chance: Chance, tense: Tense) -> Statement:
    """One side of a coordination."""
    if chance.happens(0.6):
        return hanging(chance, chance.pick(("because", "when", "before", "after")), tense)
    return main_clause(chance, None, tense)


def shared_subject(chance: Chance) -> Coordinate:
    """The boy reads a book and drinks milk; the boy reads a book but does not drink milk."""
    stance = Stance(past_or_present(chance))
    first = action(chance, stance, chance.pick((LEAN, SPARSE)), chance.pick(DEEDS))
    second = action(chance, replace(stance, is_main=False), chance.pick((LEAN, SPARSE)), chance.pick(DEEDS))
    if first.subject is None or not can_share(first.subject, second, stance):
        return shared_subject(chance)
    differs = chance.happens(0.3)
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


def report(chance: Chance) -> Clause:
    """Minsu says that the boy reads a book."""
    speaker = person(chance, LEAN)
    tense = past_or_present(chance)
    content = reported(chance, tense)
    said_by = content.main.subject if isinstance(content, Subordinate) else content.subject
    if repeats_name(speaker, said_by):
        return report(chance)
    return Clause(speaker, Report(chance.pick(REPORTING), content), tense)


def reported(chance: Chance, tense: Tense) -> Clause | Subordinate:
    """What is said, thought or believed."""
    stance = Stance(tense, is_main=False)
    if chance.happens(0.3):
        return quality(chance, stance, SPARSE)
    clause = action(chance, stance, chance.pick(DETAILS))
    return Subordinate(clause, "because", hung(chance, "because", clause, DEEPEST)) if chance.happens(0.35) else clause

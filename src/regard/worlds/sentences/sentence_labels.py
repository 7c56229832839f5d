"""Tasks of text classification: sentences with a label that follows from their meaning.

type       statement, question or command
tense      of the main clause: present, past or future
who-acts   which of two people acts on the other. In English only the order of the words tells: the sentence with the
           two people exchanged has the same words, so that a bag of words is right half of the time. In Korean the
           particles tell.

Every label has the same probability. The sentences are drawn apart from the stream of pairs, which they do not change.
"""

from collections.abc import Callable
from dataclasses import replace

from regard.worlds import SeededRandom
from regard.worlds.sentences.lexicon import BARE, DEEDS, THE, YOU
from regard.worlds.sentences.meaning import (
    Action,
    Clause,
    Command,
    Coordinate,
    NounPhrase,
    Question,
    Sentence,
    Stance,
    Subordinate,
    Subordinator,
    random_stance,
)
from regard.worlds.sentences.noun_phrases import PEOPLE, SPARSE, Detail, random_adjective
from regard.worlds.sentences.patterns import random_sentence, subordinate_clause
from regard.worlds.sentences.random_clauses import complete, fitting_stance, random_circumstances
from regard.worlds.sentences.states import question

SENTENCE_TYPES = ("statement", "question", "command")
TENSES = ("present", "past", "future")
HUMAN_DEEDS = tuple(verb for verb in DEEDS if "person" in verb.subjects and not verb.has("unbidden"))
DEEDS_TO_PEOPLE = tuple(verb for verb in HUMAN_DEEDS if "person" in verb.objects)
ACTORS = PEOPLE[:8]
DETAIL = Detail(adjective=0.15, place=0.25, time=0.25)
SUBORDINATORS: tuple[Subordinator, ...] = ("because", "when", "before", "after")


def sentence_of_type(rng: SeededRandom) -> tuple[str, Sentence]:
    """A statement, a question or a command."""
    label = rng.choice(SENTENCE_TYPES)
    if label == "question":
        return label, question(rng)
    if label == "command":
        return label, random_command(rng)
    while isinstance(sentence := random_sentence(rng)[1], Question):
        pass
    return label, sentence


def random_command(rng: SeededRandom) -> Command:
    """Read a book in the park; do not open the window."""
    stance = Stance(negated=rng.happens(0.25), is_main=False)
    clause = complete(rng, rng.choice(HUMAN_DEEDS), NounPhrase(YOU, BARE), stance, SPARSE)
    return Command(replace(clause, around=replace(clause.around, adverb=None), gap="subject"))


def sentence_in_tense(rng: SeededRandom) -> tuple[str, Sentence]:
    """A statement or a question in the present, the past or the future."""
    label = rng.choice(TENSES)
    while main_clause_of(sentence := random_sentence(rng)[1]).tense != label:
        pass
    return label, sentence


def main_clause_of(sentence: Sentence) -> Clause:
    """The clause that no other clause contains; of several side by side, the first."""
    match sentence:
        case Question(clause=clause) | Command(clause=clause) | Subordinate(main=clause):
            return clause
        case Coordinate(first=first):
            return main_clause_of(first)
        case Clause():
            return sentence


def sentence_of_two_people(rng: SeededRandom) -> tuple[str, Sentence]:
    """One of two people acts on the other: a statement, perhaps with a subordinate clause, or a question.

    Nothing depends on who of them acts, so each sentence has the same probability as the one with them exchanged.
    """
    first = rng.choice(ACTORS)
    second = rng.choice([noun for noun in ACTORS if noun is not first])
    actor, other = (NounPhrase(noun, THE, adjective=random_adjective(rng, noun, 0.15)) for noun in (first, second))
    verb = rng.choice(DEEDS_TO_PEOPLE)
    stance = fitting_stance(verb, actor, replace(random_stance(rng), negated=rng.happens(0.15)))
    around = random_circumstances(rng, verb, actor, stance, DETAIL)
    clause = Clause(actor, Action(verb, other), stance.tense, stance.modality, stance.negated, around)
    if rng.happens(0.25):
        return first.english, Question(clause, "whether")
    if rng.happens(0.5):
        return first.english, clause
    subordinator = rng.choice(SUBORDINATORS)
    while True:
        inner = subordinate_clause(rng, subordinator, clause)
        if inner.subject is None or inner.subject.noun not in (first, second):
            return first.english, Subordinate(clause, subordinator, inner)


SentenceDrawer = Callable[[SeededRandom], tuple[str, Sentence]]
SENTENCE_TASKS: dict[str, SentenceDrawer] = {
    "type": sentence_of_type,
    "tense": sentence_in_tense,
    "who-acts": sentence_of_two_people,
}

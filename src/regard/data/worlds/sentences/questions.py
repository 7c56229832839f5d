"""Questions drawn by chance: whether, who, what, where, when, why and how many."""

from dataclasses import replace

from regard.data.worlds.sentences.actions import action
from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.descriptions import BARE, HOW_MANY, WHEN, WHERE, WHERE_TO, WHY
from regard.data.worlds.sentences.lexicon import Verb
from regard.data.worlds.sentences.meaning import Action, Circumstances, Clause, Modality, NounPhrase, Question
from regard.data.worlds.sentences.nouns import WHAT, WHO
from regard.data.worlds.sentences.phrases import LEAN, SPARSE, Detail, candidates
from regard.data.worlds.sentences.stance import Stance, some_tense
from regard.data.worlds.sentences.states import identity, quality
from regard.data.worlds.sentences.verbs import DEEDS, GOING, TRANSITIVE

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


def asked_stance(chance: Chance) -> Stance:
    """A question is about this or that, never about a kind as a whole."""
    tense = some_tense(chance)
    modality: Modality = "plain"
    if tense == "present" and chance.happens(0.35):
        modality = chance.pick(("can", "progressive"))
    return Stance(tense, modality, is_main=False)


def question(chance: Chance) -> Question:
    """Does the boy read a book? What did you buy? Nobody asks such things about himself."""
    draw = whether if chance.happens(0.4) else chance.pick((who, what, where, when, why, how_many))
    asked = draw(chance)
    subject = asked.clause.subject
    return question(chance) if subject is not None and subject.person == "first" else asked


def whether(chance: Chance) -> Question:
    """Does the boy read a book?"""
    draw = chance.pick((action, action, action, quality, identity))
    return Question(draw(chance, asked_stance(chance), chance.pick((LEAN, SPARSE))), "whether")


def who(chance: Chance) -> Question:
    """Who broke the window?"""
    clause = action(chance, asked_stance(chance), SPARSE, chance.pick(HUMAN_DEEDS))
    return Question(replace(clause, subject=NounPhrase(WHO, BARE)), "who")


def what(chance: Chance) -> Question:
    """What does the boy eat?"""
    verb = chance.pick(ASKED_WHAT)
    clause = action(chance, asked_stance(chance), Detail(place=0.3, time=0.3), verb)
    return Question(replace(clause, predicate=Action(verb, NounPhrase(WHAT, BARE))), "what")


def where(chance: Chance) -> Question:
    """Where did you buy the book? Where does she go?"""
    verb = chance.pick(ASKED_WHERE)
    clause = action(chance, asked_stance(chance), Detail(time=0.2), verb)
    around = Circumstances(time=clause.around.time, adverb=WHERE_TO if verb.has("goal") else WHERE)
    return Question(replace(clause, around=around), "where")


def when(chance: Chance) -> Question:
    """When will you go to the park?"""
    clause = plain_action(chance)
    return Question(replace(clause, around=replace(clause.around, adverb=WHEN)), "when")


def why(chance: Chance) -> Question:
    """Why did the girl cry?"""
    clause = plain_action(chance)
    return Question(replace(clause, around=replace(clause.around, adverb=WHY)), "why")


def plain_action(chance: Chance) -> Clause:
    """An action without a time and without an adverb, so that one can be asked for."""
    return action(
        chance, Stance(some_tense(chance), is_main=False), Detail(place=0.3, adjective=0.1), chance.pick(DEEDS)
    )


def how_many(chance: Chance) -> Question:
    """How many apples did you eat?"""
    verb = chance.pick(COUNTING)
    noun = chance.pick([noun for noun in candidates(verb.objects) if noun.counter])
    clause = action(chance, asked_stance(chance), LEAN, verb)
    counted = NounPhrase(noun, BARE, plural=True, number=HOW_MANY)
    return Question(replace(clause, predicate=Action(verb, counted)), "how many")

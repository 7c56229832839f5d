"""A meaning said in English: subject, verb, object, and then all that surrounds them."""

from typing import Literal

from regard.data.worlds.sentences.english_verb import verb_words
from regard.data.worlds.sentences.inflection import comparative, indefinite_article
from regard.data.worlds.sentences.lexicon import LOOSE, Expression
from regard.data.worlds.sentences.meaning import (
    Action,
    Circumstances,
    Clause,
    Identity,
    Location,
    NounPhrase,
    Place,
    Quality,
    Question,
    Report,
    Sentence,
    Statement,
    Subordinate,
    Weather,
)
from regard.data.worlds.sentences.nouns import CASES, WHO
from regard.data.worlds.sentences.pair import Key, Word

Case = Literal[0, 1, 2]
SUBJECT_CASE: Case = 0
OBJECT_CASE: Case = 1
OWNER_CASE: Case = 2


def in_english(sentence: Sentence) -> list[Word]:
    """The words of the sentence, with a capital at the start and a question mark where one belongs."""
    if isinstance(sentence, Question):
        words = question_words(sentence)
        words[-1] = words[-1]._replace(text=words[-1].text + "?")
    else:
        words = statement_words(sentence)
    first = words[0].text
    words[0] = words[0]._replace(text=first[0].upper() + first[1:])
    return words


def statement_words(statement: Statement) -> list[Word]:
    """The words of clauses and of what joins them."""
    if isinstance(statement, Clause):
        return clause_words(statement)
    if isinstance(statement, Subordinate):
        link = Word(statement.subordinator, ((statement, "link"),))
        return [*clause_words(statement.main), link, *statement_words(statement.statement)]
    link = Word(statement.connective, ((statement, "link"),))
    return [*statement_words(statement.first), link, *statement_words(statement.second)]


def clause_words(clause: Clause) -> list[Word]:
    """The words of a statement of one clause."""
    if isinstance(clause.predicate, Location) and clause.predicate.introduces:
        return introduction_words(clause)
    auxiliaries, verb = verb_words(clause)
    adverb = expression_words(clause, "adverb", clause.around.adverb)
    return [*subject_words(clause), *auxiliaries, *adverb, *verb, *rest_words(clause)]


def introduction_words(clause: Clause) -> list[Word]:
    """There is something somewhere."""
    auxiliaries, verb = verb_words(clause)
    there = Word("there", (), ((clause, "verb"),))
    return [there, *auxiliaries, *verb, *noun_words(clause.subject), *rest_words(clause)]


def question_words(question: Question) -> list[Word]:
    """The words of a question; what is asked for comes first, then the auxiliary, then the subject."""
    clause = question.clause
    if question.asked == "who":
        return clause_words(clause)
    asked = expression_words(clause, "adverb", clause.around.adverb)
    skips_object = question.asked in ("what", "how many")
    if skips_object and isinstance(clause.predicate, Action):
        asked = noun_words(clause.predicate.object, OBJECT_CASE)
    auxiliaries, verb = verb_words(clause, inverted=True)
    rest = rest_words(clause, skips_object=skips_object)
    return [*asked, *auxiliaries[:1], *subject_words(clause), *auxiliaries[1:], *verb, *rest]


# --- around the verb -------------------------------------------------------------------------------------------------


def subject_words(clause: Clause) -> list[Word]:
    """The subject; nothing where the noun outside a relative clause stands for it, `it` for the weather."""
    if clause.gap == "subject":
        return []
    if isinstance(clause.predicate, Weather):
        return [Word("it", (), ((clause, "verb"),))]
    return noun_words(clause.subject)


def rest_words(clause: Clause, *, skips_object: bool = False) -> list[Word]:
    """All that follows the verb."""
    around = around_words(clause, clause.around)
    match clause.predicate:
        case Action(object=target):
            skipped = skips_object or clause.gap == "object"
            return [*([] if skipped else noun_words(target, OBJECT_CASE)), *around]
        case Quality() as quality:
            return [*quality_words(clause, quality), *around]
        case Identity(noun=noun):
            return [*noun_words(noun, OBJECT_CASE), *around]
        case Location(place=place):
            return [*place_words(place), *around]
        case Report(content=content) as report:
            return [Word("that", ((report, "link"),)), *statement_words(content)]
        case Weather():
            return around


def quality_words(clause: Clause, quality: Quality) -> list[Word]:
    """big, very big, bigger than something, as big as something."""
    verb, degree = (clause, "verb"), (quality, "degree")
    if quality.than is not None:
        *more, adjective = comparative(quality.adjective.english)
        about = (verb,) if more else (verb, degree)
        than = Word("than", ((quality, "than"),))
        return [*(Word(text, (degree,)) for text in more), Word(adjective, about), than, *noun_words(quality.than)]
    plain = Word(quality.adjective.english, (verb,))
    if quality.alike is not None:
        first, second = Word("as", (), ((quality, "than"),)), Word("as", ((quality, "than"),))
        return [first, plain, second, *noun_words(quality.alike)]
    return [*expression_words(quality, "degree", quality.degree), plain]


def around_words(clause: Clause, around: Circumstances) -> list[Word]:
    """To whom, how, with whom, where, with what and when."""
    words: list[Word] = []
    if around.receiver is not None:
        words += [Word("to", ((around.receiver, "role"),)), *noun_words(around.receiver, OBJECT_CASE)]
    words += expression_words(clause, "manner", around.manner)
    if around.company is not None:
        words += [Word("with", ((around.company, "role"),)), *noun_words(around.company, OBJECT_CASE)]
    if around.place is not None:
        words += place_words(around.place)
    if around.tool is not None:
        preposition = "with" if around.tool.determiner.english else "by"
        words += [Word(preposition, ((around.tool, "role"),)), *noun_words(around.tool, OBJECT_CASE)]
    return words + expression_words(clause, "time", around.time)


def place_words(place: Place) -> list[Word]:
    """The preposition and the place."""
    if place.relation is None:
        preposition = [Word(place.preposition, ((place.at, "role"),))]
    else:
        preposition = expression_words(place, "relation", place.relation)
    return [*preposition, *noun_words(place.at, OBJECT_CASE)]


def expression_words(node: object, facet: str, expression: Expression | None) -> list[Word]:
    """The words of a fixed phrase that plays a part in the node."""
    words = []
    for text, label in expression.english if expression is not None else ():
        key = (node, facet + label.removeprefix(LOOSE))
        words.append(Word(text, (), (key,)) if label.startswith(LOOSE) else Word(text, (key,)))
    return words


# --- the noun --------------------------------------------------------------------------------------------------------


def noun_words(phrase: NounPhrase | None, case: Case = SUBJECT_CASE) -> list[Word]:
    """A noun phrase: determiner or owner, number, adjective, noun, relative clause."""
    if phrase is None:
        return []
    key: Key = (phrase, "noun")
    if phrase.noun.english in CASES:
        words = [Word(CASES[phrase.noun.english][case], (key,))]
    else:
        described = [*number_words(phrase), *adjective_words(phrase), Word(name_of(phrase), (key,))]
        words = [*determiner_words(phrase, described[0].text), *described]
    if phrase.relative is not None:
        words += relative_words(phrase, phrase.relative)
    if phrase.joined is not None:
        words += [Word("and", ((phrase, "joined"),)), *noun_words(phrase.joined, case)]
    return words


def name_of(phrase: NounPhrase) -> str:
    """The noun in the singular or in the plural."""
    is_plural = phrase.plural and phrase.measure is None
    return phrase.noun.plural if is_plural else phrase.noun.english


def determiner_words(phrase: NounPhrase, next_word: str) -> list[Word]:
    """The owner, or else the determiner."""
    if phrase.owner is not None:
        return owner_words(phrase.owner)
    determiner = phrase.determiner
    if not determiner.english:
        return []
    text = indefinite_article(next_word) if determiner.english == "a" else determiner.english
    if determiner.korean:
        return [Word(text, ((phrase, "determiner"),))]
    return [Word(text, (), ((phrase, "noun"),))]


def owner_words(owner: NounPhrase) -> list[Word]:
    """my, Minsu's, the teacher's."""
    words = noun_words(owner, OWNER_CASE)
    if owner.noun.english not in CASES:
        words[-1] = words[-1]._replace(text=words[-1].text + "'s")
    return words


def number_words(phrase: NounPhrase) -> list[Word]:
    """three, how many, three cups of."""
    if phrase.number is None:
        return []
    words = [Word(text, ((phrase, "number"),)) for text in phrase.number.english.split()]
    if phrase.measure is None:
        return words
    measure = (phrase, "measure")
    name = phrase.measure.english + ("s" if phrase.plural else "")
    return [*words, Word(name, (measure,)), Word("of", (), (measure, (phrase, "noun")))]


def adjective_words(phrase: NounPhrase) -> list[Word]:
    """The adjective before the noun."""
    if phrase.adjective is None:
        return []
    return [Word(phrase.adjective.english, ((phrase, "adjective"),))]


def relative_words(phrase: NounPhrase, clause: Clause) -> list[Word]:
    """who or that, and the clause."""
    pronoun = WHO.english if phrase.noun.is_in("person") else "that"
    return [Word(pronoun, ((clause, "link"),)), *clause_words(clause)]

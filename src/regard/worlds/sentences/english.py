"""A meaning in English: subject, verb with auxiliaries, object, circumstances; inflection of verbs and adjectives."""

import re
from functools import cache
from typing import Literal

from regard.worlds.sentences.lexicon import CASES, LOOSE, WHO, Expression, Verb
from regard.worlds.sentences.meaning import (
    Action,
    AnnotatedWord,
    Circumstances,
    Clause,
    Command,
    Identity,
    Key,
    Location,
    NounPhrase,
    PlacePhrase,
    QualityClause,
    Question,
    ReportClause,
    Sentence,
    Statement,
    Subordinate,
    Weather,
)

VOWELS = "aeiou"
IRREGULAR_COMPARATIVES = {"good": "better", "bad": "worse"}
SILENT_H = ("honest", "hour")
SPOKEN_WITH_Y = ("useful", "uni")  # written with a vowel, spoken with a consonant


def syllables(word: str) -> int:
    """How many groups of vowels are heard; a silent e at the end is not."""
    return len(re.findall(r"[aeiouy]+", word.removesuffix("e"))) or 1


def doubles_consonant(word: str) -> bool:
    """Whether the last letter is written twice before a vowel: run, running."""
    return bool(re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word))


def add_suffix(word: str, suffix: str) -> str:
    """The word with -ed, -er or -ing, spelled as English asks."""
    if doubles_consonant(word):
        return word + word[-1] + suffix
    if word.endswith("e"):
        return word[:-1] + suffix
    if word.endswith("y") and word[-2] not in VOWELS and suffix != "ing":
        return word[:-1] + "i" + suffix
    return word + suffix


@cache
def third_person(base: str) -> str:
    """The present with he or she."""
    if base == "go" or base.endswith(("s", "x", "ch", "sh")):
        return base + "es"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    return base + "s"


@cache
def participle(base: str) -> str:
    """The form in -ing."""
    return add_suffix(base, "ing")


@cache
def past(verb: Verb) -> str:
    """The simple past of the verb's first word."""
    return verb.past or add_suffix(verb.english.split()[0], "ed")


@cache
def comparative(adjective: str) -> tuple[str, ...]:
    """One word in -er, or `more` and the adjective."""
    if adjective in IRREGULAR_COMPARATIVES:
        return (IRREGULAR_COMPARATIVES[adjective],)
    if syllables(adjective) == 1 or adjective.endswith("y"):
        return (add_suffix(adjective, "er"),)
    return "more", adjective


def indefinite_article(next_word: str) -> str:
    """`a` or `an`, by the sound of the word that follows."""
    word = next_word.lower()
    if word.startswith(SILENT_H):
        return "an"
    return "an" if word[0] in VOWELS and not word.startswith(SPOKEN_WITH_Y) else "a"


VerbShape = Literal["base", "present", "past", "participle", "none"]
MODALS = {("must", "present"): ["must"], ("can", "present"): ["can"], ("can", "past"): ["could"]}


def verb_words(clause: Clause, *, inverted: bool = False) -> tuple[list[AnnotatedWord], list[AnnotatedWord]]:
    """The auxiliaries of the clause, `not` among them, and the words of its verb."""
    if clause.modality == "can" and clause.negated and clause.tense == "present":
        cannot = AnnotatedWord("cannot", ((clause, "modality"), (clause, "not"), (clause, "tense")))
        return [cannot], head_words(clause, "base")
    auxiliaries, shape = auxiliary_words(clause, needs_support=inverted or clause.negated)
    if clause.negated:
        auxiliaries.insert(1, AnnotatedWord("not", ((clause, "not"),)))
    return auxiliaries, head_words(clause, shape)


def auxiliary_words(clause: Clause, *, needs_support: bool) -> tuple[list[AnnotatedWord], VerbShape]:
    """The auxiliaries, and the shape of the verb that follows them."""
    tense: Key = (clause, "tense")
    modal = MODALS.get((clause.modality, clause.tense))
    if modal:
        return [AnnotatedWord(text, ((clause, "modality"), tense)) for text in modal], "base"
    if clause.tense == "future":
        return [AnnotatedWord("will", (tense,))], "base"
    if clause.modality == "must":
        return [], "past"
    is_copular = isinstance(clause.predicate, QualityClause | Identity | Location)
    if is_copular:
        return [AnnotatedWord(form_of_be(clause), (tense,))], "none"
    if clause.modality == "progressive":
        return [AnnotatedWord(form_of_be(clause), (tense, (clause, "modality")))], "participle"
    if needs_support:
        is_third = clause.subject is None or clause.subject.is_third_singular
        return [AnnotatedWord("did" if clause.tense == "past" else "does" if is_third else "do", (tense,))], "base"
    return [], "past" if clause.tense == "past" else "present"


def form_of_be(clause: Clause) -> str:
    """am, are, is, was or were."""
    subject = clause.subject
    is_many = subject is not None and (subject.is_many or subject.person == "second")
    if clause.tense == "past":
        return "were" if is_many else "was"
    if is_many:
        return "are"
    return "am" if subject is not None and subject.person == "first" else "is"


def head_words(clause: Clause, shape: VerbShape) -> list[AnnotatedWord]:
    """The verb itself; wanting and having to come before it."""
    verb: Key = (clause, "verb")
    modality: Key = (clause, "modality")
    if clause.modality == "want":
        wanting = AnnotatedWord(inflect("want", "wanted", clause, shape), (modality,))
        return [wanting, AnnotatedWord("to", (), (modality, verb)), *lexical_words(clause, "base")]
    if clause.modality == "must" and clause.tense == "past":
        had = AnnotatedWord("had", (modality, (clause, "tense")))
        return [had, AnnotatedWord("to", (), (modality, verb)), *lexical_words(clause, "base")]
    return lexical_words(clause, shape)


def lexical_words(clause: Clause, shape: VerbShape) -> list[AnnotatedWord]:
    """The words of the verb in the lexicon; only the first is inflected (picks up)."""
    predicate = clause.predicate
    if isinstance(predicate, QualityClause | Identity | Location):
        return [AnnotatedWord("be", ((clause, "tense"),))] if shape == "base" else []
    first, *others = predicate.verb.english.split()
    inflected = inflect(first, past(predicate.verb), clause, shape)
    return [AnnotatedWord(text, ((clause, "verb"),)) for text in (inflected, *others)]


def inflect(base: str, past_form: str, clause: Clause, shape: VerbShape) -> str:
    """The verb in the shape that its auxiliaries ask for."""
    if shape == "past":
        return past_form
    if shape == "participle":
        return participle(base)
    if shape == "present" and (clause.subject is None or clause.subject.is_third_singular):
        return third_person(base)
    return base


Case = Literal[0, 1, 2]
SUBJECT_CASE: Case = 0
OBJECT_CASE: Case = 1
OWNER_CASE: Case = 2


def in_english(sentence: Sentence) -> list[AnnotatedWord]:
    """The words of the sentence, with a capital at the start and a question mark where one belongs."""
    if isinstance(sentence, Question):
        words = question_words(sentence)
        words[-1] = words[-1]._replace(text=words[-1].text + "?")
    elif isinstance(sentence, Command):
        words = command_words(sentence.clause)
    else:
        words = statement_words(sentence)
    first = words[0].text
    words[0] = words[0]._replace(text=first[0].upper() + first[1:])
    return words


def statement_words(statement: Statement) -> list[AnnotatedWord]:
    """The words of clauses and of what joins them."""
    if isinstance(statement, Clause):
        return clause_words(statement)
    if isinstance(statement, Subordinate):
        link = AnnotatedWord(statement.subordinator, ((statement, "link"),))
        return [*clause_words(statement.main), link, *statement_words(statement.statement)]
    link = AnnotatedWord(statement.connective, ((statement, "link"),))
    return [*statement_words(statement.first), link, *statement_words(statement.second)]


def clause_words(clause: Clause) -> list[AnnotatedWord]:
    """The words of a statement of one clause."""
    auxiliaries, verb = verb_words(clause)
    if isinstance(clause.predicate, Location) and clause.predicate.introduces:
        there = AnnotatedWord("there", (), ((clause, "verb"),))
        return [there, *auxiliaries, *verb, *noun_words(clause.subject), *rest_words(clause)]
    adverb = expression_words(clause, "adverb", clause.around.adverb)
    return [*subject_words(clause), *auxiliaries, *adverb, *verb, *rest_words(clause)]


def question_words(question: Question) -> list[AnnotatedWord]:
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


def command_words(clause: Clause) -> list[AnnotatedWord]:
    """The words of a command: the verb comes first, without a subject."""
    negation = [AnnotatedWord("do", ((clause, "tense"),)), AnnotatedWord("not", ((clause, "not"),))]
    return [*(negation if clause.negated else []), *lexical_words(clause, "base"), *rest_words(clause)]


# --- around the verb -------------------------------------------------------------------------------------------------


def subject_words(clause: Clause) -> list[AnnotatedWord]:
    """The subject; nothing where the noun outside a relative clause stands for it, `it` for the weather."""
    if clause.gap == "subject":
        return []
    if isinstance(clause.predicate, Weather):
        return [AnnotatedWord("it", (), ((clause, "verb"),))]
    return noun_words(clause.subject)


def rest_words(clause: Clause, *, skips_object: bool = False) -> list[AnnotatedWord]:
    """All that follows the verb."""
    around = circumstance_words(clause, clause.around)
    match clause.predicate:
        case Action(object=target):
            skipped = skips_object or clause.gap == "object"
            return [*([] if skipped else noun_words(target, OBJECT_CASE)), *around]
        case QualityClause() as quality:
            return [*quality_words(clause, quality), *around]
        case Identity(noun=noun):
            return [*noun_words(noun, OBJECT_CASE), *around]
        case Location(place=place):
            return [*place_words(place), *around]
        case ReportClause(content=content) as report:
            return [AnnotatedWord("that", ((report, "link"),)), *statement_words(content)]
        case Weather():
            return around


def quality_words(clause: Clause, quality: QualityClause) -> list[AnnotatedWord]:
    """big, very big, bigger than something, as big as something."""
    verb, degree = (clause, "verb"), (quality, "degree")
    if quality.than is not None:
        *more, adjective = comparative(quality.adjective.english)
        about = (verb,) if more else (verb, degree)
        than = AnnotatedWord("than", ((quality, "than"),))
        return [
            *(AnnotatedWord(text, (degree,)) for text in more),
            AnnotatedWord(adjective, about),
            than,
            *noun_words(quality.than),
        ]
    plain = AnnotatedWord(quality.adjective.english, (verb,))
    if quality.alike is not None:
        first, second = AnnotatedWord("as", (), ((quality, "than"),)), AnnotatedWord("as", ((quality, "than"),))
        return [first, plain, second, *noun_words(quality.alike)]
    return [*expression_words(quality, "degree", quality.degree), plain]


def circumstance_words(clause: Clause, around: Circumstances) -> list[AnnotatedWord]:
    """To whom, how, with whom, where, with what and when."""
    words: list[AnnotatedWord] = []
    if around.receiver is not None:
        words += [AnnotatedWord("to", ((around.receiver, "role"),)), *noun_words(around.receiver, OBJECT_CASE)]
    words += expression_words(clause, "manner", around.manner)
    if around.company is not None:
        words += [AnnotatedWord("with", ((around.company, "role"),)), *noun_words(around.company, OBJECT_CASE)]
    if around.place is not None:
        words += place_words(around.place)
    if around.tool is not None:
        preposition = "with" if around.tool.determiner.english else "by"
        words += [AnnotatedWord(preposition, ((around.tool, "role"),)), *noun_words(around.tool, OBJECT_CASE)]
    return words + expression_words(clause, "time", around.time)


def place_words(place: PlacePhrase) -> list[AnnotatedWord]:
    """The preposition and the place."""
    if place.relation is None:
        preposition = [AnnotatedWord(place.preposition, ((place.at, "role"),))]
    else:
        preposition = expression_words(place, "relation", place.relation)
    return [*preposition, *noun_words(place.at, OBJECT_CASE)]


def expression_words(node: object, facet: str, expression: Expression | None) -> list[AnnotatedWord]:
    """The words of a fixed phrase that plays a part in the node."""
    words = []
    for text, label in expression.english if expression is not None else ():
        key = (node, facet + label.removeprefix(LOOSE))
        words.append(AnnotatedWord(text, (), (key,)) if label.startswith(LOOSE) else AnnotatedWord(text, (key,)))
    return words


# --- the noun --------------------------------------------------------------------------------------------------------


def noun_words(phrase: NounPhrase | None, case: Case = SUBJECT_CASE) -> list[AnnotatedWord]:
    """A noun phrase: determiner or owner, number, adjective, noun, relative clause."""
    if phrase is None:
        return []
    key: Key = (phrase, "noun")
    if phrase.noun.english in CASES:
        words = [AnnotatedWord(CASES[phrase.noun.english][case], (key,))]
    else:
        adjective = [AnnotatedWord(phrase.adjective.english, ((phrase, "adjective"),))] if phrase.adjective else []
        is_plural = phrase.plural and phrase.measure is None
        noun = AnnotatedWord(phrase.noun.plural if is_plural else phrase.noun.english, (key,))
        described = [*number_words(phrase), *adjective, noun]
        words = [*determiner_words(phrase, described[0].text), *described]
    if phrase.relative is not None:
        pronoun = WHO.english if phrase.noun.is_in("person") else "that"
        words += [AnnotatedWord(pronoun, ((phrase.relative, "link"),)), *clause_words(phrase.relative)]
    if phrase.joined is not None:
        words += [AnnotatedWord("and", ((phrase, "joined"),)), *noun_words(phrase.joined, case)]
    return words


def determiner_words(phrase: NounPhrase, next_word: str) -> list[AnnotatedWord]:
    """The owner (my, Minsu's, the teacher's), or else the determiner."""
    if phrase.owner is not None:
        words = noun_words(phrase.owner, OWNER_CASE)
        if phrase.owner.noun.english not in CASES:
            words[-1] = words[-1]._replace(text=words[-1].text + "'s")
        return words
    determiner = phrase.determiner
    if not determiner.english:
        return []
    text = indefinite_article(next_word) if determiner.english == "a" else determiner.english
    if determiner.korean:
        return [AnnotatedWord(text, ((phrase, "determiner"),))]
    return [AnnotatedWord(text, (), ((phrase, "noun"),))]


def number_words(phrase: NounPhrase) -> list[AnnotatedWord]:
    """three, how many, three cups of."""
    if phrase.number is None:
        return []
    words = [AnnotatedWord(text, ((phrase, "number"),)) for text in phrase.number.english.split()]
    if phrase.measure is None:
        return words
    measure = (phrase, "measure")
    name = phrase.measure.english + ("s" if phrase.plural else "")
    return [*words, AnnotatedWord(name, (measure,)), AnnotatedWord("of", (), (measure, (phrase, "noun")))]

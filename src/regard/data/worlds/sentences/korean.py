"""A meaning said in Korean: what surrounds the action comes first, its verb comes last.

Particles tell what a noun is for, and the ending of the verb tells how a clause is joined to the next.
"""

from regard.data.worlds.sentences import conjugation
from regard.data.worlds.sentences.conjugation import Form, conjugate
from regard.data.worlds.sentences.hangul import (
    ACTING_AT,
    AND,
    AS_MUCH_AS,
    AT,
    BY,
    NO_PARTICLE,
    OBJECT,
    OF,
    SUBJECT,
    THAN,
    TO_SOMEONE,
    TOPIC,
    Particle,
    attach,
)
from regard.data.worlds.sentences.korean_predicate import predicate_words
from regard.data.worlds.sentences.lexicon import LOOSE, Expression
from regard.data.worlds.sentences.meaning import (
    Action,
    Clause,
    Coordinate,
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
from regard.data.worlds.sentences.pair import Key, Word
from regard.data.worlds.sentences.verbs import WEATHER

Ending = tuple[Form, Key | None]  # the form of the verb, and the joining word that it expresses
STATEMENT: Ending = ("statement", None)
TOPICAL_GROUPS = ("pronoun", "name", "pointer", "kinship")


def in_korean(sentence: Sentence) -> list[Word]:
    """The words of the sentence, with a question mark where one belongs."""
    if not isinstance(sentence, Question):
        return statement_words(sentence, STATEMENT, is_main=True)
    words = clause_words(sentence.clause, ("question", None), is_main=True)
    words[-1] = words[-1]._replace(text=words[-1].text + "?")
    return words


def statement_words(statement: Statement, ending: Ending, *, is_main: bool) -> list[Word]:
    """The words of clauses, each with the ending that joins it to the next."""
    if isinstance(statement, Clause):
        return clause_words(statement, ending, is_main=is_main)
    if isinstance(statement, Subordinate):
        joined: Ending = (statement.subordinator, (statement, "link"))
        before = statement_words(statement.statement, joined, is_main=False)
        return [*before, *clause_words(statement.main, ending, is_main=is_main)]
    joined = (connecting_form(statement), (statement, "link"))
    first = statement_words(statement.first, joined, is_main=is_main)
    return [*first, *statement_words(statement.second, ending, is_main=is_main)]


def connecting_form(statement: Coordinate) -> Form:
    """The form of the first of two statements; two acts of one subject share the time of the second."""
    is_shared = isinstance(statement.second, Clause) and statement.second.gap == "subject"
    return "and then" if is_shared and statement.connective == "and" else statement.connective


def clause_words(clause: Clause, ending: Ending, *, is_main: bool) -> list[Word]:
    """The words of one clause, its predicate last."""
    subject = subject_words(clause, is_main=is_main and clause.gap is None)
    before = before_predicate(clause)
    if subject_comes_late(clause):
        subject, before = before, subject
    return [*subject, *before, *predicate_words(clause, *ending)]


def subject_comes_late(clause: Clause) -> bool:
    """Whether the place or the time opens the clause: 책상 위에 책이 있다, 어제 비가 왔다."""
    return isinstance(clause.predicate, Weather) or (
        isinstance(clause.predicate, Location) and clause.predicate.introduces
    )


# --- the subject -----------------------------------------------------------------------------------------------------


def subject_words(clause: Clause, *, is_main: bool) -> list[Word]:
    """The subject with 은/는 or 이/가; nothing where the noun outside a relative clause stands for it."""
    if isinstance(clause.predicate, Weather):
        return [Word(attach(WEATHER[clause.predicate.verb.english], SUBJECT), ((clause, "verb"),))]
    if clause.gap == "subject" or clause.subject is None:
        return []
    is_topic = is_main and takes_topic(clause, clause.subject)
    return noun_words(clause.subject, TOPIC if is_topic else SUBJECT)


def takes_topic(clause: Clause, subject: NounPhrase) -> bool:
    """Whether the clause tells something about its subject, rather than what has happened."""
    if subject.noun.is_in("question"):
        return False
    if isinstance(clause.predicate, Location):
        return not clause.predicate.introduces and (clause.negated or is_known(subject))
    if isinstance(clause.predicate, Quality | Identity | Report):
        return True
    return clause.negated or clause.modality in ("must", "can", "want") or is_known(subject)


def is_known(subject: NounPhrase) -> bool:
    """Whether the subject is known to all, or pointed at, or a kind as a whole."""
    is_pointed_at = subject.determiner.english in ("this", "that")
    return is_pointed_at or subject.is_general or any(map(subject.noun.is_in, TOPICAL_GROUPS))


# --- between subject and predicate -----------------------------------------------------------------------------------


def before_predicate(clause: Clause) -> list[Word]:
    """When, how often, with whom, where, with what, to whom, what, and how."""
    around = clause.around
    words = expression_words(clause, "time", around.time)
    words += expression_words(clause, "adverb", around.adverb)
    if around.company is not None:
        role: Key = (around.company, "role")
        words += [*noun_words(around.company, AND, role), Word("함께", (role,))]
    place = [] if around.place is None else place_words(around.place, place_particle(clause))
    tool = [] if around.tool is None else noun_words(around.tool, BY, (around.tool, "role"))
    words += [*tool, *place] if goes(clause) else [*place, *tool]
    if around.receiver is not None:
        words += noun_words(around.receiver, TO_SOMEONE, (around.receiver, "role"))
    return [*words, *complement_words(clause), *expression_words(clause, "manner", around.manner)]


def goes(clause: Clause) -> bool:
    """Whether the place is where the action leads to, and so stands close to the verb: 버스로 학교에 간다."""
    return isinstance(clause.predicate, Action) and clause.predicate.verb.has("goal")


def place_particle(clause: Clause) -> Particle:
    """에서 where one acts, 에 where one is or goes, 로 where one returns to."""
    if not isinstance(clause.predicate, Action):
        return ACTING_AT
    verb = clause.predicate.verb
    if verb.has("toward"):
        return BY
    return AT if verb.has("goal") or verb.has("stay") else ACTING_AT


def complement_words(clause: Clause) -> list[Word]:
    """The object, the thing compared with, the place to be at or what is reported."""
    match clause.predicate:
        case Action(object=NounPhrase() as target) if clause.gap != "object":
            return noun_words(target, OBJECT)
        case Quality() as quality:
            return quality_words(quality)
        case Identity(noun=noun):
            return [*describing_words(noun), *negated_noun(noun)] if clause.negated else describing_words(noun)
        case Location(place=place):
            return place_words(place, AT)
        case Report(content=content) as report:
            return statement_words(content, ("quote", (report, "link")), is_main=False)
        case _:
            return []


def negated_noun(phrase: NounPhrase) -> list[Word]:
    """What something is not: 학생이 아니다."""
    return [Word(attach(phrase.noun.korean, SUBJECT), ((phrase, "noun"),))]


def quality_words(quality: Quality) -> list[Word]:
    """What a quality is compared with, and its degree."""
    if quality.than is not None:
        return [*noun_words(quality.than, THAN, (quality, "than")), Word("더", ((quality, "degree"),))]
    if quality.alike is not None:
        return noun_words(quality.alike, AS_MUCH_AS, (quality, "than"))
    return expression_words(quality, "degree", quality.degree)


def place_words(place: Place, particle: Particle) -> list[Word]:
    """The place with its particle, or with the part of space that is meant."""
    if place.relation is None:
        return noun_words(place.at, particle, (place.at, "role"))
    return [*noun_words(place.at, NO_PARTICLE), *expression_words(place, "relation", place.relation)]


def expression_words(node: object, facet: str, expression: Expression | None) -> list[Word]:
    """The words of a fixed phrase that plays a part in the node."""
    if expression is None:
        return []
    return [Word(text, ((node, facet + label.removeprefix(LOOSE)),)) for text, label in expression.korean]


# --- the noun --------------------------------------------------------------------------------------------------------


def noun_words(phrase: NounPhrase, particle: Particle, role: Key | None = None) -> list[Word]:
    """A noun phrase; its last word carries the particle, and with it the preposition that the particle expresses."""
    if phrase.joined is not None:
        first = own_words(phrase, AND, (phrase, "joined"))
        return [*first, *noun_words(phrase.joined, particle, role)]
    return own_words(phrase, particle, role)


def own_words(phrase: NounPhrase, particle: Particle, role: Key | None) -> list[Word]:
    """Relative clause, determiner or owner, adjective, noun, number and counter."""
    words = describing_words(phrase)
    is_marked = phrase.plural and phrase.number is None and marks_plural(phrase)
    words.append(Word(phrase.noun.korean + ("들" if is_marked else ""), ((phrase, "noun"),)))
    words += counting_words(phrase)
    last = words[-1]
    about = (*last.about, role) if role is not None else last.about
    words[-1] = Word(attach(last.text, particle), about, last.near)
    return words


def marks_plural(phrase: NounPhrase) -> bool:
    """Whether 들 is said: of people always, of animals unless the kind is meant, of things never."""
    return phrase.noun.is_in("person") or (phrase.noun.is_living and not phrase.is_general)


def describing_words(phrase: NounPhrase) -> list[Word]:
    """All that stands before the noun."""
    words: list[Word] = []
    if phrase.relative is not None:
        words += clause_words(phrase.relative, ("adnominal", (phrase.relative, "link")), is_main=False)
    if phrase.owner is not None:
        words += noun_words(phrase.owner, OF)
    elif phrase.determiner.korean:
        words.append(Word(phrase.determiner.korean, ((phrase, "determiner"),)))
    if phrase.adjective is not None:
        quality = conjugation.Predicate(phrase.adjective.korean, "adjective")
        words.append(Word(conjugate(quality, "adnominal"), ((phrase, "adjective"),)))
    return words


def counting_words(phrase: NounPhrase) -> list[Word]:
    """The number and its counter, or the number and the measure."""
    if phrase.number is None:
        return []
    number = (phrase, "number")
    if phrase.measure is not None:
        return [Word(phrase.number.korean, (number,)), Word(phrase.measure.korean, ((phrase, "measure"),))]
    return [Word(phrase.number.korean, (number,)), Word(phrase.noun.counter, (number,), ((phrase, "noun"),))]

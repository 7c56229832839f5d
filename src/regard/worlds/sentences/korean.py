"""A meaning in Korean: circumstances first, the verb last.

Particles mark the role of a noun, and the ending of the verb joins a clause to the next. A predicate is built in steps:
each step takes the predicate so far, gives it the form that the next step needs, and adds the next predicate: 읽다,
읽을 수 있다, 읽을 수 있었다.
"""

from typing import NamedTuple

from regard.worlds.sentences.korean_morphology import (
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
    KoreanPredicate,
    KoreanTense,
    Particle,
    VerbForm,
    attach,
    conjugate,
)
from regard.worlds.sentences.lexicon import LOOSE, WEATHER, Expression
from regard.worlds.sentences.meaning import (
    Action,
    AnnotatedWord,
    Clause,
    Command,
    Coordinate,
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

DO = KoreanPredicate("하다", "verb")
BE_THERE = KoreanPredicate("있다", "verb")
NOT_BE_THERE = KoreanPredicate("없다", "verb")
BE_ALLOWED = KoreanPredicate("되다", "verb")
NOT_MANAGE = KoreanPredicate("못하다", "verb")
DO_NOT = KoreanPredicate("말다", "verb")
WANT = KoreanPredicate("싶다", "adjective")
NOT_BE = KoreanPredicate("아니다", "copula")
WILL_BE = KoreanPredicate("것이다", "copula")


class Chain(NamedTuple):
    """The finished words, and the predicate whose form is still open."""

    words: tuple[AnnotatedWord, ...]
    current: KoreanPredicate
    about: tuple[Key, ...]

    def then(
        self, form: VerbForm, following: KoreanPredicate, *about: Key, between: tuple[AnnotatedWord, ...] = ()
    ) -> "Chain":
        """The chain with the current predicate in the form, followed by another predicate."""
        finished, *others = conjugate(self.current, form).split()
        tail = (AnnotatedWord(text, about) for text in others)
        return Chain((*self.words, AnnotatedWord(finished, self.about, about), *tail, *between), following, about)


def predicate_words(clause: Clause, form: VerbForm, link: Key | None) -> list[AnnotatedWord]:
    """The words of the predicate, the last of them in the form that joins the clause to what follows."""
    chain = with_modality(clause, start_chain(clause))
    if form == "command" and clause.negated:
        chain = chain.then("not", DO_NOT, (clause, "not"))
    else:
        chain = with_negation(clause, chain)
    if clause.tense == "future" and form != "adnominal":
        chain = chain.then("prospective", WILL_BE, (clause, "tense"))
    if clause.tense == "future" and form == "adnominal":
        form = "prospective"
    tense: KoreanTense = "past" if clause.tense == "past" else "present"
    is_short = chain.current == WILL_BE and form == "question"  # 것이니 is shortened
    verb, *ending = ("거니" if is_short else conjugate(chain.current, form, tense)).split()
    joint = () if link is None else (link,)
    last = AnnotatedWord(verb, (*chain.about, (clause, "tense"), *(() if ending else joint)), joint if ending else ())
    return [*chain.words, last, *(AnnotatedWord(text, joint) for text in ending)]


def start_chain(clause: Clause) -> Chain:
    """The chain with nothing but the predicate's own word."""
    verb: Key = (clause, "verb")
    match clause.predicate:
        case QualityClause(adjective=adjective):
            return Chain((), KoreanPredicate(adjective.korean, "adjective"), (verb,))
        case Identity(noun=noun):
            about = ((noun, "noun"), verb)
            return Chain((), KoreanPredicate(noun.noun.korean + "이다", "copula"), about)
        case Location():
            return Chain((), BE_THERE, (verb,))
        case Action(verb=action) | ReportClause(verb=action) | Weather(verb=action):
            return Chain((), KoreanPredicate(action.korean, "verb"), (verb,))


def with_modality(clause: Clause, chain: Chain) -> Chain:
    """The chain with what is in progress, an obligation, an ability or a desire."""
    modality: Key = (clause, "modality")
    match clause.modality:
        case "plain":
            return chain
        case "progressive":
            # 앉아 있다: what goes on is the state that the action has led to
            is_settled = isinstance(clause.predicate, Action) and clause.predicate.verb.has("settled")
            return chain.then("infinitive" if is_settled else "and", BE_THERE, modality)
        case "must" if clause.negated:
            return prohibited(clause, chain)
        case "must":
            return chain._replace(about=(*chain.about, modality)).then("must", DO, modality)
        case "can":
            able = NOT_BE_THERE if clause.negated else BE_THERE
            about = (modality, (clause, "not")) if clause.negated else (modality,)
            return chain.then("prospective", able, *about, between=(AnnotatedWord("수", (modality,)),))
        case "want":
            return wanted(clause, chain)


def prohibited(clause: Clause, chain: Chain) -> Chain:
    """읽으면 안 된다: may not."""
    longer = chain.then("prohibited", BE_ALLOWED, (clause, "not"))
    return longer._replace(about=((clause, "modality"),))


def wanted(clause: Clause, chain: Chain) -> Chain:
    """읽고 싶다 of oneself and the one spoken to, 읽고 싶어 하다 of others."""
    modality: Key = (clause, "modality")
    desire = chain.then("and", WANT, modality)
    is_of_others = clause.subject is not None and clause.subject.person == "third"
    return desire.then("infinitive", DO, modality) if is_of_others else desire


def with_negation(clause: Clause, chain: Chain) -> Chain:
    """The chain with its negation, unless the modality has said it already."""
    if not clause.negated or clause.modality in ("must", "can"):
        return chain
    negation: Key = (clause, "not")
    if isinstance(clause.predicate, Identity):
        return Chain(chain.words, NOT_BE, (negation, (clause, "verb")))
    if isinstance(clause.predicate, Location):
        return chain._replace(current=NOT_BE_THERE, about=(*chain.about, negation))
    opposite = opposite_verb(clause)
    if opposite and clause.modality == "plain":
        return chain._replace(current=KoreanPredicate(opposite, "verb"), about=(*chain.about, negation))
    if isinstance(clause.predicate, Action) and clause.predicate.verb.has("fails"):
        return chain.then("not", NOT_MANAGE, negation)
    is_verb = chain.current.kind == "verb" and not chain.current.is_existence
    return chain.then("not", KoreanPredicate("않다", "verb" if is_verb else "adjective"), negation)


def opposite_verb(clause: Clause) -> str:
    """The Korean verb that means not to do this one, or an empty string."""
    if not isinstance(clause.predicate, Action):
        return ""
    traits = clause.predicate.verb.traits
    return next((trait.removeprefix("no:") for trait in traits if trait.startswith("no:")), "")


Ending = tuple[VerbForm, Key | None]  # the form of the verb, and the joining word that it expresses
STATEMENT: Ending = ("statement", None)
TOPICAL_GROUPS = ("pronoun", "name", "pointer", "kinship")


def in_korean(sentence: Sentence) -> list[AnnotatedWord]:
    """The words of the sentence, with a question mark where one belongs."""
    if isinstance(sentence, Command):
        return clause_words(sentence.clause, ("command", None), is_main=True)
    if not isinstance(sentence, Question):
        return statement_words(sentence, STATEMENT, is_main=True)
    words = clause_words(sentence.clause, ("question", None), is_main=True)
    words[-1] = words[-1]._replace(text=words[-1].text + "?")
    return words


def statement_words(statement: Statement, ending: Ending, *, is_main: bool) -> list[AnnotatedWord]:
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


def connecting_form(statement: Coordinate) -> VerbForm:
    """The form of the first of two statements; two acts of one subject share the time of the second."""
    is_shared = isinstance(statement.second, Clause) and statement.second.gap == "subject"
    return "and then" if is_shared and statement.connective == "and" else statement.connective


def clause_words(clause: Clause, ending: Ending, *, is_main: bool) -> list[AnnotatedWord]:
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


def subject_words(clause: Clause, *, is_main: bool) -> list[AnnotatedWord]:
    """The subject with 은/는 or 이/가; nothing where the noun outside a relative clause stands for it."""
    if isinstance(clause.predicate, Weather):
        return [AnnotatedWord(attach(WEATHER[clause.predicate.verb.english], SUBJECT), ((clause, "verb"),))]
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
    if isinstance(clause.predicate, QualityClause | Identity | ReportClause):
        return True
    return clause.negated or clause.modality in ("must", "can", "want") or is_known(subject)


def is_known(subject: NounPhrase) -> bool:
    """Whether the subject is known to all, or pointed at, or a kind as a whole."""
    is_pointed_at = subject.determiner.english in ("this", "that")
    return is_pointed_at or subject.is_general or any(map(subject.noun.is_in, TOPICAL_GROUPS))


# --- between subject and predicate -----------------------------------------------------------------------------------


def before_predicate(clause: Clause) -> list[AnnotatedWord]:
    """When, how often, with whom, where, with what, to whom, what, and how."""
    around = clause.around
    words = expression_words(clause, "time", around.time)
    words += expression_words(clause, "adverb", around.adverb)
    if around.company is not None:
        role: Key = (around.company, "role")
        words += [*noun_words(around.company, AND, role), AnnotatedWord("함께", (role,))]
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


def complement_words(clause: Clause) -> list[AnnotatedWord]:
    """The object, the thing compared with, the place to be at or what is reported."""
    match clause.predicate:
        case Action(object=NounPhrase() as target) if clause.gap != "object":
            return noun_words(target, OBJECT)
        case QualityClause() as quality:
            return quality_words(quality)
        case Identity(noun=noun):
            negated = [AnnotatedWord(attach(noun.noun.korean, SUBJECT), ((noun, "noun"),))]  # 학생이 아니다
            return [*describing_words(noun), *(negated if clause.negated else [])]
        case Location(place=place):
            return place_words(place, AT)
        case ReportClause(content=content) as report:
            return statement_words(content, ("quote", (report, "link")), is_main=False)
        case _:
            return []


def quality_words(quality: QualityClause) -> list[AnnotatedWord]:
    """What a quality is compared with, and its degree."""
    if quality.than is not None:
        return [*noun_words(quality.than, THAN, (quality, "than")), AnnotatedWord("더", ((quality, "degree"),))]
    if quality.alike is not None:
        return noun_words(quality.alike, AS_MUCH_AS, (quality, "than"))
    return expression_words(quality, "degree", quality.degree)


def place_words(place: PlacePhrase, particle: Particle) -> list[AnnotatedWord]:
    """The place with its particle, or with the part of space that is meant."""
    if place.relation is None:
        return noun_words(place.at, particle, (place.at, "role"))
    return [*noun_words(place.at, NO_PARTICLE), *expression_words(place, "relation", place.relation)]


def expression_words(node: object, facet: str, expression: Expression | None) -> list[AnnotatedWord]:
    """The words of a fixed phrase that plays a part in the node."""
    if expression is None:
        return []
    return [AnnotatedWord(text, ((node, facet + label.removeprefix(LOOSE)),)) for text, label in expression.korean]


# --- the noun --------------------------------------------------------------------------------------------------------


def noun_words(phrase: NounPhrase, particle: Particle, role: Key | None = None) -> list[AnnotatedWord]:
    """A noun phrase; its last word carries the particle, and with it the preposition that the particle expresses."""
    if phrase.joined is not None:
        first = own_words(phrase, AND, (phrase, "joined"))
        return [*first, *noun_words(phrase.joined, particle, role)]
    return own_words(phrase, particle, role)


def own_words(phrase: NounPhrase, particle: Particle, role: Key | None) -> list[AnnotatedWord]:
    """Relative clause, determiner or owner, adjective, noun, number and counter."""
    words = describing_words(phrase)
    is_marked = phrase.plural and phrase.number is None and marks_plural(phrase)
    words.append(AnnotatedWord(phrase.noun.korean + ("들" if is_marked else ""), ((phrase, "noun"),)))
    words += counting_words(phrase)
    last = words[-1]
    about = (*last.about, role) if role is not None else last.about
    words[-1] = AnnotatedWord(attach(last.text, particle), about, last.near)
    return words


def marks_plural(phrase: NounPhrase) -> bool:
    """Whether 들 is said: of people always, of animals unless the kind is meant, of things never."""
    return phrase.noun.is_in("person") or (phrase.noun.is_living and not phrase.is_general)


def describing_words(phrase: NounPhrase) -> list[AnnotatedWord]:
    """All that stands before the noun."""
    words: list[AnnotatedWord] = []
    if phrase.relative is not None:
        words += clause_words(phrase.relative, ("adnominal", (phrase.relative, "link")), is_main=False)
    if phrase.owner is not None:
        words += noun_words(phrase.owner, OF)
    elif phrase.determiner.korean:
        words.append(AnnotatedWord(phrase.determiner.korean, ((phrase, "determiner"),)))
    if phrase.adjective is not None:
        quality = KoreanPredicate(phrase.adjective.korean, "adjective")
        words.append(AnnotatedWord(conjugate(quality, "adnominal"), ((phrase, "adjective"),)))
    return words


def counting_words(phrase: NounPhrase) -> list[AnnotatedWord]:
    """The number and its counter, or the number and the measure."""
    if phrase.number is None:
        return []
    number = (phrase, "number")
    if phrase.measure is not None:
        return [
            AnnotatedWord(phrase.number.korean, (number,)),
            AnnotatedWord(phrase.measure.korean, ((phrase, "measure"),)),
        ]
    return [
        AnnotatedWord(phrase.number.korean, (number,)),
        AnnotatedWord(phrase.noun.counter, (number,), ((phrase, "noun"),)),
    ]

"""The end of a Korean clause: the verb, then what English says with auxiliaries, then the ending.

Each step takes the predicate so far, gives it the form that the next one asks for, and goes on with the next:
읽다, 읽을 수 있다, 읽을 수 있었다.
"""

from typing import NamedTuple

from regard.data.worlds.sentences.conjugation import Form, Predicate, Tense, conjugate
from regard.data.worlds.sentences.meaning import Action, Clause, Identity, Location, Quality, Report, Weather
from regard.data.worlds.sentences.pair import Key, Word

DO = Predicate("하다", "verb")
BE_THERE = Predicate("있다", "verb")
NOT_BE_THERE = Predicate("없다", "verb")
BE_ALLOWED = Predicate("되다", "verb")
NOT_MANAGE = Predicate("못하다", "verb")
WISH = Predicate("싶다", "adjective")
NOT_BE = Predicate("아니다", "copula")
WILL_BE = Predicate("것이다", "copula")


class Chain(NamedTuple):
    """The words that are finished, and the predicate that still waits for its form."""

    words: tuple[Word, ...]
    current: Predicate
    about: tuple[Key, ...]

    def then(self, form: Form, following: Predicate, *about: Key, between: tuple[Word, ...] = ()) -> "Chain":
        """The chain with the current predicate in the form, and the following one waiting."""
        finished, *others = conjugate(self.current, form).split()
        tail = (Word(text, about) for text in others)
        return Chain((*self.words, Word(finished, self.about, about), *tail, *between), following, about)


def predicate_words(clause: Clause, form: Form, link: Key | None) -> list[Word]:
    """The words of the predicate, the last of them in the form that joins the clause to what follows."""
    chain = with_negation(clause, with_modality(clause, start(clause)))
    if clause.tense == "future" and form != "adnominal":
        chain = chain.then("prospective", WILL_BE, (clause, "tense"))
    if clause.tense == "future" and form == "adnominal":
        form = "prospective"
    tense: Tense = "past" if clause.tense == "past" else "present"
    verb, *ending = spell(chain.current, form, tense).split()
    joint = () if link is None else (link,)
    last = Word(verb, (*chain.about, (clause, "tense"), *(() if ending else joint)), joint if ending else ())
    return [*chain.words, last, *(Word(text, joint) for text in ending)]


def spell(predicate: Predicate, form: Form, tense: Tense) -> str:
    """The form, with 것이니 shortened to 거니, as it is said."""
    if predicate == WILL_BE and form == "question":
        return "거니"
    return conjugate(predicate, form, tense)


def start(clause: Clause) -> Chain:
    """The chain with nothing but the predicate's own word."""
    verb: Key = (clause, "verb")
    match clause.predicate:
        case Quality(adjective=adjective):
            return Chain((), Predicate(adjective.korean, "adjective"), (verb,))
        case Identity(noun=noun):
            about = ((noun, "noun"), verb)
            return Chain((), Predicate(noun.noun.korean + "이다", "copula"), about)
        case Location():
            return Chain((), BE_THERE, (verb,))
        case Action(verb=action) | Report(verb=action) | Weather(verb=action):
            return Chain((), Predicate(action.korean, "verb"), (verb,))


def with_modality(clause: Clause, chain: Chain) -> Chain:
    """The chain with what is in progress, a duty, an ability or a wish."""
    modality: Key = (clause, "modality")
    match clause.modality:
        case "plain":
            return chain
        case "progressive":
            return chain.then("infinitive" if is_settled(clause) else "and", BE_THERE, modality)
        case "must" if clause.negated:
            return prohibited(clause, chain)
        case "must":
            return chain._replace(about=(*chain.about, modality)).then("must", DO, modality)
        case "can":
            able = NOT_BE_THERE if clause.negated else BE_THERE
            about = (modality, (clause, "not")) if clause.negated else (modality,)
            return chain.then("prospective", able, *about, between=(Word("수", (modality,)),))
        case "want":
            return wished(clause, chain)


def is_settled(clause: Clause) -> bool:
    """Whether what goes on is the state that the action has led to: 앉아 있다."""
    return isinstance(clause.predicate, Action) and clause.predicate.verb.has("settled")


def prohibited(clause: Clause, chain: Chain) -> Chain:
    """읽으면 안 된다: may not."""
    longer = chain.then("prohibited", BE_ALLOWED, (clause, "not"))
    return longer._replace(about=((clause, "modality"),))


def wished(clause: Clause, chain: Chain) -> Chain:
    """읽고 싶다 of oneself and the one spoken to, 읽고 싶어 하다 of others."""
    modality: Key = (clause, "modality")
    wish = chain.then("and", WISH, modality)
    is_of_others = clause.subject is not None and clause.subject.person == "third"
    return wish.then("infinitive", DO, modality) if is_of_others else wish


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
        return chain._replace(current=Predicate(opposite, "verb"), about=(*chain.about, negation))
    if isinstance(clause.predicate, Action) and clause.predicate.verb.has("fails"):
        return chain.then("not", NOT_MANAGE, negation)
    is_verb = chain.current.kind == "verb" and not chain.current.is_existence
    return chain.then("not", Predicate("않다", "verb" if is_verb else "adjective"), negation)


def opposite_verb(clause: Clause) -> str:
    """The Korean verb that means not to do this one, or an empty string."""
    if not isinstance(clause.predicate, Action):
        return ""
    traits = clause.predicate.verb.traits
    return next((trait.removeprefix("no:") for trait in traits if trait.startswith("no:")), "")

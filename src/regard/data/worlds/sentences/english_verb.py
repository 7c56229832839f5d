"""The English verb with its auxiliaries: does not read, is reading, will read, had to read."""

from typing import Literal

from regard.data.worlds.sentences.inflection import participle, past, third_person
from regard.data.worlds.sentences.meaning import Clause, Identity, Location, Quality
from regard.data.worlds.sentences.pair import Key, Word

Shape = Literal["base", "present", "past", "participle", "none"]
MODALS = {("must", "present"): ["must"], ("can", "present"): ["can"], ("can", "past"): ["could"]}


def verb_words(clause: Clause, *, inverted: bool = False) -> tuple[list[Word], list[Word]]:
    """The auxiliaries of the clause, `not` among them, and the words of its verb."""
    if clause.modality == "can" and clause.negated and clause.tense == "present":
        cannot = Word("cannot", ((clause, "modality"), (clause, "not"), (clause, "tense")))
        return [cannot], head_words(clause, "base")
    auxiliaries, shape = auxiliary_words(clause, needs_support=inverted or clause.negated)
    if clause.negated:
        auxiliaries.insert(1, Word("not", ((clause, "not"),)))
    return auxiliaries, head_words(clause, shape)


def auxiliary_words(clause: Clause, *, needs_support: bool) -> tuple[list[Word], Shape]:
    """The auxiliaries, and the shape of the verb that follows them."""
    tense: Key = (clause, "tense")
    modal = MODALS.get((clause.modality, clause.tense))
    if modal:
        return [Word(text, ((clause, "modality"), tense)) for text in modal], "base"
    if clause.tense == "future":
        return [Word("will", (tense,))], "base"
    if clause.modality == "must":
        return [], "past"
    is_copular = isinstance(clause.predicate, Quality | Identity | Location)
    if is_copular:
        return [Word(form_of_be(clause), (tense,))], "none"
    if clause.modality == "progressive":
        return [Word(form_of_be(clause), (tense, (clause, "modality")))], "participle"
    if needs_support:
        return [Word(form_of_do(clause), (tense,))], "base"
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


def form_of_do(clause: Clause) -> str:
    """do, does or did."""
    if clause.tense == "past":
        return "did"
    return "does" if clause.subject is None or clause.subject.is_third_singular else "do"


def head_words(clause: Clause, shape: Shape) -> list[Word]:
    """The verb itself; wanting and having to come before it."""
    verb: Key = (clause, "verb")
    modality: Key = (clause, "modality")
    if clause.modality == "want":
        wanting = Word(inflect("want", "wanted", clause, shape), (modality,))
        return [wanting, Word("to", (), (modality, verb)), *lexical_words(clause, "base")]
    if clause.modality == "must" and clause.tense == "past":
        had = Word("had", (modality, (clause, "tense")))
        return [had, Word("to", (), (modality, verb)), *lexical_words(clause, "base")]
    return lexical_words(clause, shape)


def lexical_words(clause: Clause, shape: Shape) -> list[Word]:
    """The words of the verb in the lexicon; only the first is inflected (picks up)."""
    predicate = clause.predicate
    if isinstance(predicate, Quality | Identity | Location):
        return [Word("be", ((clause, "tense"),))] if shape == "base" else []
    first, *others = predicate.verb.english.split()
    inflected = inflect(first, past(predicate.verb), clause, shape)
    return [Word(text, ((clause, "verb"),)) for text in (inflected, *others)]


def inflect(base: str, past_form: str, clause: Clause, shape: Shape) -> str:
    """The verb in the shape that its auxiliaries ask for."""
    if shape == "past":
        return past_form
    if shape == "participle":
        return participle(base)
    if shape == "present" and (clause.subject is None or clause.subject.is_third_singular):
        return third_person(base)
    return base

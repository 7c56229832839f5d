"""The part of speech and the role of each word, from the part of the meaning that it expresses.

Parts of speech are universal tags (Petrov et al., 2012). The role is that of the word's phrase in its own clause, so
"the" is a subject or an object as its noun is; a word that joins clauses or phrases is a link. Both languages share the
roles: a Korean adjective and an English one with its verb "to be" are predicates.
"""

from collections.abc import Iterator, Sequence

from regard.worlds.sentences.meaning import (
    Action,
    AnnotatedWord,
    Clause,
    Command,
    Coordinate,
    Identity,
    Location,
    NounPhrase,
    QualityClause,
    Question,
    ReportClause,
    Sentence,
    Subordinate,
    WordLabels,
)


def label_words(sentence: Sentence, words: Sequence[AnnotatedWord]) -> tuple[WordLabels, ...]:
    """The labels of the words that express the sentence in one language."""
    roles = dict(phrase_roles(sentence))
    return tuple(WordLabels(part_of_speech(word), role_of(word, roles)) for word in words)


# --- roles -----------------------------------------------------------------------------------------------------------

FACET_ROLES = {
    "time": "time",
    "manner": "manner",
    "adverb": "adverbial",
    "relation": "place",
    "link": "link",
    "joined": "link",
    "than": "comparison",
}


def role_of(word: AnnotatedWord, roles: dict[NounPhrase, str]) -> str:
    """The role of a word: that of its facet or of its noun phrase; all else belongs to the predicate."""
    node, facet = (word.about or word.near)[0]
    if (name := facet.rstrip("0123456789")) in FACET_ROLES:
        return FACET_ROLES[name]
    return roles[node] if isinstance(node, NounPhrase) else "predicate"


def phrase_roles(sentence: Sentence) -> Iterator[tuple[NounPhrase, str]]:
    """Every noun phrase of the sentence with its role."""
    match sentence:
        case Question(clause=clause) | Command(clause=clause):
            yield from phrase_roles(clause)
        case Subordinate(main=first, statement=second) | Coordinate(first=first, second=second):
            yield from phrase_roles(first)
            yield from phrase_roles(second)
        case Clause():
            for phrase, role in direct_phrases(sentence):
                yield from nested_roles(phrase, role)
            if isinstance(sentence.predicate, ReportClause):
                yield from phrase_roles(sentence.predicate.content)


def direct_phrases(clause: Clause) -> Iterator[tuple[NounPhrase | None, str]]:
    """The noun phrases that the clause itself has."""
    around = clause.around
    yield clause.subject, "subject"
    match clause.predicate:
        case Action(object=target):
            yield target, "object"
        case QualityClause(than=than, alike=alike):
            yield than or alike, "comparison"
        case Identity(noun=noun):
            yield noun, "predicate"
        case Location(place=place):
            yield place.at, "place"
    yield around.receiver, "receiver"
    yield around.company, "company"
    yield around.tool, "tool"
    yield None if around.place is None else around.place.at, "place"


def nested_roles(phrase: NounPhrase | None, role: str) -> Iterator[tuple[NounPhrase, str]]:
    """The phrase, its owner, the phrase joined to it, and those of its relative clause."""
    if phrase is None:
        return
    yield phrase, role
    yield from nested_roles(phrase.owner, "owner")
    yield from nested_roles(phrase.joined, role)
    if phrase.relative is not None:
        yield from phrase_roles(phrase.relative)


# --- parts of speech -------------------------------------------------------------------------------------------------

FACET_TAGS = {
    "adjective": "ADJ",
    "determiner": "DET",
    "number": "NUM",
    "measure": "NOUN",
    "joined": "CCONJ",
    "role": "ADP",
    "than": "ADP",
    "degree": "ADV",
    "tense": "AUX",
    "modality": "AUX",
    "not": "AUX",
    "manner": "ADV",
    "adverb": "ADV",
    "time": "NOUN",
    "relation": "NOUN",
}
NEAR_TAGS = {"noun": "DET", "time": "DET", "measure": "ADP", "modality": "PART", "verb": "PRON", "than": "ADV"}
WORD_TAGS = {  # of words that differ from others of their facet
    "ADP": "time: in on at for; relation: in on under behind beside front of; verb: up on off at for of to",
    "ADV": "number: how; role: 함께; not: 안; time: yesterday today tomorrow soon now o'clock 매일 매주 요즘 어제 오늘 "
    "내일 곧 지금",
    "ADJ": "number: many; time: last next",
    "DET": "time: every these",
    "NOUN": "modality: 수; verb: care 비가 눈이",
    "NUM": "time: one two three four five six seven eight nine ten eleven twelve 한 두 세 네 다섯 여섯 일곱 여덟 아홉 "
    "열 열한 열두",
    "PART": "not: not",
    "PROPN": "time: monday tuesday wednesday thursday friday saturday sunday",
    "VERB": "modality: want wants wanted",
}
EXCEPTIONS = {
    (facet.strip(), text): tag
    for tag, table in WORD_TAGS.items()
    for facet, _, texts in (entry.partition(":") for entry in table.split(";"))
    for text in texts.split()
}
GROUP_TAGS = {"name": "PROPN", "town": "PROPN", "pronoun": "PRON", "pointer": "PRON", "question": "PRON"}


def part_of_speech(word: AnnotatedWord) -> str:
    """The universal tag of a word."""
    node, facet = (word.about or word.near)[0]
    name, text = facet.rstrip("0123456789"), word.text.lower().removesuffix("?")
    if not word.about:
        return NEAR_TAGS[name]
    if (name, text) in EXCEPTIONS:
        return EXCEPTIONS[name, text]
    match name, node:
        case "noun", NounPhrase(noun=noun):
            return next((tag for group, tag in GROUP_TAGS.items() if group in noun.groups), "NOUN")
        case "number", _ if word.near:
            return "NOUN"  # a Korean counter
        case "verb", Clause(predicate=predicate):
            return "ADJ" if isinstance(predicate, QualityClause) else "VERB"
        case "link", Coordinate():
            return "CCONJ"
        case "link", Clause():
            return "PRON"  # of a relative clause
        case "link", _:
            return "SCONJ"
    return FACET_TAGS[name]

"""Meanings built by hand, and what both languages make of them, word for word."""

from dataclasses import replace

import pytest

from regard.worlds.sentences import format_links
from regard.worlds.sentences.english import in_english
from regard.worlds.sentences.korean import in_korean
from regard.worlds.sentences.lexicon import (
    ADJECTIVES,
    BARE,
    HE,
    NOUNS,
    NUMERALS,
    RAIN,
    RELATIONS,
    SAY,
    THE,
    THE_KNOWN,
    TIMES,
    VERBS,
    WHY,
    YOU,
    A,
    I,
)
from regard.worlds.sentences.meaning import (
    Action,
    Circumstances,
    Clause,
    Coordinate,
    Identity,
    Location,
    NounPhrase,
    PlacePhrase,
    QualityClause,
    Question,
    ReportClause,
    Sentence,
    Subordinate,
    Weather,
    make_pair,
)

NOUN = {noun.english: noun for noun in NOUNS}
VERB = {verb.english: verb for verb in reversed(VERBS)}
ADJECTIVE = {adjective.english: adjective for adjective in ADJECTIVES}


def the(noun: str) -> NounPhrase:
    return NounPhrase(NOUN[noun], THE)


def a(noun: str) -> NounPhrase:
    return NounPhrase(NOUN[noun], A)


def bare(noun: str, *, plural: bool = False) -> NounPhrase:
    return NounPhrase(NOUN[noun], BARE, plural=plural)


def me() -> NounPhrase:
    return NounPhrase(I, BARE)


def reads() -> Clause:
    return Clause(the("boy"), Action(VERB["read"], a("book")))


def reader() -> NounPhrase:
    return replace(the("boy"), relative=replace(reads(), gap="subject"))


SENTENCES: list[tuple[Sentence, str, str, str]] = [
    (
        Clause(bare("AI"), Action(VERB["change"], the("world"))),
        "AI changes the world",
        "AI가 세상을 바꾼다",
        "0-0 1-2 2p1 3-1",
    ),
    (
        Clause(bare("robot", plural=True), Action(VERB["obey"], bare("order", plural=True)), modality="must"),
        "Robots must obey orders",
        "로봇은 명령을 따라야 한다",
        "0-0 1-2 1-3 2-2 3-1",
    ),
    (reads(), "The boy reads a book", "소년이 책을 읽는다", "0p0 1-0 2-2 3p1 4-1"),
    (
        Clause(reader(), Action(VERB["drink"], bare("milk"))),
        "The boy who reads a book drinks milk",
        "책을 읽는 소년이 우유를 마신다",
        "0p2 1-2 2-1 3-1 4p0 5-0 6-4 7-3",
    ),
    (
        replace(reads(), negated=True, tense="past"),
        "The boy did not read a book",
        "소년은 책을 읽지 않았다",
        "0p0 1-0 2-3 3p2 3-3 4-2 5p1 6-1",
    ),
    (
        replace(reads(), negated=True, modality="can"),
        "The boy cannot read a book",
        "소년은 책을 읽을 수 없다",
        "0p0 1-0 2p2 2-3 2-4 3-2 4p1 5-1",
    ),
    (
        replace(reads(), negated=True, modality="must"),
        "The boy must not read a book",
        "소년은 책을 읽으면 안 된다",
        "0p0 1-0 2-4 3p2 3-3 4-2 5p1 6-1",
    ),
    (
        replace(reads(), tense="future"),
        "The boy will read a book",
        "소년이 책을 읽을 것이다",
        "0p0 1-0 2p2 2-3 3-2 4p1 5-1",
    ),
    (
        replace(reads(), modality="want"),
        "The boy wants to read a book",
        "소년은 책을 읽고 싶어 한다",
        "0p0 1-0 2p2 2-3 2-4 3p2 3p3 3p4 4-2 5p1 6-1",
    ),
    (
        Question(replace(reads(), modality="progressive"), "whether"),
        "Is the boy reading a book?",
        "소년이 책을 읽고 있니?",
        "0p2 0-3 1p0 2-0 3-2 4p1 5-1",
    ),
    (
        Question(Clause(the("girl"), Action(VERB["cry"]), "past", around=Circumstances(adverb=WHY)), "why"),
        "Why did the girl cry?",
        "소녀가 왜 울었니?",
        "0-1 1-2 2p0 3-0 4-2",
    ),
    (
        Clause(bare("Minsu"), Action(VERB["buy"], replace(bare("apple", plural=True), number=NUMERALS[2])), "past"),
        "Minsu bought three apples",
        "민수는 사과 세 개를 샀다",
        "0-0 1-4 2-2 2-3 3-1 3p3",
    ),
    (
        Clause(the("car"), QualityClause(ADJECTIVE["big"], than=the("house"))),
        "The car is bigger than the house",
        "자동차는 집보다 더 크다",
        "0p0 1-0 2-3 3-2 3-3 4-1 5p1 6-1",
    ),
    (
        Clause(replace(bare("book"), owner=bare("Minsu")), QualityClause(ADJECTIVE["interesting"])),
        "Minsu's book is interesting",
        "민수의 책은 재미있다",
        "0-0 1-1 2-2 3-2",
    ),
    (
        Clause(me(), Identity(a("doctor")), negated=True),
        "I am not a doctor",
        "나는 의사가 아니다",
        "0-0 1-2 2-2 3p1 4-1",
    ),
    (
        Clause(a("cat"), Location(PlacePhrase("", the("table"), RELATIONS[1]), introduces=True)),
        "There is a cat under the table",
        "탁자 아래에 고양이가 있다",
        "0p3 1-3 2p2 3-2 4-1 5p0 6-0",
    ),
    (
        Subordinate(Clause(me(), Action(VERB["sleep"]), "past"), "because", Clause(None, Weather(RAIN), "past")),
        "I slept because it rained",
        "비가 왔기 때문에 나는 잤다",
        "0-3 1-4 2p1 2-2 3p0 3p1 4-0 4-1",
    ),
    (
        Subordinate(reads(), "when", Clause(me(), Action(VERB["walk"]))),
        "The boy reads a book when I walk",
        "내가 걸을 때 소년이 책을 읽는다",
        "0p3 1-3 2-5 3p4 4-4 5p1 5-2 6-0 7-1",
    ),
    (
        Clause(NounPhrase(HE, BARE), ReportClause(SAY, Clause(me(), Action(VERB["help"], bare("Tom"))))),
        "He says that I help Tom",
        "그는 내가 톰을 돕는다고 말한다",
        "0-0 1-4 2-3 3-1 4-3 5-2",
    ),
    (
        Coordinate(
            Clause(me(), Action(VERB["know"], the("answer"))),
            "but",
            Clause(NounPhrase(YOU, BARE), Action(VERB["know"], the("answer")), negated=True),
        ),
        "I know the answer but you do not know the answer",
        "나는 답을 알지만 너는 답을 모른다",
        "0-0 1-2 2p1 3-1 4-2 5-3 6-5 7-5 8-5 9p4 10-4",
    ),
    (
        Clause(
            me(),
            Action(VERB["go"]),
            "past",
            around=Circumstances(place=PlacePhrase("to", the("school")), tool=bare("bus"), time=TIMES["past"][0]),
        ),
        "I went to the school by bus yesterday",
        "나는 어제 버스로 학교에 갔다",
        "0-0 1-4 2-3 3p3 4-3 5-2 6-2 7-1",
    ),
    (
        Clause(
            the("teacher"),
            Action(VERB["give"], NounPhrase(NOUN["book"], THE_KNOWN)),
            around=Circumstances(receiver=the("girl")),
        ),
        "The teacher gives the book to the girl",
        "선생님이 소녀에게 그 책을 준다",
        "0p0 1-0 2-4 3-2 4-3 5-1 6p1 7-1",
    ),
]


@pytest.mark.parametrize(("sentence", "english", "korean", "links"), SENTENCES, ids=[row[1] for row in SENTENCES])
def test_meaning_is_realised_and_linked_as_by_hand(sentence: Sentence, english: str, korean: str, links: str) -> None:
    pair = make_pair(in_english(sentence), in_korean(sentence), "")
    assert (pair.source, pair.target) == (english, korean)
    assert format_links(pair) == links

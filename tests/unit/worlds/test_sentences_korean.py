"""Particles and conjugation, held against forms written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.worlds.sentences.korean_morphology import (
    AND,
    BY,
    FINALS,
    LEADS,
    OBJECT,
    SUBJECT,
    TOPIC,
    VOWELS,
    KoreanPredicate,
    attach,
    conjugate,
    join_syllable,
    last_final,
    split_syllable,
)
from regard.worlds.sentences.lexicon import ADJECTIVES, NOUNS, PRONOUNS, VERBS

PARTICLES = [
    ("소년", TOPIC, "소년은"), ("소녀", TOPIC, "소녀는"), ("AI", TOPIC, "AI는"), ("AI", SUBJECT, "AI가"),
    ("책", SUBJECT, "책이"), ("의사", SUBJECT, "의사가"), ("나", SUBJECT, "내가"), ("너", SUBJECT, "네가"),
    ("누구", SUBJECT, "누가"), ("나", TOPIC, "나는"), ("사과", OBJECT, "사과를"), ("빵", OBJECT, "빵을"),
    ("빵", AND, "빵과"), ("우유", AND, "우유와"), ("버스", BY, "버스로"), ("연필", BY, "연필로"), ("칼", BY, "칼로"),
    ("펜", BY, "펜으로"), ("서울", BY, "서울로"), ("서울", OBJECT, "서울을"), ("GPS", SUBJECT, "GPS가"),
    ("URL", OBJECT, "URL을"), ("PDF", OBJECT, "PDF를"), ("KTX", BY, "KTX로"), ("ATM", SUBJECT, "ATM이"),
    ("URL", BY, "URL로"),
]  # fmt: skip

# dictionary form: statement, past, question, adnominal now and before, if, when, because, must
VERB_FORMS = """
먹다     먹는다   먹었다   먹니   먹는   먹은   먹으면   먹을 때   먹기 때문에   먹어야
읽다     읽는다   읽었다   읽니   읽는   읽은   읽으면   읽을 때   읽기 때문에   읽어야
가다     간다     갔다     가니   가는   간     가면     갈 때     가기 때문에   가야
오다     온다     왔다     오니   오는   온     오면     올 때     오기 때문에   와야
보다     본다     봤다     보니   보는   본     보면     볼 때     보기 때문에   봐야
마시다   마신다   마셨다   마시니 마시는 마신   마시면   마실 때   마시기 때문에 마셔야
배우다   배운다   배웠다   배우니 배우는 배운   배우면   배울 때   배우기 때문에 배워야
바꾸다   바꾼다   바꿨다   바꾸니 바꾸는 바꾼   바꾸면   바꿀 때   바꾸기 때문에 바꿔야
주다     준다     줬다     주니   주는   준     주면     줄 때     주기 때문에   줘야
보내다   보낸다   보냈다   보내니 보내는 보낸   보내면   보낼 때   보내기 때문에 보내야
켜다     켠다     켰다     켜니   켜는   켠     켜면     켤 때     켜기 때문에   켜야
쉬다     쉰다     쉬었다   쉬니   쉬는   쉰     쉬면     쉴 때     쉬기 때문에   쉬어야
공부하다 공부한다 공부했다 공부하니 공부하는 공부한 공부하면 공부할 때 공부하기 때문에 공부해야
잡다     잡는다   잡았다   잡니   잡는   잡은   잡으면   잡을 때   잡기 때문에   잡아야
닫다     닫는다   닫았다   닫니   닫는   닫은   닫으면   닫을 때   닫기 때문에   닫아야
웃다     웃는다   웃었다   웃니   웃는   웃은   웃으면   웃을 때   웃기 때문에   웃어야
앉다     앉는다   앉았다   앉니   앉는   앉은   앉으면   앉을 때   앉기 때문에   앉아야
만들다   만든다   만들었다 만드니 만드는 만든   만들면   만들 때   만들기 때문에 만들어야
팔다     판다     팔았다   파니   파는   판     팔면     팔 때     팔기 때문에   팔아야
살다     산다     살았다   사니   사는   산     살면     살 때     살기 때문에   살아야
울다     운다     울었다   우니   우는   운     울면     울 때     울기 때문에   울어야
듣다     듣는다   들었다   듣니   듣는   들은   들으면   들을 때   듣기 때문에   들어야
걷다     걷는다   걸었다   걷니   걷는   걸은   걸으면   걸을 때   걷기 때문에   걸어야
돕다     돕는다   도왔다   돕니   돕는   도운   도우면   도울 때   돕기 때문에   도와야
굽다     굽는다   구웠다   굽니   굽는   구운   구우면   구울 때   굽기 때문에   구워야
줍다     줍는다   주웠다   줍니   줍는   주운   주우면   주울 때   줍기 때문에   주워야
짓다     짓는다   지었다   짓니   짓는   지은   지으면   지을 때   짓기 때문에   지어야
씻다     씻는다   씻었다   씻니   씻는   씻은   씻으면   씻을 때   씻기 때문에   씻어야
부르다   부른다   불렀다   부르니 부르는 부른   부르면   부를 때   부르기 때문에 불러야
고르다   고른다   골랐다   고르니 고르는 고른   고르면   고를 때   고르기 때문에 골라야
모르다   모른다   몰랐다   모르니 모르는 모른   모르면   모를 때   모르기 때문에 몰라야
따르다   따른다   따랐다   따르니 따르는 따른   따르면   따를 때   따르기 때문에 따라야
쓰다     쓴다     썼다     쓰니   쓰는   쓴     쓰면     쓸 때     쓰기 때문에   써야
끄다     끈다     껐다     끄니   끄는   끈     끄면     끌 때     끄기 때문에   꺼야
"""

# dictionary form: statement, past, question, adnominal, if, when, because
ADJECTIVE_FORMS = """
크다     크다     컸다       크니     큰       크면       클 때       크기 때문에
작다     작다     작았다     작니     작은     작으면     작을 때     작기 때문에
좋다     좋다     좋았다     좋니     좋은     좋으면     좋을 때     좋기 때문에
길다     길다     길었다     기니     긴       길면       길 때       길기 때문에
달다     달다     달았다     다니     단       달면       달 때       달기 때문에
예쁘다   예쁘다   예뻤다     예쁘니   예쁜     예쁘면     예쁠 때     예쁘기 때문에
바쁘다   바쁘다   바빴다     바쁘니   바쁜     바쁘면     바쁠 때     바쁘기 때문에
아프다   아프다   아팠다     아프니   아픈     아프면     아플 때     아프기 때문에
빠르다   빠르다   빨랐다     빠르니   빠른     빠르면     빠를 때     빠르기 때문에
게으르다 게으르다 게을렀다   게으르니 게으른   게으르면   게으를 때   게으르기 때문에
아름답다 아름답다 아름다웠다 아름답니 아름다운 아름다우면 아름다울 때 아름답기 때문에
무겁다   무겁다   무거웠다   무겁니   무거운   무거우면   무거울 때   무겁기 때문에
쉽다     쉽다     쉬웠다     쉽니     쉬운     쉬우면     쉬울 때     쉽기 때문에
좁다     좁다     좁았다     좁니     좁은     좁으면     좁을 때     좁기 때문에
하얗다   하얗다   하얬다     하얗니   하얀     하야면     하얄 때     하얗기 때문에
빨갛다   빨갛다   빨갰다     빨갛니   빨간     빨가면     빨갈 때     빨갛기 때문에
재미있다 재미있다 재미있었다 재미있니 재미있는 재미있으면 재미있을 때 재미있기 때문에
친절하다 친절하다 친절했다   친절하니 친절한   친절하면   친절할 때   친절하기 때문에
높다     높다     높았다     높니     높은     높으면     높을 때     높기 때문에
젊다     젊다     젊었다     젊니     젊은     젊으면     젊을 때     젊기 때문에
비싸다   비싸다   비쌌다     비싸니   비싼     비싸면     비쌀 때     비싸기 때문에
느리다   느리다   느렸다     느리니   느린     느리면     느릴 때     느리기 때문에
"""

OTHER_FORMS = [
    ("학생이다", "copula", "statement", "present", "학생이다"),
    ("의사이다", "copula", "statement", "present", "의사다"),
    ("학생이다", "copula", "statement", "past", "학생이었다"), ("의사이다", "copula", "statement", "past", "의사였다"),
    ("학생이다", "copula", "question", "present", "학생이니"), ("의사이다", "copula", "question", "present", "의사니"),
    ("의사이다", "copula", "because", "present", "의사이기 때문에"),
    ("의사이다", "copula", "because", "past", "의사였기 때문에"),
    ("학생이다", "copula", "when", "past", "학생이었을 때"), ("학생이다", "copula", "quote", "present", "학생이라고"),
    ("의사이다", "copula", "quote", "present", "의사라고"), ("아니다", "copula", "statement", "past", "아니었다"),
    ("아니다", "copula", "because", "present", "아니기 때문에"), ("것이다", "copula", "but", "present", "것이지만"),
    ("읽다", "verb", "when", "past", "읽었을 때"), ("읽다", "verb", "because", "past", "읽었기 때문에"),
    ("읽다", "verb", "quote", "past", "읽었다고"), ("만들다", "verb", "quote", "present", "만든다고"),
    ("만들다", "verb", "prospective", "present", "만들"), ("만들다", "verb", "prohibited", "present", "만들면 안"),
    ("돕다", "verb", "after", "past", "도운 후에"), ("짓다", "verb", "before", "past", "짓기 전에"),
    ("읽다", "verb", "and", "past", "읽었고"), ("읽다", "verb", "and then", "past", "읽고"),
    ("읽다", "verb", "but", "past", "읽었지만"), ("알다", "verb", "not", "present", "알지"),
    ("있다", "verb", "statement", "present", "있다"), ("있다", "verb", "adnominal", "present", "있는"),
    ("않다", "verb", "statement", "present", "않는다"), ("않다", "adjective", "statement", "present", "않다"),
    ("않다", "verb", "adnominal", "present", "않는"), ("싶다", "adjective", "infinitive", "present", "싶어"),
    ("없다", "verb", "statement", "past", "없었다"), ("행복하다", "adjective", "adnominal", "past", "행복했던"),
]  # fmt: skip


def fields(table: str) -> list[list[str]]:
    """The rows of a table; the ending `때` or `때문에` belongs to the form before it."""
    lines = table.strip().splitlines()
    return [line.replace(" 때", "_때").split() for line in lines]


@pytest.mark.parametrize(("word", "particle", "expected"), PARTICLES)
def test_particle_takes_the_form_of_pronunciation(word: str, particle: tuple[str, str], expected: str) -> None:
    assert attach(word, particle) == expected


@given(st.sampled_from([noun.korean for noun in (*NOUNS, *PRONOUNS)]), st.sampled_from([TOPIC, SUBJECT, OBJECT, AND]))
def test_every_noun_takes_particle_of_its_final_sound(word: str, particle: tuple[str, str]) -> None:
    contracted = {"내가", "네가"}
    attached = attach(word, particle)
    expected = word + particle[0 if last_final(word) else 1]
    assert attached == expected or attached in contracted


@given(st.characters(min_codepoint=ord("가"), max_codepoint=ord("힣")))
def test_decomposed_and_composed_syllable_is_itself(syllable: str) -> None:
    lead, vowel, final = split_syllable(syllable)
    assert lead in LEADS
    assert vowel in VOWELS
    assert final in FINALS
    assert join_syllable(lead, vowel, final) == syllable


@pytest.mark.parametrize("row", fields(VERB_FORMS), ids=lambda row: row[0])
def test_verbs_conjugate_as_written_by_hand(row: list[str]) -> None:
    verb = KoreanPredicate(row[0], "verb")
    forms = [
        conjugate(verb, "statement"), conjugate(verb, "statement", "past"), conjugate(verb, "question"),
        conjugate(verb, "adnominal"), conjugate(verb, "adnominal", "past"), conjugate(verb, "if"),
        conjugate(verb, "when"), conjugate(verb, "because"), conjugate(verb, "must"),
    ]  # fmt: skip
    assert [form.replace(" ", "_") for form in forms] == row[1:]


@pytest.mark.parametrize("row", fields(ADJECTIVE_FORMS), ids=lambda row: row[0])
def test_adjectives_conjugate_as_written_by_hand(row: list[str]) -> None:
    adjective = KoreanPredicate(row[0], "adjective")
    forms = [
        conjugate(adjective, "statement"), conjugate(adjective, "statement", "past"), conjugate(adjective, "question"),
        conjugate(adjective, "adnominal"), conjugate(adjective, "if"), conjugate(adjective, "when"),
        conjugate(adjective, "because"),
    ]  # fmt: skip
    assert [form.replace(" ", "_") for form in forms] == row[1:]


@pytest.mark.parametrize(("dictionary", "kind", "form", "tense", "expected"), OTHER_FORMS)
def test_other_predicates_and_endings_equal_handwritten_ones(
    dictionary: str, kind: str, form: str, tense: str, expected: str
) -> None:
    assert conjugate(KoreanPredicate(dictionary, kind), form, tense) == expected  # type: ignore[arg-type]


def test_no_two_nouns_share_a_korean_word() -> None:
    words = [noun.korean for noun in (*NOUNS, *PRONOUNS)]
    assert sorted(words) == sorted(set(words))


def test_every_predicate_is_in_dictionary_form() -> None:
    for word in (*VERBS, *ADJECTIVES):
        assert word.korean.endswith("다"), word.english
        assert len(word.korean) > 1

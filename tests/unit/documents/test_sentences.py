"""Sentences: nothing is lost or changed, and ends are found where a reader would find them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.sentences import split_at_clauses, split_long_sentence, split_sentences
from tests.support.hostile_files import bounded

TRICKY = st.text(st.sampled_from('aZ가다요. .!?…。」』"”) \n\t\r1３,Mr  ')) | st.text()


def sentences(text: str, *, break_at_newlines: bool = True) -> list[str]:
    return [part.text for part in split_sentences(text, break_at_newlines=break_at_newlines) if part.is_sentence]


@given(text=TRICKY, break_at_newlines=st.booleans())
def test_the_parts_of_any_text_are_the_text(text: str, break_at_newlines: bool) -> None:
    assert "".join(part.text for part in split_sentences(text, break_at_newlines=break_at_newlines)) == text


@given(text=TRICKY)
def test_between_sentences_there_is_white_space_alone(text: str) -> None:
    for part in split_sentences(text):
        assert part.text.isspace() is not part.is_sentence
        assert part.text == part.text.strip() or not part.is_sentence


@given(text=TRICKY)
def test_no_sentence_contains_a_newline(text: str) -> None:
    assert not any("\n" in sentence for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("안녕하세요. 저는 학생이에요.", ["안녕하세요.", "저는 학생이에요."]),
        ("비가 온다. 그래서 집에 있었다.", ["비가 온다.", "그래서 집에 있었다."]),
        ("정말요? 네! 음… 그래요.", ["정말요?", "네!", "음…", "그래요."]),
        ("「간다.」 그는 말했다.", ["「간다.」", "그는 말했다."]),
        ('"좋아요!"라고 말했다. 끝.', ['"좋아요!"라고 말했다.', "끝."]),
        ("회의는 2024. 3. 5. 오후에 있다.", ["회의는 2024. 3. 5.", "오후에 있다."]),
        ("1. 첫째 항목이다.\n2. 둘째 항목이다.", ["1. 첫째 항목이다.", "2. 둘째 항목이다."]),
        ("값은 3.14이다. 크다.", ["값은 3.14이다.", "크다."]),
    ],
)
def test_korean_sentences_are_split_correctly(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Kim met Dr. Lee. They spoke.", ["Mr. Kim met Dr. Lee.", "They spoke."]),
        ("Fruit, e.g. apples, is good. Eat it.", ["Fruit, e.g. apples, is good.", "Eat it."]),
        ("The U.S. Army left. The U.S. It is big.", ["The U.S. Army left.", "The U.S.", "It is big."]),
        ("It costs 3.14 dollars. Cheap.", ["It costs 3.14 dollars.", "Cheap."]),
        ("See No. 5. She said no. Then she left.", ["See No. 5.", "She said no.", "Then she left."]),
        ('"Really?" she asked. "Yes!" He left.', ['"Really?" she asked.', '"Yes!"', "He left."]),
        ("J. R. Smith wrote it. (He did.) Good.", ["J. R. Smith wrote it.", "(He did.)", "Good."]),
        ("Wait... what? Wait... Now!", ["Wait... what?", "Wait...", "Now!"]),
        ("At 5 p.m. Monday we met. At 6 p.m. We ate.", ["At 5 p.m. Monday we met.", "At 6 p.m.", "We ate."]),
        ("Visit example.com today. Bye", ["Visit example.com today.", "Bye"]),
    ],
)
def test_english_sentences_are_split_correctly(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_chinese_and_japanese_sentences_need_no_space() -> None:
    assert sentences("行く。帰る！「はい。」と言った。") == ["行く。", "帰る！", "「はい。」と言った。"]


def test_line_ends_a_sentence_unless_only_white_space() -> None:
    assert sentences("one\n\n two\r\nthree") == ["one", "two", "three"]
    assert sentences("one\ntwo. Three", break_at_newlines=False) == ["one\ntwo.", "Three"]


@pytest.mark.parametrize("end", ["x", ""])
@pytest.mark.parametrize("unit", [".", ". ", " ", '."', "。", "a", "。”", "1. "])
def test_text_of_one_repeated_character_splits_fast(unit: str, end: str) -> None:
    text = unit * 300_000 + end
    with bounded():
        assert "".join(part.text for part in split_sentences(text)) == text


@given(sentence=TRICKY, longest=st.integers(1, 12))
def test_a_divided_sentence_is_whole_and_short(sentence: str, longest: int) -> None:
    parts = split_at_clauses(sentence, longest)
    assert "".join(part.text for part in parts) == sentence
    assert all(len(part.text) <= longest for part in parts if part.is_sentence)


@given(sentence=TRICKY, longest=st.integers(1, 12))
def test_splitting_continues_until_every_piece_fits(sentence: str, longest: int) -> None:
    parts = split_long_sentence(sentence, lambda stretch: len(stretch) <= longest)
    assert "".join(part.text for part in parts) == sentence
    assert all(len(part.text) <= longest for part in parts if part.is_sentence)


def test_long_sentence_is_split_after_a_clause() -> None:
    sentence = "the cat sat on the mat, the dog lay on the floor and slept"
    assert [part.text for part in split_at_clauses(sentence, 40)] == [
        "the cat sat on the mat,",
        " ",
        "the dog lay on the floor and slept",
    ]

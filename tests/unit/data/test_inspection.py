"""What is found in a corpus: swapped columns, problems of single pairs, and validation pairs in the training data."""

import pytest

from regard.data.inspection import are_columns_swapped, count_overlap, inspect_pairs, near_form
from regard.data.pair_readers.text import Pair

TEXTS = {
    "en": ["The weather is fine today, and we are going for a walk.", "I like to eat fish with my children on Friday."],
    "ko": ["오늘은 날씨가 좋아서 산책을 하러 갑니다.", "저는 금요일에 아이들과 함께 생선을 먹는 것을 좋아합니다."],
    "de": ["Heute ist schönes Wetter, und wir gehen spazieren.", "Ich esse freitags gerne Fisch mit meinen Kindern."],
    "ru": ["Сегодня хорошая погода, и мы идём гулять.", "Я люблю есть рыбу с детьми по пятницам."],
    "ja": ["今日は天気がいいので、散歩に行きます。", "私は金曜日に子供たちと魚を食べるのが好きです。"],
    "nb": ["I dag er det fint vær, og vi skal gå en tur.", "Jeg liker å spise fisk sammen med barna mine hver fredag."],
    "da": ["I dag er vejret fint, og vi går en tur.", "Jeg kan godt lide at spise fisk med mine børn om fredagen."],
    "cs": ["Dnes je hezké počasí a půjdeme na procházku.", "Rád jím ryby se svými dětmi každý pátek."],
    "sk": ["Dnes je pekné počasie a pôjdeme na prechádzku.", "Rád jem ryby so svojimi deťmi každý piatok."],
    "id": ["Hari ini cuacanya bagus, dan kami akan berjalan-jalan.", "Saya suka makan ikan bersama anak-anak saya."],
    "ms": ["Hari ini cuaca baik, dan kami akan pergi berjalan.", "Saya gemar makan ikan bersama anak-anak saya."],
}
DIRECTIONS = [("en", "ko"), ("ja", "ko"), ("en", "ru"), ("en", "de"), ("de", "ru")]
NEAR_EQUAL = [("nb", "da"), ("cs", "sk"), ("id", "ms")]


def pairs_of(source: str, target: str, times: int = 10) -> list[Pair]:
    return [Pair(*texts, 1) for texts in zip(TEXTS[source], TEXTS[target], strict=True)] * times


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_swapped_columns_are_found(source: str, target: str) -> None:
    assert are_columns_swapped(pairs_of(source, target), target, source)
    assert not are_columns_swapped(pairs_of(source, target), source, target)


@pytest.mark.parametrize(("source", "target"), NEAR_EQUAL)
def test_near_equal_languages_are_not_refused(source: str, target: str) -> None:
    assert not are_columns_swapped(pairs_of(source, target), source, target)


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [Pair("Ja.", "Yes.", 1)],
        [Pair("import os", "import os", 1)] * 50,  # copies
        [Pair("12.5 %", "12,5 %", 1)] * 50,
        pairs_of("de", "de"),
        pairs_of("en", "en"),
    ],
    ids=["empty", "short", "copies", "numbers", "target language twice", "source language twice"],
)
def test_text_that_shows_no_swap_is_accepted(pairs: list[Pair]) -> None:
    assert not are_columns_swapped(pairs, "en", "de")


def test_variants_of_one_language_are_accepted() -> None:
    assert not are_columns_swapped(pairs_of("en", "de"), "zh-TW", "zh-CN")


def test_quoted_english_in_korean_is_not_a_swap() -> None:
    code = "`reStructuredText`, `Sphinx` and `LC_CTYPE`"
    pairs = [Pair(f"See {code} for more.", f"{code} 를 보세요.", 1)] * 20
    assert not are_columns_swapped(pairs, "en", "ko")
    assert are_columns_swapped(pairs, "ko", "en")


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        (("Save the file", "Save the file"), "copy"),
        (("Press the button to go on", "Press the red button"), "wrong_language"),
        (("저장하려면 단추를 누르세요", "저장하려면 여기를 누르세요"), "wrong_language"),
        (("Wait 30 seconds", "20초 기다리세요"), "numbers"),
        (("Open %s and {name}", "%s 를 여세요"), "placeholders"),
        (("See <b>here</b>", "여기를 보세요"), "placeholders"),
        (("Go to https://a.example/x", "가세요"), "placeholders"),
    ],
)
def test_each_problem_is_found_with_an_example(pair: tuple[str, str], problem: str) -> None:
    findings = inspect_pairs([("Good morning", "좋은 아침입니다"), pair], ["en", "ko"])
    assert {name: one.count for name, one in findings.items() if one.count} == {problem: 1}
    assert findings[problem].examples == [pair]


@pytest.mark.parametrize(
    "pair",
    [
        ("It costs 1,000 won in 2024.", "2024년에 1000원입니다."),
        ("Open {0} with 100%", "{0} 을 100% 여세요"),
        ("OK", "OK!"),
        ("3.14", "3.14"),
        ("`Help <https://a.example/translating>`_", "`도움말 <https://a.example/translating>`_"),
    ],
)
def test_good_pairs_have_no_findings(pair: tuple[str, str]) -> None:
    assert not any(one.count for one in inspect_pairs([pair], ["en", "ko"]).values())


def test_wrong_language_within_one_script_is_found() -> None:
    german, english = TEXTS["de"][1], TEXTS["en"][1]
    pairs = [(english, german), (german, "Noch ein deutscher Satz, der hier nicht stehen sollte.")]
    assert inspect_pairs(pairs, ["en", "de"])["wrong_language"].count == 1
    assert inspect_pairs(pairs[:1], ["en", "nl"])["wrong_language"].count == 1


def test_duplicates_and_near_duplicates_are_counted_apart() -> None:
    pairs = [("One cat.", "고양이 하나."), ("One cat.", "고양이 하나."), ("one cat!", "고양이 하나"), ("Two", "둘")]
    findings = inspect_pairs(pairs, ["en", "ko"])
    assert (findings["duplicate"].count, findings["near_duplicate"].count) == (1, 1)
    assert near_form("Chapter 12: The END") == near_form("chapter 7 the end")


def test_overlap_counts_validation_pairs_and_sources() -> None:
    valid = [Pair("a", "가", 1), Pair("b", "나", 2), Pair("c", "다", 3), Pair("d", "라", 4)]
    training = [(" a ", "가"), ("b", "너"), ("x", "다")] * 2
    assert count_overlap(training, valid) == (1, 2)

"""Detection: scripts, neighbouring languages, and honest doubt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.languages import NAMES, base_code, detect_language, language_name

KNOWN = [code for code in NAMES if code not in ("no", "af")]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The quick brown fox jumps over the lazy dog."),
        ("en", "AI changes the world"),
        ("ko", "안녕하세요"),
        ("ko", "AI가 세상을 바꾼다"),
        ("ko", "나는 Python 프로그래밍을 좋아한다"),
        ("de", "Ich habe gestern meinen alten Freund getroffen."),
        ("fr", "Bonjour tout le monde, comment allez-vous ?"),
        ("es", "Buenos días, ¿cómo estás hoy?"),
        ("it", "Vorrei un bicchiere d'acqua per favore"),
        ("pt", "Gostaria de um copo de água, por favor, não muito fria"),
        ("nl", "Ik wil graag een kopje koffie met melk"),
        ("sv", "Jag skulle vilja ha en kopp kaffe"),
        ("da", "Jeg vil gerne have en kop kaffe"),
        ("nb", "Jeg vil gjerne ha en kopp kaffe, hva koster det?"),
        ("fi", "Haluaisin kupin kahvia, kiitos"),
        ("pl", "Poproszę filiżankę kawy z mlekiem"),
        ("cs", "Prosím si šálek kávy s mlékem"),
        ("hu", "Kérek egy csésze kávét tejjel"),
        ("ro", "Aș vrea o cafea cu lapte, vă rog"),
        ("tr", "Bir fincan kahve istiyorum"),
        ("id", "Saya ingin secangkir kopi dengan susu"),
        ("vi", "Tôi muốn một tách cà phê sữa"),
        ("ru", "Я хочу чашку кофе с молоком"),
        ("uk", "Я хочу чашку кави з молоком, будь ласка"),
        ("bg", "Искам чаша кафе с мляко, моля"),
        ("ja", "私はコーヒーが好きです"),
        ("zh", "我喜欢喝咖啡"),
        ("el", "Θέλω έναν καφέ"),
        ("ar", "أريد فنجان قهوة"),
        ("he", "אני רוצה קפה"),
        ("th", "ฉันอยากดื่มกาแฟ"),
        ("hi", "मुझे कॉफी चाहिए"),
    ],
)
def test_sentence_is_detected_among_all_languages(language: str, text: str) -> None:
    assert detect_language(text, KNOWN)[0][0] == language


@pytest.mark.parametrize(
    ("language", "text"), [("en", "Hello"), ("en", "two red cats"), ("ko", "네"), ("ko", "ㅋㅋㅋ")]
)
def test_server_languages_are_detected_from_a_word(language: str, text: str) -> None:
    found = detect_language(text, ["ko", "en"])
    assert found[0][0] == language
    assert found[0][1] > 0.5


def test_unlisted_language_gets_low_confidence() -> None:
    assert (
        max(confidence for _, confidence in detect_language("Ich habe meinen alten Freund getroffen.", ["en", "ko"]))
        < 0.05
    )


def test_more_of_a_text_gives_more_confidence() -> None:
    few, many = (
        dict(detect_language(text, ["en", "nl"]))["en"] for text in ("is in", "is in the house of the good people")
    )
    assert few < many


@pytest.mark.parametrize("text", ["", "12345 !?", "😀"])
def test_without_letters_nothing_is_detected(text: str) -> None:
    assert detect_language(text, ["en", "ko"]) == [("en", 0.0), ("ko", 0.0)]


def test_unknown_language_code_is_accepted() -> None:
    assert detect_language("zorp blik", ["ko", "toy"])[0][0] == "toy"


@given(st.text(), st.lists(st.sampled_from(["en", "ko", "de", "ja", "EN-GB", "toy"]), min_size=1, unique=True))
def test_every_requested_language_is_ranked_by_confidence(text: str, languages: list[str]) -> None:
    found = detect_language(text, languages)
    assert sorted(code for code, _ in found) == sorted(languages)
    confidences = [confidence for _, confidence in found]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= confidence <= 1.000001 for confidence in confidences)


def test_codes_lose_their_region_and_have_names() -> None:
    assert [base_code(code) for code in ("EN-GB", "pt_BR", "ko")] == ["en", "pt", "ko"]
    assert (language_name("KO"), language_name("en-US"), language_name("toy")) == ("Korean", "English", "toy")

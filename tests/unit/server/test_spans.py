"""Words as ranges of characters of the text that was given."""

from hypothesis import given
from hypothesis import strategies as st

from regard.server.api.text import locate_words
from regard.tokenization.text import normalize


@given(st.text(st.characters(codec="utf-8")))
def test_words_of_a_text_follow_its_normal_form(text: str) -> None:
    words = normalize(text).split()
    found = locate_words(text, words)
    assert [normalize(word.text) for word in found] == words
    assert all(text[word.start : word.end] == word.text for word in found)


def test_words_have_their_spans_in_the_text() -> None:
    found = locate_words("  AI\tchanges\n the ", ["AI", "changes", "the"])
    assert [(word.text, word.start, word.end) for word in found] == [("AI", 2, 4), ("changes", 5, 12), ("the", 14, 17)]


def test_cut_text_keeps_only_its_first_words() -> None:
    assert [word.text for word in locate_words("a b c", ["a", "b"])] == ["a", "b"]
    assert [(word.text, word.start) for word in locate_words("ab", ["ab", ""])] == [("ab", 0), ("", 2)]

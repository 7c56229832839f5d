import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.tokenization.text import normalize

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(ANY_TEXT)
def test_a_normal_form_is_its_own_normal_form(text):
    assert normalize(normalize(text)) == normalize(text)


@given(ANY_TEXT)
def test_composed_and_decomposed_spellings_have_one_normal_form(text):
    assert normalize(unicodedata.normalize("NFD", text)) == normalize(unicodedata.normalize("NFC", text))


@given(ANY_TEXT)
def test_normal_form_is_one_line_with_single_spaces(text):
    normal = normalize(text)
    assert len(normal.splitlines()) <= 1
    assert normal.split() == (normal.split(" ") if normal else [])


@given(
    st.text(
        st.one_of(st.sampled_from("  ▁가\u1100\u1161\u0301\u200d\u3000\x1f"), st.characters(exclude_categories=["Cs"]))
    )
)
def test_unchanged_text_was_in_normal_form(text):
    assert normalize(text) == " ".join(unicodedata.normalize("NFC", text.replace("▁", " ")).split())


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\t", "\u2028", "\u2029", "\u0085", "\u3000", "▁", " ▁ "])
def test_every_separator_becomes_one_space(separator):
    assert normalize(f"{separator}가{separator}b{separator}") == "가 b"


def test_nfkc_differences_are_kept():
    assert normalize("½ ﬁ Ⅳ ＡＢ ™") == "½ ﬁ Ⅳ ＡＢ ™"


def test_lone_surrogate_is_refused_with_its_position():
    with pytest.raises(RegardError, match=r"character 3 .* U\+D800"):
        normalize("ab\ud800")

"""HTML: tags come out as often as they went in, properly nested, and around the words they belong to."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.markup import read_html, tokenize_markup
from tests.support.sentence_translators import all_translated, reversing_translator, translated, word_translator

PIECES = [
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<p>",
    "</p>",
    "<br>",
    "<img src='a>b'>",
    "<!-- c -->",
    "<code>x</code>",
    "<",
    ">",
]
WORDS = ["one two", " three. ", "Four ", "&amp;", "\n", "é", "<script>if (a<b) x</script>", "5", " "]
DOCUMENTS = st.lists(st.sampled_from(PIECES + WORDS), max_size=14).map("".join)
shout = word_translator(str.upper)


def _elements(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    wrapped = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(["b", "i", "a", "p"]), inside)
    return st.lists(wrapped | inside, min_size=1, max_size=4).map(" ".join)


NESTED = st.recursive(st.sampled_from(["one", "two three", "four. Five"]), _elements, max_leaves=8)


@given(document=DOCUMENTS | st.text("<>/!-='\"a b", max_size=30) | st.text())
def test_the_tokens_of_any_text_are_the_text(document: str) -> None:
    assert "".join(token.raw for token in tokenize_markup(document)) == document


@pytest.mark.parametrize("end", ["", ";", " x"])
@pytest.mark.parametrize(
    ("digits", "text"),
    [
        ("65", "A"),
        ("0" * 5000 + "65", "A"),
        ("9" * 5000, "\ufffd"),
        ("1114112", "\ufffd"),
        ("xfffffff", "\ufffd"),
    ],
    ids=["short", "zeros", "endless", "beyond Unicode", "hexadecimal"],
)
def test_references_by_number_are_decoded(digits: str, text: str, end: str) -> None:
    [segment] = read_html(f"a &#{digits}{end}")
    assert segment.text == f"a {text}{end.removeprefix(';')}"  # type: ignore[union-attr]


@given(document=DOCUMENTS)
def test_every_tag_appears_as_often_as_in_source(document: str) -> None:
    for output in (translated(read_html(document), shout), translated(read_html(document), reversing_translator())):
        assert _tags(output) == _tags(document)


@given(document=NESTED)
def test_proper_nesting_is_preserved(document: str) -> None:
    for by in (shout, reversing_translator()):
        open_tags: list[str] = []
        for token in tokenize_markup(translated(read_html(document), by)):
            if token.kind == "start":
                open_tags.append(token.name)
            elif token.kind == "end":
                assert open_tags.pop() == token.name
        assert open_tags == []


@given(document=DOCUMENTS)
def test_a_document_without_words_is_not_touched(document: str) -> None:
    silent = re.sub("[^<>/!' ]", "1", document)
    assert translated(read_html(silent), shout) == silent


def test_inline_tags_follow_their_words() -> None:
    document = "<p>I saw <b>a red</b> car &amp; <i>the <u>big</u> dog</i></p>"
    assert (
        translated(read_html(document), reversing_translator())
        == "<p><i>dog <u>big</u> the</i> &amp; car <b>red a</b> saw I</p>"
    )


def test_tag_around_a_whole_sentence_stays_around() -> None:
    document = "<b>One two.</b> Three <i>four.</i>"
    output = translated(read_html(document), word_translator(lambda sentence: f"well {sentence} indeed."))
    assert output.startswith("<b>well One two. indeed.</b> well Three")


def test_without_attention_tag_keeps_its_relative_position() -> None:
    output = translated(read_html("a b <b>c</b> d"), word_translator(lambda _: "1 2 3 4 5 6 7 8"))
    assert output == "1 2 3 4 <b>5</b> 6 7 8"


@pytest.mark.parametrize(
    "kept",
    [
        "<script>let text = 'do not';</script>",
        "<style>p { color: red }</style>",
        "<code>some program</code>",
        "<div translate='no'>as <div>it</div> is</div>",
        '<p class="x notranslate">as it is</p>',
        "<!-- a remark -->",
        "<textarea>typed text</textarea>",
        "<!doctype html>",
        "<svg><text>drawn</text></svg>",
    ],
)
def test_non_prose_is_not_translated(kept: str) -> None:
    assert (
        translated(read_html(f"<p>say this</p>{kept}<p>and this</p>"), shout) == f"<p>SAY THIS</p>{kept}<p>AND THIS</p>"
    )


def test_a_program_inside_a_sentence_stays_in_it() -> None:
    assert translated(read_html("run <code>x.py</code> now"), shout) == "RUN <code>x.py</code> NOW"


@pytest.mark.parametrize("unclosed", ["<![CDATA[", "<![CDATA[ a </i>"])
def test_cdata_is_a_comment_ending_with_its_tag(unclosed: str) -> None:
    output = translated(read_html(f"<p>say this</p>{unclosed}<p>and this</p>"), shout)
    assert output.startswith("<p>SAY THIS</p><![CDATA[")
    assert output.endswith("AND THIS</p>")


def test_entities_are_decoded_and_special_characters_escaped() -> None:
    assert translated(read_html("caf&eacute; &lt;b&gt; a < b"), shout) == "CAFÉ &lt;B&gt; A &lt; B"


def test_line_ends_are_white_space_except_in_pre() -> None:
    heard: list[list[str]] = []
    translated(read_html("<p>one\ntwo</p><pre>three\nfour</pre>"), word_translator(str.upper, heard=heard))
    assert heard == [["one two", "three", "four"]]


@pytest.mark.parametrize(
    "unit", ["<a ", "<a href='", "<!--", "<b>", "</b>", "<script>", '<a href="x" ', "<![", "a<b>c</b>"]
)
def test_hostile_documents_are_read_in_one_go(unit: str) -> None:
    document = unit * 5000 + "words"
    assert _tags(translated(read_html(document), shout)) == _tags(document)


def test_many_documents_are_translated_together() -> None:
    heard: list[list[str]] = []
    output = all_translated(
        [read_html("<p>one</p>"), read_html("two"), read_html("one")], word_translator(str.upper, heard=heard)
    )
    assert output == ["<p>ONE</p>", "TWO", "ONE"]
    assert heard == [["one", "two"]]


def _tags(document: str) -> Counter[str]:
    return Counter(token.raw for token in tokenize_markup(document) if token.kind in ("start", "end"))

"""Text, subtitles and catalogues: what is not prose comes out as it went in."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.pair_readers.po import read_po as read_pairs
from regard.documents import FORMATS, read_document
from regard.documents.po import po_template
from regard.documents.subtitles import read_srt, wrap
from regard.documents.template import plain_text_template
from regard.errors import RegardError
from tests.support.hostile_files import bounded
from tests.support.sentence_translators import reversing_translator, translated, word_translator

shout = word_translator(str.upper)
same = word_translator(str)

SUBTITLES = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\n{\\an8}<i>Hello there</i> my\r\ngood friend\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000 X1:40\r\n- Who is it?\r\n- Me.\r\n\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n♪ 123 ♪\r\n"
)
CATALOGUE = r"""# Comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
#, c-format
msgid "open %s now, 100% sure"
msgstr ""

msgid "done"
msgstr "됨"

msgctxt "menu"
msgid ""
"first \"line\".\n"
"second <b>bold</b> line.\n"
msgstr ""

msgid "%d file"
msgid_plural "there are %d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "old"
#~ msgstr ""
"""


@given(st.text())
def test_plain_text_keeps_white_space_and_content(text: str) -> None:
    assert re.findall(r"\s*[\n\r]\s*", translated(plain_text_template(text), same)) == re.findall(r"\s*[\n\r]\s*", text)
    assert translated(plain_text_template(text), same).split() == text.split()


def test_blank_lines_and_indents_stay() -> None:
    assert (
        translated(plain_text_template("  one. two\n\n\tThree!  Four?\r\n"), shout)
        == "  ONE. TWO\n\n\tTHREE!  FOUR?\r\n"
    )


def test_numbers_and_punctuation_alone_are_not_translated() -> None:
    heard: list[list[str]] = []
    assert (
        translated(plain_text_template("***\n42.\n— 😀\nword"), word_translator(str.upper, heard=heard))
        == "***\n42.\n— 😀\nWORD"
    )
    assert heard == [["word"]]


def test_subtitles_keep_numbers_times_and_line_counts() -> None:
    assert translated(read_srt(SUBTITLES), shout) == SUBTITLES.replace("Hello there", "HELLO THERE").replace(
        "my", "MY"
    ).replace("good friend", "GOOD FRIEND").replace("Who is it", "WHO IS IT").replace("Me", "ME")


def test_cue_is_one_sentence_and_tags_follow_words() -> None:
    output = translated(read_srt(SUBTITLES), reversing_translator())
    assert "\r\n{\\an8}friend good my\r\n<i>there Hello</i>\r\n" in output
    assert "\r\n- it? is Who\r\n- Me.\r\n" in output


@given(st.lists(st.text("ab<i>", min_size=1, max_size=8), min_size=1, max_size=9), st.integers(1, 4))
def test_wrapped_cue_keeps_words_and_line_count(words: list[str], lines: int) -> None:
    text = " ".join(words)
    wrapped = wrap(text, lines, "\n")
    assert wrapped.replace("\n", " ") == text
    assert wrapped.count("\n") < lines


def test_cue_of_several_sentences_keeps_line_limit() -> None:
    times = "1\n00:00:01,000 --> 00:00:02,000\n"
    output = translated(read_srt(f"{times}Hello there.\nHow are you today?\n\n"), shout)
    assert output == f"{times}HELLO THERE. HOW\nARE YOU TODAY?\n\n"


def test_cue_breaks_at_spaces_nearest_even_lines() -> None:
    assert wrap("aaa bbb ccc ddd", 2, "|") == "aaa bbb|ccc ddd"
    assert wrap("a b c dddddddddddd", 2, "|") == "a b c|dddddddddddd"
    assert wrap("dddddddddddd <i>a</i> b c", 3, "|") == "dddddddddddd|<i>a</i> b c"
    assert wrap("one", 4, "|") == "one"


def test_cue_of_many_lines_wraps() -> None:
    assert wrap("a b " * 100_000, 200_000, "\n").count("\n") > 190_000  # by comparing all with all, an hour


def test_catalogue_is_filled_and_otherwise_unchanged() -> None:
    output = translated(po_template(CATALOGUE), shout)
    expected = (
        CATALOGUE.replace('sure"\nmsgstr ""', 'sure"\nmsgstr "OPEN %s NOW, 100% SURE"')
        .replace('line.\\n"\nmsgstr ""', 'line.\\n"\nmsgstr ""\n"FIRST \\"LINE\\".\\n"\n"SECOND <b>BOLD</b> LINE.\\n"')
        .replace('msgstr[0] ""', 'msgstr[0] "%d FILE"')
        .replace('msgstr[1] ""', 'msgstr[1] "THERE ARE %d FILES"')
    )
    assert output == expected


def test_single_form_language_translates_the_plural() -> None:
    korean = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n\n'
    output = translated(po_template(korean + CATALOGUE), shout)
    assert 'msgstr[0] "%d FILES"' in output
    assert 'msgstr[0] "%d FILE"' in output


def test_a_filled_catalogue_can_be_read_again(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "filled.po"
    path.write_text(translated(po_template(CATALOGUE), shout), encoding="utf-8")
    assert [pair.target for pair in read_pairs(path)] == [
        "OPEN %s NOW, 100% SURE",
        "됨",
        'FIRST "LINE". SECOND <b>BOLD</b> LINE.',
        "%d FILE",
        "THERE ARE %d FILES",
    ]


def test_catalogue_without_translations_stays_valid(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "silent.po"
    path.write_text(translated(po_template(CATALOGUE), word_translator(lambda _: "")), encoding="utf-8")
    assert 'msgstr ""' in path.read_text(encoding="utf-8")
    assert "msgstr \n" not in path.read_text(encoding="utf-8")
    list(read_pairs(path))


@given(st.lists(st.sampled_from(["%s", "%(name)s", "{count}", "%1$d", "{{ x }}", "${y}", "word", "more. Words"])))
def test_placeholders_appear_as_often_as_in_source(pieces: list[str]) -> None:
    text = " ".join(pieces)
    output = translated(po_template(f'msgid "{text}"\nmsgstr ""\n'), reversing_translator()).split("msgstr ")[1]
    for placeholder in ("%s", "%(name)s", "{count}", "%1$d", "{{ x }}", "${y}"):
        assert output.count(placeholder) == text.count(placeholder)


def test_non_octal_digit_stands_for_itself() -> None:
    assert translated(po_template('msgid "a\\8\\9\\1019"\nmsgstr ""\n'), shout).endswith('msgstr "A89A9"\n')


@pytest.mark.parametrize("catalogue", ["nonsense\n", 'msgid "open\n', 'msgid "\\xff"\nmsgstr ""\n'])
def test_a_broken_catalogue_is_refused_by_its_line(catalogue: str) -> None:
    with pytest.raises(RegardError, match="Line 1"):
        po_template(catalogue)


@pytest.mark.parametrize("ending", FORMATS)
def test_byte_order_mark_stays_and_is_not_translated(ending: str) -> None:
    content = "00:00:01,000 --> 00:00:02,000\n" if ending == ".srt" else "# 1\n"
    document = read_document(f"X{ending.upper()}", f"\ufeff{content}".encode())
    assert translated(document, shout) == f"\ufeff{content}"


def test_files_that_cannot_be_translated_are_refused() -> None:
    with pytest.raises(RegardError, match=r"\.txt, \.srt"):
        read_document("x.docx", b"")
    with pytest.raises(RegardError, match="Byte 2"):
        read_document("x.txt", b"a\xff")
    with pytest.raises(RegardError, match="no times"):
        read_document("x.srt", b"nonsense\n")


@pytest.mark.parametrize("start", ["%0", "%1", "%(a", "{"])
def test_what_is_almost_a_placeholder_takes_no_time(start: str) -> None:
    text = start + start[-1] * 100_000
    with bounded():
        assert translated(po_template(f'msgid "{text}"\nmsgstr ""\n'), same).count(text) == 2

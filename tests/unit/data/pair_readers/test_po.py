import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair
from regard.errors import RegardError

HEADER = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=1; plural=0;\n"
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("po")


def pairs_of(path: Path, text: str) -> list[tuple[str, str]]:
    path.write_text(text, encoding="utf-8", newline="\n")
    return [(pair.source, pair.target) for pair in read_pairs([path])]


def test_messages_are_read_and_the_header_is_not(tmp_path: Path) -> None:
    catalogue = HEADER + '\n#: main.c:3\nmsgid "Open"\nmsgstr "열기"\n\nmsgctxt "door"\nmsgid "Close"\nmsgstr "닫기"\n'
    assert pairs_of(tmp_path / "ko.po", catalogue) == [("Open", "열기"), ("Close", "닫기")]


def test_line_number_is_where_the_message_starts(tmp_path: Path) -> None:
    path = tmp_path / "ko.po.gz"
    path.write_bytes(gzip.compress('# note\n\nmsgid "Open"\nmsgstr "열기"\n'.encode()))
    assert list(read_pairs([path])) == [Pair("Open", "열기", 3)]


def test_messages_need_no_blank_line_between_them(tmp_path: Path) -> None:
    assert pairs_of(tmp_path / "a.po", 'msgid "a"\nmsgstr "b"\nmsgid "c"\nmsgstr "d"') == [("a", "b"), ("c", "d")]


def test_fuzzy_obsolete_and_untranslated_messages_are_skipped(tmp_path: Path) -> None:
    catalogue = """
#, c-format, fuzzy
#| msgid "old"
msgid "fuzzy"
msgstr "x"

msgid "untranslated"
msgstr ""

#, fuzzy
#~ msgid "obsolete"
#~ msgstr "x"

#, c-format
msgid "kept"
msgstr "y"
"""
    assert pairs_of(tmp_path / "a.po", catalogue) == [("kept", "y")]


def test_multiline_strings_join_and_newlines_become_spaces(tmp_path: Path) -> None:
    catalogue = 'msgid ""\n"Usage:\\n"\n"  regard\\ttrain\\n"\nmsgstr "쓰는 "\n  "법"\n'
    assert pairs_of(tmp_path / "a.po", catalogue) == [("Usage: regard\ttrain", "쓰는 법")]


def test_single_plural_form_pairs_with_the_plural(tmp_path: Path) -> None:
    catalogue = 'msgid "one file"\nmsgid_plural "%d files"\nmsgstr[0] "파일 %d개"\n'
    assert pairs_of(tmp_path / "a.po", catalogue) == [("%d files", "파일 %d개")]


def test_first_plural_form_pairs_with_the_singular(tmp_path: Path) -> None:
    catalogue = 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] "eins"\nmsgstr[1] "zwei"\nmsgstr[2] "drei"\n'
    assert pairs_of(tmp_path / "a.po", catalogue) == [("one", "eins"), ("many", "zwei"), ("many", "drei")]


def test_byte_escapes_are_utf8(tmp_path: Path) -> None:
    catalogue = r"""msgid "caf\303\251 \x41 \\n \"q\""
msgstr "x"
"""
    assert pairs_of(tmp_path / "a.po", catalogue) == [('café A \\n "q"', "x")]


@settings(deadline=None)  # it writes to the disk
@given(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1))
def test_escaped_characters_are_decoded(scratch: Path, text: str) -> None:
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\r", r"\r").replace("\t", r"\t")
    assert pairs_of(scratch / "a.po", f'msgid "{escaped}"\nmsgstr "x"\n') == [(text, "x")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("stray words", "expected msgid"),
        ('msgid "open', "expected msgid"),
        ('msgid "a" b"', "expected msgid"),
        ('msgid "a\\"', "expected msgid"),
        ('msgstr[x] "a"', "expected msgid"),
        ('"a string alone"', "follows no msgid"),
        ('msgstr "no msgid"', "in the wrong position"),
        ('msgid "a"\nmsgid "b"', "in the wrong position"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[1] "x"', "in the wrong position"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[0] "x"\nmsgstr[2] "y"', "in the wrong position"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[99999999999] "x"', "expected msgid"),
        (r'msgid "\xff"', "not UTF-8"),
        ('msgid "a"', "ends inside a message"),
    ],
)
def test_a_malformed_catalogue_is_named_by_line(tmp_path: Path, line: str, problem: str) -> None:
    text = f'msgid "good"\nmsgstr "gut"\n\n{line}'
    with pytest.raises(RegardError, match=rf"a\.po:{text.count(chr(10)) + 1}: .*{problem}"):
        pairs_of(tmp_path / "a.po", text)


@pytest.mark.parametrize("catalogue", ["", HEADER, 'msgid "a"\nmsgstr ""\n'])
def test_a_catalogue_without_translations_is_an_error(tmp_path: Path, catalogue: str) -> None:
    with pytest.raises(RegardError, match="contains no finished translation"):
        pairs_of(tmp_path / "a.po", catalogue)

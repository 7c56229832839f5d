import gzip
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair
from regard.data.text_lines import MAX_LINE_BYTES
from regard.errors import RegardError
from tests.support.hostile_files import bounded

XML_CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tmx")


def unit(**segments: str) -> str:
    variants = (
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{segment}</seg></tuv>'
        for language, segment in segments.items()
    )
    return f"<tu>{''.join(variants)}</tu>\n"


def memory(*units: str) -> str:
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{"".join(units)}</body></tmx>'


def pairs_of(path: Path, text: str, languages: tuple[str, str] = ("en", "ko")) -> list[Pair]:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return list(read_pairs([path], languages=languages))


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
def test_units_with_both_languages_become_pairs(tmp_path: Path, name: str) -> None:
    text = memory(unit(en="one", ko="하나"), unit(en="alone"), unit(de="drei", ko="셋", en="three"))
    assert pairs_of(tmp_path / name, text) == [Pair("one", "하나", 3), Pair("three", "셋", 5)]


def test_language_code_matches_its_regions(tmp_path: Path) -> None:
    text = memory(unit(EN_us="one", ko_KR="하나"), unit(eng="no", ko="x"))
    assert pairs_of(tmp_path / "a.tmx", text) == [Pair("one", "하나", 3)]


def test_closer_of_two_languages_is_chosen(tmp_path: Path) -> None:
    text = memory(unit(pt_BR="trem", pt="comboio"))
    assert pairs_of(tmp_path / "a.tmx", text, ("pt", "pt-BR")) == [Pair("comboio", "trem", 3)]


def test_old_files_name_the_language_without_a_prefix(tmp_path: Path) -> None:
    text = memory(unit(en="one", ko="하나")).replace("xml:lang", "lang")
    assert pairs_of(tmp_path / "a.tmx", text) == [Pair("one", "하나", 3)]


@pytest.mark.parametrize("start", ["", "<tmx><!--", "<tmx><body><tu a='", "<tmx><?x "])
def test_an_endless_tag_is_refused(tmp_path: Path, start: str) -> None:
    """Expat 2.5 takes quadratic time for it."""
    path = tmp_path / "a.tmx"
    path.write_text(start + "a" * 50_000_000)
    with bounded(), pytest.raises(RegardError, match=r"a\.tmx:1: (a tag or a comment is longer|not well-formed)"):
        list(read_pairs([path], languages=["en", "ko"]))


def test_a_long_text_is_no_tag(tmp_path: Path) -> None:
    text = "a b " * 1_000_000
    for one in (text, f"<![CDATA[{text}]]>"):
        assert pairs_of(tmp_path / "a.tmx", memory(unit(en=one, ko="하나"))) == [Pair(text, "하나", 3)]


def test_codes_are_not_text_but_highlights_are(tmp_path: Path) -> None:
    segment = 'Press <bpt i="1">&lt;b&gt;</bpt><hi>Save</hi><ept i="1">&lt;/b&gt;</ept> &amp; go<ph>{0}</ph>.'
    assert pairs_of(tmp_path / "a.tmx", memory(unit(en=segment, ko="x")))[0].source == "Press Save & go."


def test_newlines_in_a_segment_become_spaces(tmp_path: Path) -> None:
    assert pairs_of(tmp_path / "a.tmx", memory(unit(en="one\n   two&#10;three", ko="x")))[0].source == "one two three"


def test_the_declared_encoding_is_respected(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    text = memory(unit(en="one", ko="하나")).replace('"1.0"', '"1.0" encoding="UTF-16"')
    path.write_bytes(text.encode("utf-16"))
    assert list(read_pairs([path], languages=["en", "ko"])) == [Pair("one", "하나", 3)]


@settings(deadline=None)  # it writes to the disk
@given(source=st.text(XML_CHARACTERS), target=st.text(XML_CHARACTERS))
def test_escaped_characters_are_decoded(scratch: Path, source: str, target: str) -> None:
    (pair,) = pairs_of(scratch / "a.tmx", memory(unit(en=escape(source), ko=escape(target))))
    assert (pair.source, pair.target) == (source, target)


def test_pair_is_yielded_before_the_file_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(memory(*[unit(en="one", ko="하나")] * 10_000) + "</broken>")
    pairs = read_pairs([path], languages=["en", "ko"])
    assert next(pairs) == Pair("one", "하나", 3)
    with pytest.raises(RegardError, match="not well-formed"):
        list(pairs)


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE tmx SYSTEM "tmx14.dtd" [<!ELEMENT tmx ANY>]>',
        '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE tmx [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE tmx [<!ENTITY % remote SYSTEM "http://example.invalid/x.dtd"> %remote;]>',
    ],
)
def test_internal_subset_of_a_doctype_is_refused(tmp_path: Path, doctype: str) -> None:
    text = memory(unit(en="one", ko="하나")).replace("<tmx", f"{doctype}<tmx", 1)
    with pytest.raises(RegardError, match=r"a\.tmx:2: <!DOCTYPE .* Remove what is in brackets"):
        pairs_of(tmp_path / "a.tmx", text)


STANDARD_DOCTYPES = [
    '<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
    '<!DOCTYPE tmx PUBLIC "-//LISA OSCAR:1998//DTD for Translation Memory eXchange//EN" "tmx14.dtd">',
    '<!DOCTYPE tmx SYSTEM "file:///etc/passwd">',  # never opened
]


@pytest.mark.parametrize("doctype", STANDARD_DOCTYPES)
def test_doctype_without_declarations_changes_nothing(tmp_path: Path, doctype: str) -> None:
    plain = memory(unit(en="one &amp; two", ko="하나"))
    named = plain.replace("<tmx", f"{doctype}<tmx", 1)
    assert pairs_of(tmp_path / "a.tmx", named) == pairs_of(tmp_path / "b.tmx", plain)


def test_entity_of_an_external_dtd_is_an_error(tmp_path: Path) -> None:
    text = memory(unit(en="one &nbsp; two", ko="하나")).replace("<tmx", f"{STANDARD_DOCTYPES[0]}<tmx", 1)
    with pytest.raises(RegardError, match="&nbsp; is not defined in this file"):
        pairs_of(tmp_path / "a.tmx", text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"a\.tmx:1: not well-formed XML: no element found"),
        ("plain", r"a\.tmx:1: not well-formed"),
        (memory(unit(en="one", ko="하나"))[:-8], "not well-formed"),
        (memory(unit(en="a & b", ko="x")), r"a\.tmx:3: not well-formed"),
        (memory(unit(en="&undeclared;", ko="x")), r"a\.tmx:3: not well-formed XML: undefined entity"),
        (memory(unit(en="\x00", ko="x")), r"a\.tmx:3: not well-formed"),
        ("<html/>", "expected a <tmx> document, got <html>"),
        ('<?xml version="1.0" encoding="euc-kr"?><tmx/>', "multi-byte encodings are not supported"),
        ('<?xml version="1.0" encoding="martian"?><tmx/>', "martian"),
        (memory(), "its languages are: none"),
        (memory(unit(en="one", de="eins")), "no unit in both en and ko; its languages are: de, en"),
    ],
)
def test_a_malformed_memory_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        pairs_of(tmp_path / "a.tmx", text)


def test_invalid_utf8_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_bytes(memory(unit(en="one", ko="?")).encode().replace(b"?<", b"\xff<"))
    with pytest.raises(RegardError, match=r"a\.tmx:3: not well-formed"):
        list(read_pairs([path], languages=["en", "ko"]))


def test_an_endless_segment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="segment is longer"):
        pairs_of(tmp_path / "a.tmx", memory(unit(en="x" * (MAX_LINE_BYTES + 1), ko="x")))


def test_the_languages_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="Name two"):
        read_pairs([tmp_path / "a.tmx"])

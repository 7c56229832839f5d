"""XML: the outline says which tags stand in a sentence, unless the sender does; every tag comes out once."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.markup import XmlTagRules, read_xml, tokenize_markup
from tests.support.sentence_translators import reversing_translator, translated, word_translator

MARKUP = ["<b>", "</b>", "<x/>", "<page>", "</page>", "<line n='1>2'>", "</line>", "<!-- c -->"]
PIECES = [*MARKUP, "one two", ". Three", " "]
TAGS = st.builds(
    XmlTagRules,
    splitting=st.sampled_from([frozenset(), frozenset({"b"})]),
    inline=st.sampled_from([frozenset(), frozenset({"page"})]),
    ignore=st.sampled_from([frozenset(), frozenset({"line"})]),
    outline_detection=st.booleans(),
)
PAGE = """<page>
  <head>A title</head>
  <line>I <b>see <i>a</i></b> cat. It
sees me.</line>
  <line><b>Bye</b></line>
</page>"""


def heard_of(document: str, **tags: object) -> set[str]:
    """The sentences of a document."""
    heard: list[list[str]] = []
    translated(read_xml(document, XmlTagRules(**tags)), word_translator(str, heard=heard))  # type: ignore[arg-type]
    return {sentence for batch in heard for sentence in batch}


@given(document=st.lists(st.sampled_from(PIECES), max_size=14).map("".join), tags=TAGS)
def test_every_tag_appears_as_often_as_in_source(document: str, tags: XmlTagRules) -> None:
    for by in (word_translator(str.upper), reversing_translator()):
        assert _tags(translated(read_xml(document, tags), by)) == _tags(document)


def test_placeholders_stand_in_their_sentence() -> None:
    document = 'Hello <x id="0"></x>, you have <x id="1"></x> new <y/> files.'
    assert heard_of(document) == {"Hello , you have new files."}
    output = translated(read_xml(document, XmlTagRules()), word_translator(str.upper))
    assert output == 'HELLO <x id="0"></x>, YOU HAVE <x id="1"></x> NEW <y/> FILES.'


def test_elements_beside_text_are_inline_others_structural() -> None:
    assert heard_of(PAGE) == {"A title", "I see a cat.", "It sees me.", "Bye"}
    assert translated(read_xml(PAGE, XmlTagRules()), word_translator(str)) == PAGE.replace("It\n", "It ")


@pytest.mark.parametrize(
    ("tags", "heard"),
    [
        ({"inline": frozenset({"line"})}, {"A title", "I see a cat.", "It sees me.", "Bye"}),
        ({"splitting": frozenset({"b"})}, {"A title", "I", "see a", "cat.", "It sees me.", "Bye"}),
        ({"outline_detection": False}, {"A title I see a cat.", "It sees me.", "Bye"}),
        (
            {"outline_detection": False, "splitting": frozenset({"head"})},
            {"A title", "I see a cat.", "It sees me.", "Bye"},
        ),
        ({"ignore": frozenset({"head", "b"})}, {"I cat.", "It sees me."}),
    ],
)
def test_tag_names_follow_the_request(tags: dict[str, object], heard: set[str]) -> None:
    assert heard_of(PAGE, **tags) == heard


def test_sentence_continues_over_non_splitting_elements() -> None:
    document = "<page><line>the cat </line><line>sees me</line></page>"
    assert heard_of(document) == {"the cat", "sees me"}
    assert heard_of(document, inline=frozenset({"line"})) == {"the cat sees me"}


def test_protected_text_stays_in_its_sentence() -> None:
    output = translated(
        read_xml("open <x>Some <x>Thing</x></x> now", XmlTagRules(ignore=frozenset({"x"}))), word_translator(str.upper)
    )
    assert output == "OPEN <x>Some <x>Thing</x></x> NOW"


@pytest.mark.parametrize("kept", ["<![CDATA[if a > b]]>", "<![CDATA[]]>", "<!-- a > b -->", "<?xml version='1.0'?>"])
def test_non_text_comes_out_unchanged(kept: str) -> None:
    assert translated(read_xml(f"say {kept} this", XmlTagRules()), word_translator(str.upper)) == f"SAY {kept} THIS"


@pytest.mark.parametrize("name", ["script", "style", "iframe", "xmp"])
def test_no_name_makes_an_element_anything_but_markup(name: str) -> None:
    document = f'<doc><{name} src="a"/><p>one red cat</p><{name}>two <b>dogs</b></{name}></doc>'
    assert heard_of(document) == {"one red cat", "two dogs"}
    output = translated(read_xml(document, XmlTagRules()), word_translator(str.upper))
    assert output == f'<doc><{name} src="a"/><p>ONE RED CAT</p><{name}>TWO <b>DOGS</b></{name}></doc>'


def test_characters_are_decoded_and_document_entities_stay() -> None:
    document = "<p>at &company; we &lt;sell&gt; &quot;caf&#233;&#x73;&quot; &amp; &nbsp;tea&copy; &#0; R&D</p>"
    assert heard_of(document) == {'at we <sell> "cafés" & tea R&D'}
    output = translated(read_xml(document, XmlTagRules()), word_translator(str.upper))
    for kept in ("&company;", "&nbsp;", "&copy;", "&#0;", "&lt;SELL&gt;", '"CAFÉS"', "&amp; ", "R&amp;D"):
        assert kept in output


def test_declarations_of_a_document_are_no_text() -> None:
    declared = "<!DOCTYPE doc [<!ENTITY company 'My > Own'> <!ELEMENT p ANY> ]>"
    document = f"{declared}<doc><p>one &company; cat</p></doc>"
    assert heard_of(document) == {"one cat"}
    output = translated(read_xml(document, XmlTagRules()), word_translator(str.upper))
    assert output == f"{declared}<doc><p>ONE &company; CAT</p></doc>"


@pytest.mark.parametrize(
    "unit", ["&a", "&#1", "<!DOCTYPE a [", "<!DOCTYPE a [] ", "<a>", "</a>", "<a>b</a>", "<a/>", "<a>b", "b</a>"]
)
def test_hostile_documents_are_read_in_one_go(unit: str) -> None:
    document = unit * 5000 + "words"
    assert _tags(translated(read_xml(document, XmlTagRules()), word_translator(str.upper))) == _tags(document)


def _tags(document: str) -> Counter[str]:
    return Counter(token.raw for token in tokenize_markup(document, is_xml=True) if token.kind in ("start", "end"))

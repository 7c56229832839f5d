from pathlib import Path

import pytest

from regard import load
from regard.documents import DOCUMENT_FORMATS, is_document, translate_document
from tests.support.commands import Regard

DOCUMENTS = {
    "a.html": ('<p class="x">Where is the <b>station</b>?</p>\n', '<p class="x">', "<b>"),
    "a.po": ('msgid "Where is the station?"\nmsgstr ""\n', 'msgid "Where is the station?"\n', 'msgstr "'),
    "a.srt": ("1\n00:00:01,000 --> 00:00:02,000\nWhere is the station?\n", "00:00:01,000 --> 00:00:02,000\n", "1\n"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_keeps_its_markup(regard: Regard, tmp_path: Path, name: str) -> None:
    content, *kept = DOCUMENTS[name]
    (tmp_path / name).write_text(content)
    ended = regard("translate", "en-fr", "--input", tmp_path / name, "--output", tmp_path / f"fr.{name}")
    assert ended.code == 0, ended.err
    written = (tmp_path / f"fr.{name}").read_text(encoding="utf-8")
    assert "gare" in written
    assert all(part in written for part in kept)
    translator = load("en-fr", task="translation")
    assert translate_document(translator, name, content.encode()).decode() == written


def test_options_for_lines_are_refused_for_documents(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Hello.</p>")
    (tmp_path / "a.txt").write_text("Hello.\n")
    ended = regard("translate", "en-fr", "--input", tmp_path / "a.html", "--scores")
    assert ended.code == 2
    assert "is a document, which is translated as a whole" in ended.err
    ended = regard("translate", "en-fr", "--input", f"{tmp_path}/a.*", "--output", tmp_path / "out")
    assert ended.code == 2
    assert "matches documents and lines of text" in ended.err


def test_plain_text_is_lines_not_a_document() -> None:
    assert [is_document(name) for name in ("a.txt", "a.en", "A.HTML")] == [False, False, True]
    assert set(DOCUMENT_FORMATS) == {".srt", ".po", ".html", ".htm"}


@pytest.mark.parametrize("name", ["a.xml", "a.XLIFF", "a.vtt", "a.json", "a.html.gz", "a.srt.gz"])
def test_other_markup_is_not_translated_as_words(regard: Regard, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("<p>Hello.</p>\n")
    ended = regard("translate", "en-fr", "--input", tmp_path / name)
    assert (ended.code, ended.out) == (2, "")
    assert "has markup" in ended.err or "Decompress it first" in ended.err


def test_broken_document_is_named(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Hello.</p>\n")
    (tmp_path / "b.html").write_bytes(b"<p>caf\xe9</p>\n")
    ended = regard("translate", "en-fr", "--input", f"{tmp_path}/*.html", "--output", tmp_path / "out")
    assert ended.code == 2
    assert f"error: {tmp_path / 'b.html'}: Byte 7 of the file is not UTF-8" in ended.err

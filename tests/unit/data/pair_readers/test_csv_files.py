from pathlib import Path

import pytest

from regard.data.pair_readers import read_pairs
from regard.data.text_lines import read_lines
from regard.errors import RegardError

WANTED = [("Hello, world.", "안녕, 세상."), ("It is; so.", "그래; 맞아.")]
TABLES = {
    "commas": '"Hello, world.","안녕, 세상."\r\nIt is; so.,그래; 맞아.\r\n',
    "semicolons": '\ufeffHello, world.;안녕, 세상.\r\n"It is; so.";"그래; 맞아."\r\n',
    "tabs": "Hello, world.\t안녕, 세상.\nIt is; so.\t그래; 맞아.\n",
    "header": 'id;Korean;English\n1;안녕, 세상.;Hello, world.\n2;"그래; 맞아.";"It is; so."\n',
    "codes": 'ko,en\n"안녕, 세상.","Hello, world."\n그래; 맞아.,It is; so.\n',
    "keys": 'Source,Target\n"Hello, world.","안녕, 세상."\nIt is; so.,그래; 맞아.\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_spreadsheets_give_their_pairs(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_bytes(TABLES[name].encode())
    pairs = read_pairs([tmp_path / "a.csv"], languages=["en", "ko"])
    assert [(pair.source, pair.target) for pair in pairs] == WANTED


def test_cells_of_several_lines_become_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('one,하나\n"two\nlines","두\n줄"\n\nthree,셋\n', encoding="utf-8")
    found = [tuple(pair) for pair in read_pairs([tmp_path / "a.csv"])]
    assert found == [("one", "하나", 1), ("two lines", "두 줄", 2), ("", "", 5), ("three", "셋", 6)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("one,하나\ntwo,old,둘\n", r"a\.csv:2: expected 2 columns, got 3: \['two', 'old', '둘'\]"),
        ('one,하나\n"two,둘\n', r"a\.csv:2: unexpected end of data"),
        ("id,text\n1\n", r"a\.csv:2: expected 2 columns, got 1"),
        ("one,하나\rtwo,둘\r", r"a\.csv:1: new-line character seen in unquoted field"),
    ],
)
def test_broken_table_is_named_by_line(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "a.csv").write_bytes(content.encode())
    with pytest.raises(RegardError, match=problem):
        list(read_pairs([tmp_path / "a.csv"]))


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_office_document_is_refused_by_name(tmp_path: Path, start: bytes) -> None:
    (tmp_path / "a.docx").write_bytes(start + b"\x00\xff\n")
    with pytest.raises(RegardError, match=r"a\.docx:1: a document or an archive, not text"):
        list(read_lines(tmp_path / "a.docx"))

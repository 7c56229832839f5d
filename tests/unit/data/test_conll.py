"""Words with tags: the formats of CoNLL, and what is not one of them."""

from pathlib import Path

import pytest

from regard.data.conll import read_tagged_words
from regard.errors import RegardError

PLAIN = "The\tD\ncat\tN\n\nruns\tV\n"
SPACES = "The D x\ncat N y\n\n\nruns V x\n"
PLUS = (
    "# global.columns = FORM UPOS ROLE\n# a comment\nThe\tDET\tsubject\ncat\tNOUN\tsubject\n\nruns\tVERB\tpredicate\n"
)
CONLLU = (
    "# text = Vámonos al mar\n"
    "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
    "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n"
    "2.1\tno\tno\tADV\t_\t_\t_\t_\t_\t_\n\n"
)


def read(tmp_path: Path, text: str) -> list[tuple[list[str], dict[str, list[str]]]]:
    path = tmp_path / "words"
    path.write_text(text, encoding="utf-8")
    return [(list(one.words), {name: list(tags) for name, tags in one.tags.items()}) for one in read_tagged_words(path)]


def test_words_and_one_tag(tmp_path: Path) -> None:
    assert read(tmp_path, PLAIN) == [(["The", "cat"], {"tag": ["D", "N"]}), (["runs"], {"tag": ["V"]})]


def test_columns_may_be_separated_by_spaces(tmp_path: Path) -> None:
    first, second = read(tmp_path, SPACES)
    assert first == (["The", "cat"], {"tag": ["D", "N"], "tag 2": ["x", "y"]})
    assert second[0] == ["runs"]


def test_columns_may_be_named(tmp_path: Path) -> None:
    first, _ = read(tmp_path, PLUS)
    assert first == (["The", "cat"], {"part of speech": ["DET", "NOUN"], "role": ["subject", "subject"]})


def test_conllu_keeps_syntactic_words(tmp_path: Path) -> None:
    assert read(tmp_path, CONLLU) == [(["Vamos", "nos"], {"part of speech": ["VERB", "PRON"], "role": ["root", "obj"]})]


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_only_a_newline_ends_a_line(tmp_path: Path, mark: str) -> None:
    assert read(tmp_path, f"The{mark}x\tD\r\ncat\tN\r\n") == [([f"The{mark}x", "cat"], {"tag": ["D", "N"]})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no words"),
        ("\n\n", "has no words"),
        ("cat\nruns\n", ":1 has a word without a tag"),
        ("The\tD\ncat\tN\tx\n", ":2 has 3 columns; expected 2"),
        ("# global.columns = UPOS\nNOUN\n", "expected FORM and one more"),
    ],
)
def test_other_files_are_errors(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RegardError, match=message):
        read(tmp_path, text)


def test_other_encodings_are_errors(tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes("größe\tN\n".encode("latin-1"))
    with pytest.raises(RegardError, match="not UTF-8"):
        read_tagged_words(tmp_path / "words")

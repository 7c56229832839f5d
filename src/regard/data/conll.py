"""Sentences whose words have tags: CoNLL files, for `regard probe`.

One word on each line, with its tags after a tab (or spaces); an empty line ends a sentence.

    word TAB tag [TAB tag ...]                CoNLL-2003 and alike; the columns are called tag, tag 2, ...
    # global.columns = FORM UPOS ROLE         CoNLL-U Plus: the first line names the columns
    1 TAB word TAB lemma TAB ...              CoNLL-U: ten columns, of which UPOS and DEPREL are read
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RegardError
from regard.files import MEBIBYTE, read_input

MAX_FILE_BYTES = 256 * MEBIBYTE
ADVICE = "Give a file with a word and its tag on each line, separated by a tab."
CONLLU_COLUMNS = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]
TASK_NAMES = {"UPOS": "part of speech", "DEPREL": "role", "ROLE": "role"}  # other columns keep their names
UNREAD_COLUMNS = {"ID", "LEMMA", "XPOS", "FEATS", "HEAD", "DEPS", "MISC"}


@dataclass(frozen=True)
class TaggedSentence:
    """Words, and for each task their tags; `source` is the text that the sentence is a translation of, if any."""

    words: Sequence[str]
    tags: Mapping[str, Sequence[str]]
    source: str = ""


def read_tagged_words(path: Path) -> list[TaggedSentence]:
    """The sentences of a file; lines with unequal columns are an error."""
    try:
        text = read_input(path, max_bytes=MAX_FILE_BYTES, advice=ADVICE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RegardError(f"{path} is not UTF-8: {error}. {ADVICE}") from None
    columns, rows = _read_rows(path, text)
    if columns is None:
        raise RegardError(f"{path} has no words. {ADVICE}")
    form = columns.index("FORM")
    tagged = [
        (TASK_NAMES.get(name, name), at) for at, name in enumerate(columns) if name not in (*UNREAD_COLUMNS, "FORM")
    ]
    return [
        TaggedSentence([row[form] for row in sentence], {name: [row[at] for row in sentence] for name, at in tagged})
        for sentence in rows
    ]


def _read_rows(path: Path, text: str) -> tuple[list[str] | None, list[list[list[str]]]]:
    """The names of the columns, and the rows of each sentence."""
    columns: list[str] | None = None
    sentences: list[list[list[str]]] = [[]]
    for number, ended in enumerate(text.split("\n"), start=1):  # U+2028 and others are part of a word
        line = ended.removesuffix("\r")
        if line.startswith("# global.columns ="):
            columns = line.partition("=")[2].split()
            if "FORM" not in columns or len(columns) < 2:
                raise RegardError(f"{path}:{number} names the columns {' '.join(columns)}; expected FORM and one more.")
        elif not line.strip():
            sentences.append([])
        elif not line.startswith("#") or "\t" in line:  # else a comment, not the word "#"
            row = line.split("\t") if "\t" in line else line.split()
            columns = columns or _guessed_columns(path, number, row)
            if len(row) != len(columns):
                raise RegardError(f"{path}:{number} has {len(row)} columns; expected {len(columns)}. {ADVICE}")
            if columns[0] != "ID" or row[0].isdecimal():  # 1-2 and 1.1 are not words of the text's own
                sentences[-1].append(row)
    return columns, [sentence for sentence in sentences if sentence]


def _guessed_columns(path: Path, number: int, row: list[str]) -> list[str]:
    if len(row) == len(CONLLU_COLUMNS) and re.fullmatch(r"\d+([-.]\d+)?", row[0]):
        return CONLLU_COLUMNS
    if len(row) < 2:
        raise RegardError(f"{path}:{number} has a word without a tag. {ADVICE}")
    return ["FORM", "tag", *(f"tag {number}" for number in range(2, len(row)))]

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair
from regard.errors import RegardError

texts = st.text(st.characters(codec="utf-8"), max_size=20)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz", "PAIRS.TSV"])
def test_a_tab_parts_source_and_target(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "\ufeffone\t하나\r\ntwo\t둘\n")
    assert list(read_pairs([path])) == [Pair("one", "하나", 1), Pair("two", "둘", 2)]


def test_blank_table_line_is_a_blank_pair(tmp_path: Path) -> None:
    for name, line in (("pairs.tsv", "a\tb\n"), ("pairs.jsonl", '{"source": "a", "target": "b"}\n')):
        path = written(tmp_path / name, line + "\n" + line)
        assert list(read_pairs([path])) == [Pair("a", "b", 1), Pair("", "", 2), Pair("a", "b", 3)]


@pytest.mark.parametrize("line", ["no tab", "a\tb\tc", "a\tb\t"])
def test_a_line_needs_exactly_one_tab(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "pairs.tsv", f"good\tgut\n{line}\n")
    with pytest.raises(RegardError, match=r"pairs\.tsv:2: expected a source, one tab and a target"):
        list(read_pairs([path]))


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl"])
def test_an_empty_table_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(RegardError, match="is empty"):
        list(read_pairs([written(tmp_path / name, "")]))


@settings(deadline=None)  # it writes to the disk
@given(source=texts, target=texts, ascii_only=st.booleans())
def test_json_text_becomes_one_line(scratch: Path, source: str, target: str, ascii_only: bool) -> None:
    record = json.dumps({"source": source, "target": target, "score": 0.5}, ensure_ascii=ascii_only)
    (pair,) = read_pairs([written(scratch / "pairs.jsonl", record)])
    for text, read in ((source, pair.source), (target, pair.target)):
        assert "\n" not in read
        assert read.split() == text.split()
        assert read == text or "\n" in text


@pytest.mark.parametrize(
    "record",
    [
        {"source": "one", "target": "하나"},
        {"en": "one", "ko": "하나", "id": 7},
        {"id": 7, "translation": {"ko": "하나", "en": "one", "de": "eins"}},
    ],
)
def test_object_names_its_texts_in_three_ways(tmp_path: Path, record: dict[str, object]) -> None:
    path = written(tmp_path / "pairs.jsonl", json.dumps(record))
    assert list(read_pairs([path], languages=["en", "ko"])) == [Pair("one", "하나", 1)]


def test_the_keys_can_be_chosen(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.jsonl.gz", '{"question": "one", "answer": "하나"}')
    assert list(read_pairs([path], keys=("question", "answer"))) == [Pair("one", "하나", 1)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("plain text", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"source": "a", "target": NaN}', "not JSON"),
        ('{"source": "a", "target": 1e999}', "not JSON"),
        (r'{"source": "a", "target": "\ud800"}', "not JSON"),
        (r'{"source": "a", "target": "\ud800\u0041"}', "not JSON"),
        ('{"source": "a", "target": "b"} {}', "not JSON"),
        ("[1, 2]", "expected a JSON object, got a list"),
        ('"text"', "expected a JSON object, got text"),
        ("null", "expected a JSON object, got null"),
        ('{"translation": ["a", "b"]}', "expected a JSON object, got a list"),
        ('{"source": "a"}', "no 'source' and 'target'; its keys are 'source'"),
        ('{"source": "a", "target": 3}', "'target' must be text, got a number"),
        ('{"source": null, "target": "b"}', "'source' must be text, got null"),
        ('{"source": ["a"], "target": "b"}', "'source' must be text, got a list"),
        ('{"source": true, "target": "b"}', "'source' must be text, got true or false"),
    ],
)
def test_bad_json_is_named_by_line(tmp_path: Path, line: str, problem: str) -> None:
    path = written(tmp_path / "pairs.jsonl", '{"source": "a", "target": "b"}\n' + line + "\n")
    with pytest.raises(RegardError, match=r"pairs\.jsonl:2: ") as raised:
        list(read_pairs([path]))
    assert problem in str(raised.value)

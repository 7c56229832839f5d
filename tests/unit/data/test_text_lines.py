import gzip
import io
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair
from regard.data.text_lines import (
    MAX_LINE_BYTES,
    STREAM_BLOCK_BYTES,
    lines_between,
    read_lines,
    split_lines,
    stream_lines,
)
from regard.errors import RegardError

NOT_LINE_ENDS = "\r\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
lines_of_text = st.lists(
    st.text(st.sampled_from("a 한" + NOT_LINE_ENDS)).filter(lambda line: not line.endswith("\r")), min_size=1
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@settings(deadline=None)  # it writes to the disk
@given(lines=lines_of_text, end=st.sampled_from(["\n", "\r\n"]), suffix=st.sampled_from([".txt", ".txt.gz"]))
def test_a_line_ends_only_at_newline(scratch: Path, lines: list[str], end: str, suffix: str) -> None:
    path = written(scratch / f"text{suffix}", "".join(line + end for line in lines).encode())
    assert list(read_lines(path)) == lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\r", ["a"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf\na\n", ["", "a"]),
        (b"x" * 1_000_000 + b"\ny", ["x" * 1_000_000, "y"]),
    ],
)
def test_line_count_is_preserved(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert list(read_lines(written(tmp_path / "text", content))) == lines


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("첫째\n둘째".encode())))
    assert list(read_lines("-")) == ["첫째", "둘째"]


def test_error_in_standard_input_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good\nb\xffd\n")))
    with pytest.raises(RegardError, match=r"^standard input:2: byte 2 \(0xff\) is not UTF-8"):
        list(read_lines("-"))


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_invalid_utf8_is_named_by_line(tmp_path: Path, bad: bytes) -> None:
    path = written(tmp_path / "text", b"fine\nfine\nnot " + bad + b"\n")
    with pytest.raises(RegardError, match=r"text:3: byte 5 .* is not UTF-8"):
        list(read_lines(path))


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_with_and_without_a_mark(tmp_path: Path, codec: str) -> None:
    path = written(tmp_path / "text", "the man\nthe girl\n".encode(codec))
    with pytest.raises(RegardError, match=r"text:1: .*UTF-8"):
        list(read_lines(path))


def test_file_without_newlines_is_refused_early(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.truncate(100 * MAX_LINE_BYTES)
    with pytest.raises(RegardError, match="zeros:2: the line is longer"):
        list(read_lines(path))


def test_lines_are_read_lazily(tmp_path: Path) -> None:
    lines = read_lines(written(tmp_path / "text", b"good\n\xff\n"))
    assert next(lines) == "good"


@pytest.mark.parametrize("keep", [5, 30, -9, -4])
def test_truncated_gzip_is_an_error_with_the_line(tmp_path: Path, keep: int) -> None:
    packed = gzip.compress(b"".join(b"line %d\n" % number for number in range(10_000)))
    path = tmp_path / "text.gz"
    path.write_bytes(packed[:keep])
    with pytest.raises(RegardError, match=r"text\.gz:\d+: broken gzip data"):
        list(read_lines(path))


@pytest.mark.parametrize("place", [10, -8], ids=["data", "checksum"])
def test_damaged_gzip_is_an_error(tmp_path: Path, place: int) -> None:
    packed = bytearray(gzip.compress(b"one line\n"))
    packed[place] ^= 0xFF
    path = tmp_path / "text.gz"
    path.write_bytes(bytes(packed))
    with pytest.raises(RegardError, match=r"text\.gz:\d: broken gzip data"):
        list(read_lines(path))


def test_plain_text_named_gz_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(b"not packed at all\n")
    with pytest.raises(RegardError, match="Not a gzipped file"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_missing_file_and_a_directory_are_errors(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(RegardError, match="No such file"):
        list(read_lines(tmp_path / f"absent{suffix}"))
    directory = tmp_path / f"directory{suffix}"
    directory.mkdir()
    with pytest.raises(RegardError, match="Is a directory"):
        list(read_lines(directory))


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "secret", b"text\n")
    path.chmod(0)
    was_root = os.geteuid() == 0
    if was_root:  # root may read everything, so look as nobody
        os.seteuid(65534)
    try:
        with pytest.raises(RegardError, match="Permission denied"):
            list(read_lines(path))
    finally:
        if was_root:
            os.seteuid(0)


# --- two files side by side ------------------------------------------------------------------------------------------


def test_line_n_is_paired_with_line_n(tmp_path: Path) -> None:
    source = written(tmp_path / "train.en", b"one\n\nthree\n")
    target = written(tmp_path / "train.ko.gz", "하나\n둘\n셋".encode())
    assert list(read_pairs([source, target])) == [Pair("one", "하나", 1), Pair("", "둘", 2), Pair("three", "셋", 3)]


def test_unusual_characters_keep_both_sides_aligned(tmp_path: Path) -> None:
    source = written(tmp_path / "s", f"a{NOT_LINE_ENDS}a\nb\n".encode())
    target = written(tmp_path / "t", b"A\r\nB\r\n")
    assert [pair.target for pair in read_pairs([source, target])] == ["A", "B"]
    assert next(read_pairs([source, target])).source == f"a{NOT_LINE_ENDS}a"


@pytest.mark.parametrize("order", [("long", "short"), ("short", "long")])
def test_unequal_counts_name_both_and_first_lone_line(tmp_path: Path, order: tuple[str, str]) -> None:
    written(tmp_path / "long", b"x\n" * 1500)
    written(tmp_path / "short", b"x\n" * 1200)
    with pytest.raises(
        RegardError, match=r"long has 1,500 lines and .*short has 1,200; .*long:1201 has no counterpart"
    ):
        list(read_pairs([tmp_path / name for name in order]))


def test_empty_files_are_an_error(tmp_path: Path) -> None:
    written(tmp_path / "s", b"")
    written(tmp_path / "t", b"")
    with pytest.raises(RegardError, match="s is empty"):
        list(read_pairs([tmp_path / "s", tmp_path / "t"]))
    written(tmp_path / "t", b"one\n")
    with pytest.raises(RegardError, match=r"t has 1 lines and .*s has 0"):
        list(read_pairs([tmp_path / "s", tmp_path / "t"]))


@given(lines=lines_of_text)
def test_streamed_lines_equal_the_lines_of_the_file(lines: list[str], scratch: Path) -> None:
    path = written(scratch / "arriving", "\n".join(lines).encode())
    assert [line for chunk in stream_lines(path) for line in chunk] == list(read_lines(path))


def test_line_longer_than_one_chunk_stays_whole(tmp_path: Path) -> None:
    long = "a" * (3 * STREAM_BLOCK_BYTES + 1)
    path = written(tmp_path / "long", f"first\n{long}\n\nlast".encode())
    assert [line for chunk in stream_lines(path) for line in chunk] == ["first", long, "", "last"]


def test_lines_before_an_invalid_one_are_passed_on(tmp_path: Path) -> None:
    path = written(tmp_path / "bad", b"\xef\xbb\xbfone\ntwo\nthr\xff\nfour\n")
    seen: list[str] = []
    with pytest.raises(RegardError, match=r"bad:3: byte 4 \(0xff\)"):
        seen.extend(line for chunk in stream_lines(path) for line in chunk)
    assert seen == ["one", "two"]


def test_endless_streamed_line_does_not_fill_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "endless", b"a" * (MAX_LINE_BYTES + 2 * STREAM_BLOCK_BYTES))
    with pytest.raises(RegardError, match="endless:1: the line is longer"):
        list(stream_lines(path))


@settings(deadline=None)  # it writes to the disk
@given(
    lines=st.lists(st.sampled_from(["", "a", "\ufeff", "b\r", "긴 줄", " \u2028"]), max_size=9),
    has_end=st.booleans(),
    size=st.integers(1, 4),
    done=st.integers(0, 9),
)
def test_parts_of_a_file_hold_every_line(scratch: Path, lines: list[str], has_end: bool, size: int, done: int) -> None:
    path = written(scratch / "parts.txt", ("\n".join(lines) + ("\n" if has_end and lines else "")).encode())
    expected = list(read_lines(path))
    done = min(done, len(expected))
    parts = list(split_lines(path, size, done=done))
    assert [line for part in parts for line in lines_between(part)] == expected[done:]
    assert sum(len(lines_between(part)) <= size for part in parts) == len(parts)

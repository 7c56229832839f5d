"""Characters that other programs take for the end of a line: every command counts newlines alone."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Regard

ODD = [
    "one\0cat",
    "two\u2028dog",
    "red\u2029cat\r",
    "big\x85dog",
    "cat\x0bsees",
    "dog\x0cruns",
    "one\x1ecat",
    "two\rdog",
]


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    """The same lines as a source, a target, and a file of pairs with carriage returns."""
    files = {name: tmp_path / f"odd.{name}" for name in ("en", "ko", "tsv", "jsonl")}
    for name in ("en", "ko"):
        files[name].write_bytes("".join(f"{line}\n" for line in ODD).encode())
    files["tsv"].write_bytes("".join(f"{line}\t{line}\r\n" for line in ODD).encode())
    rows = [json.dumps({"source": line, "target": line}, ensure_ascii=False) for line in ODD]
    files["jsonl"].write_bytes("".join(f"{row}\r\n" for row in rows).encode())
    return files


def test_translate_writes_a_line_for_each_line(
    regard: Regard, transformer: Path, odd: dict[str, Path], tmp_path: Path
) -> None:
    ended = regard("translate", transformer, "--input", odd["en"], "--output", tmp_path / "out")
    assert ended.code == 0, ended.err
    assert (tmp_path / "out").read_bytes().count(b"\n") == len(ODD)


@pytest.mark.parametrize("files", [("en", "ko"), ("tsv",), ("jsonl",)])
def test_evaluate_and_compare_count_the_same_lines(
    regard: Regard, transformer: Path, odd: dict[str, Path], files: tuple[str, ...]
) -> None:
    names = ("--source", "--reference") if len(files) == 2 else ("--pairs",)
    given = [word for name, file in zip(names, files, strict=True) for word in (name, odd[file])]
    for command in ("evaluate", "compare"):
        ended = regard(command, transformer, *given, "--resamples", 1, "--json")
        assert ended.code == 0, ended.err
        figures = json.loads(ended.out)
        assert figures.get("models", [figures])[0]["sentences"] == len(ODD)


def test_align_writes_a_line_for_each_pair(regard: Regard, transformer: Path, odd: dict[str, Path]) -> None:
    ended = regard("align", transformer, "--source", odd["en"], "--target", odd["ko"])
    assert ended.code == 0, ended.err
    assert ended.out.count("\n") == len(ODD)


@pytest.mark.parametrize("files", [("en", "ko"), ("tsv",), ("jsonl",)])
def test_inspect_counts_the_same_pairs(regard: Regard, odd: dict[str, Path], files: tuple[str, ...]) -> None:
    names = ("--source", "--target") if len(files) == 2 else ("--pairs",)
    given = [word for name, file in zip(names, files, strict=True) for word in (name, odd[file])]
    ended = regard("data", "inspect", *given, "--json")
    assert ended.code == 0, ended.err
    assert [corpus["read"] for corpus in json.loads(ended.out)["data"]["corpora"]] == [len(ODD)]

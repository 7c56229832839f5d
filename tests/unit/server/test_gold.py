"""Sentences whose links are known."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.server.api.runs import GoldFiles


def written(directory: Path, source: list[str], target: list[str], links: list[str]) -> GoldFiles:
    for suffix, lines in (("en", source), ("ko", target), ("align", links)):
        (directory / f"test.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return GoldFiles(directory / "test")


def test_links_are_turned_for_the_other_direction(tmp_path: Path) -> None:
    files = written(tmp_path, ["AI changes the world"], ["AI가 세상을 바꾼다"], ["0-0 1-2 2p1 3-1"])
    there, back = files.load(("en", "ko")), files.load(("ko", "en"))
    assert there.links[0].sure == {(0, 0), (1, 2), (3, 1)}
    assert there.links[0].possible == {(0, 0), (1, 2), (2, 1), (3, 1)}
    assert back.links[0].sure == {(0, 0), (2, 1), (1, 3)}
    assert (back.sources, back.targets) == (there.targets, there.sources)


def test_worked_example_is_first_and_long_sentences_omitted(tmp_path: Path) -> None:
    sources = ["a b c", "x " * 30, "the world changes AI", *[f"d e f {number}" for number in range(30)]]
    files = written(tmp_path, sources, sources, ["0-0"] * len(sources))
    examples = files.examples(("en", "ko"))
    assert (examples[0].source, examples[0].links) == ("AI changes the world", [(0, 0), (1, 2), (3, 1)])
    assert len(examples) == 9
    assert max(len(one.source.split()) for one in examples) <= 12


def test_languages_without_files_have_no_gold(tmp_path: Path) -> None:
    files = written(tmp_path, ["a b c"], ["a b c"], ["0-0"])
    assert files.load(("en", "de")).sources == []
    assert files.load(("", "")).sources == []
    assert GoldFiles().examples(("en", "ko")) == []
    assert [one.source for one in files.examples(("en", "ko"))] == ["a b c"]


def test_unfitting_links_and_unequal_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="links words that its sentences do not have"):
        written(tmp_path, ["a b"], ["a"], ["5-0"]).load(("en", "ko"))
    with pytest.raises(RegardError, match="1 sources, 1 targets and 2 alignments"):
        written(tmp_path, ["a b"], ["a"], ["0-0", "0-0"]).load(("en", "ko"))

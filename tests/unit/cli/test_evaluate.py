import json
import shutil
import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.commands import Regard
from tests.support.toy_language import with_languages


def wish(corpus: Path) -> list[object]:
    return ["--source", corpus / "test.en", "--reference", corpus / "test.ko", "--beam", 1, "--resamples", 20]


def test_scores_come_with_intervals_signatures_and_lengths(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("evaluate", transformer, *wish(corpus))
    assert ended.code == 0, ended.err
    assert "24 sentences" in ended.out
    assert "1–10" in ended.out
    for name in ("BLEU", "chrF2", "TER"):
        assert f"\n{name:<6} nrefs:1|bs:20|" in ended.out
    assert "tok:char" in ended.out or "tok:ko-mecab" in ended.out  # the target is Korean


def test_json_holds_the_same_and_files_are_written(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    texts, plot = tmp_path / "out.ko", tmp_path / "length.svg"
    ended = regard("evaluate", transformer, *wish(corpus), "--json", "--output", texts, "--plot", plot, "--lowercase")
    figures = json.loads(ended.out)
    assert [score["name"] for score in figures["scores"]] == ["BLEU", "chrF2", "TER"]
    assert all(score["low"] <= score["high"] for score in figures["scores"])
    assert "case:lc" in figures["scores"][0]["signature"]
    assert sum(bucket["count"] for bucket in figures["lengths"]) == figures["sentences"] == 24
    assert len(texts.read_text(encoding="utf-8").splitlines()) == 24
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")  # noqa: S314  (our own file)


def test_the_reference_against_itself_is_perfect(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    texts = tmp_path / "own"
    regard("evaluate", transformer, *wish(corpus), "--output", texts)
    again = regard("evaluate", transformer, "--source", corpus / "test.en", "--reference", texts, "--beam", 1, "--json")
    scores = {score["name"]: score["value"] for score in json.loads(again.out)["scores"]}
    assert round(scores["chrF2"]) == 100
    assert scores["TER"] == 0


def test_either_spelling_of_a_reference_scores_the_same(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    text = (corpus / "test.ko").read_text(encoding="utf-8")
    apart = tmp_path / "apart.ko"
    apart.write_text(unicodedata.normalize("NFD", text), encoding="utf-8")
    assert apart.read_text(encoding="utf-8") != text
    composed, decomposed = (
        json.loads(regard("evaluate", transformer, *wish(corpus), "--reference", reference, "--json").out)
        for reference in (corpus / "test.ko", apart)
    )
    assert composed["scores"][0]["value"] > 0
    assert (decomposed["scores"], decomposed["lengths"]) == (composed["scores"], composed["lengths"])


def test_unknown_tokenisation_fails_before_translating(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("evaluate", transformer, *wish(corpus), "--tokenize", "14b")
    assert ended.code == 2
    assert "the tokenisation is '14b'; choose one of 13a" in ended.err


def test_without_languages_the_reference_decides_the_tokeniser(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    nameless = with_languages(transformer, tmp_path / "nameless", "[]")
    ended = regard("evaluate", nameless, *wish(corpus))
    assert "warning: no model names its languages; BLEU is tokenised for ko" in ended.err
    assert "tok:char" in ended.out or "tok:ko-mecab" in ended.out
    same = shutil.copy(corpus / "test.en", tmp_path / "same.en")
    english = ["--source", corpus / "test.en", "--reference", same, "--beam", 1, "--resamples", 2]
    ended = regard("evaluate", nameless, *english)
    assert ("warning" in ended.err, "tok:13a" in ended.out) == (False, True)


@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_a_plot_of_another_name_is_refused(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, verb: str
) -> None:
    ended = regard(verb, transformer, *wish(corpus), "--plot", tmp_path / "q.jpg")
    assert ended.code == 2
    assert "q.jpg does not end with .svg" in ended.err
    assert not (tmp_path / "q.jpg").exists()


def test_every_format_of_pairs_gives_the_same_scores(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    sides = [(corpus / f"test.{code}").read_text("utf-8").splitlines() for code in ("en", "ko")]
    rows = list(zip(*sides, strict=True))
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{own}</seg></tuv><tuv xml:lang="ko"><seg>{other}</seg></tuv></tu>'
        for own, other in rows
    )
    contents = {
        "tsv": "".join(f"{own}\t{other}\n" for own, other in rows),
        "jsonl": "".join(json.dumps({"en": own, "ko": other}) + "\n" for own, other in rows),
        "po": "\n".join(f'msgid "{own}"\nmsgstr "{other}"\n' for own, other in rows),
        "tmx": f'<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx><body>{units}</body></tmx>',
    }
    options = ["--resamples", 1, "--json"]
    plain = regard("evaluate", transformer, "--source", corpus / "test.en", "--reference", corpus / "test.ko", *options)
    for name, content in contents.items():
        (tmp_path / f"test.{name}").write_text(content, "utf-8")
        ended = regard("evaluate", transformer, "--pairs", tmp_path / f"test.{name}", *options)
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["scores"] == json.loads(plain.out)["scores"]


def test_swapped_test_set_is_refused(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    sides = [(corpus / f"test.{code}").read_text("utf-8").splitlines() for code in ("ko", "en")]
    (tmp_path / "test.tsv").write_text("".join("\t".join(row) + "\n" for row in zip(*sides, strict=True)), "utf-8")
    for command in ("evaluate", "compare"):
        ended = regard(command, transformer, "--pairs", tmp_path / "test.tsv")
        assert ended.code == 2
        assert "but the model translates en to ko. Swap them" in ended.err
        accepted = regard(command, transformer, "--pairs", tmp_path / "test.tsv", "--skip-language-check")
        assert accepted.code == 0, accepted.err

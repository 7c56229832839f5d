"""Several corpora, swapped columns, and the report before training."""

import json
import re
from pathlib import Path

import pytest

from regard.config import Config
from regard.files import CONFIG_FILE
from tests.support.commands import Regard
from tests.unit.cli.test_resuming import SMALL_MODEL

PO = 'msgid "two red {name}"\nmsgstr "둘 빨간 {name}"\n\nmsgid "one cat 7"\nmsgstr "하나 고양이"\n'


def tsv(corpus: Path, path: Path, *, split: str = "train", swapped: bool = False) -> Path:
    sides = [(corpus / f"{split}.{code}").read_text("utf-8").splitlines() for code in ("en", "ko")]
    rows = zip(*(reversed(sides) if swapped else sides), strict=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def files(corpus: Path, tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "b.po").write_text(PO, "utf-8")
    return {
        "a": tsv(corpus, tmp_path / "a.tsv"),
        "b": tmp_path / "b.po",
        "valid": tsv(corpus, tmp_path / "valid.tsv", split="valid"),
        "swapped": tsv(corpus, tmp_path / "swapped.tsv", swapped=True),
        "run": tmp_path / "run",
    }


def test_every_file_of_pairs_is_trained_on(regard: Regard, files: dict[str, Path]) -> None:
    wish = ["--pairs", files["a"], "--pairs", files["b"], "--valid-pairs", files["valid"], "--languages", "en,ko"]
    ended = regard("train", *wish, "--run", files["run"], *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert "kept 202 of 202 pairs" in ended.out
    assert f"{files['a']}: kept 200 of 200 pairs; dropped none; weight 1, 99% of an epoch" in ended.out
    assert f"{files['b']}: kept 2 of 2 pairs" in ended.out
    assert [one.files for one in Config.load(files["run"] / CONFIG_FILE).data.sources] == [
        [str(files["a"])],
        [str(files["b"])],
    ]


def test_sources_of_a_recipe_have_weights(regard: Regard, files: dict[str, Path]) -> None:
    sources = [{"files": [str(files["a"])], "weight": 0.5}, {"files": [str(files["b"])], "weight": 50}]
    inline = json.dumps(sources).replace('": ', '" = ')
    wish = ["--set", f"data.sources={inline}", "--set", "data.languages=['en', 'ko']"]
    ended = regard("train", *wish, "--run", files["run"], *SMALL_MODEL, "--set", "training.steps=2")
    assert ended.code == 0, ended.err
    assert "weight 50, 51% of an epoch" in ended.out or "weight 50, 50% of an epoch" in ended.out


@pytest.mark.parametrize("weight", [0, -1, 1000, "'x'"])
def test_weight_out_of_range_names_its_key(regard: Regard, files: dict[str, Path], weight: object) -> None:
    value = f"[{{files=['{files['a']}'], weight={weight}}}]"
    ended = regard("train", "--set", f"data.sources={value}", "--run", files["run"])
    assert ended.code == 2
    assert "data.sources[0].weight: " in ended.err


def test_train_and_sources_exclude_each_other(regard: Regard, files: dict[str, Path]) -> None:
    value = f"[{{files=['{files['a']}']}}]"
    ended = regard("train", "--pairs", files["a"], "--set", f"data.sources={value}", "--run", files["run"])
    assert ended.code == 2
    assert "data.sources: data.train is set as well" in ended.err


def test_option_with_one_value_is_refused_twice(regard: Regard, files: dict[str, Path]) -> None:
    for command in (["train"], ["data", "inspect"]):
        ended = regard(*command, "--valid-pairs", files["valid"], "--valid-pairs", files["a"], "--pairs", files["a"])
        assert ended.code == 2
        assert "--valid-pairs is given 2 times, but has one value" in ended.err


@pytest.mark.parametrize("role", ["--pairs", "--valid-pairs"])
def test_swapped_columns_are_refused_before_training(regard: Regard, files: dict[str, Path], role: str) -> None:
    good = ["--pairs", files["a"], "--languages", "en,ko", "--run", files["run"]]
    ended = regard("train", *good, role, files["swapped"], *SMALL_MODEL)
    assert ended.code == 2
    assert f"{files['swapped']}: the sources are ko and the targets are en" in ended.err
    assert "--languages ko,en" in ended.err
    assert not files["run"].exists()
    accepted = regard("train", *good, role, files["swapped"], *SMALL_MODEL, "--skip-language-check")
    assert accepted.code == 0, accepted.err


def test_inspect_prints_each_finding_and_writes_a_page(regard: Regard, files: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    wish = ["--pairs", files["a"], "--pairs", files["b"], "--valid-pairs", files["a"], "--languages", "en,ko"]
    ended = regard("data", "inspect", *wish, "--report", page)
    assert ended.code == 0, ended.err
    assert re.search(r"pairs read +200 +2", ended.out)
    assert re.search(r"numbers differ +0 \(0\.0%\) +1 \(50\.0%\)", ended.out)
    assert "warning: 200 of the 200 validation pairs are training pairs too" in ended.out
    html = page.read_text("utf-8")
    assert "b.po" in html
    assert "숫자가 다름" in html
    assert not re.search(r"<script|https?://|\bsrc=|url\(", html.replace("http-equiv", ""))
    assert not (tmp_path / "runs").exists()


def test_inspect_as_json_has_the_same_figures(regard: Regard, files: dict[str, Path]) -> None:
    ended = regard("data", "inspect", "--pairs", files["a"], "--languages", "en,ko", "--json")
    assert ended.code == 0, ended.err
    [corpus] = json.loads(ended.out)["data"]["corpora"]
    assert corpus["read"] == 200 == corpus["kept"] + sum(corpus["dropped"].values())


def test_dry_run_measures_and_writes_nothing(regard: Regard, files: dict[str, Path]) -> None:
    wish = ["--pairs", files["a"], "--languages", "en,ko", "--run", files["run"], *SMALL_MODEL]
    ended = regard("train", *wish, "--dry-run", "--json", "--set", "training.steps=20")
    assert ended.code == 0, ended.err
    cost = json.loads(ended.out)["cost"]
    assert cost["parameters"] > 0
    assert cost["model_bytes"] >= 4 * cost["parameters"]
    assert cost["training_seconds"] == pytest.approx(20 * cost["seconds_per_step"])
    assert cost["disk_bytes"] > cost["model_bytes"]
    assert not files["run"].exists()


def test_report_must_be_a_page(regard: Regard, files: dict[str, Path]) -> None:
    ended = regard("data", "inspect", "--pairs", files["a"], "--report", "report.txt")
    assert (ended.code, "Give a name that ends with .html" in ended.err) == (2, True)


def test_training_names_the_signature_of_bleu(regard: Regard, files: dict[str, Path]) -> None:
    wish = ["--pairs", files["a"], "--languages", "en,ko", "--run", files["run"], *SMALL_MODEL]
    ended = regard("train", *wish)
    assert ended.code == 0, ended.err
    assert re.search(r"BLEU +nrefs:1\|case:mixed\|eff:no\|tok:(char|ko-mecab[^|]*)\|smooth:exp\|version:", ended.out)
    if "tok:char" in ended.out:
        assert "Korean BLEU is scored by characters" in ended.out

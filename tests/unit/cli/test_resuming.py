"""A run that is gone on with: what nobody names stays as it began, and its data are found wherever they are."""

import shutil
from pathlib import Path

import pytest

from regard.config import Config, DataConfig
from regard.files import CONFIG_FILE
from regard.training.run_directory import load_run_config
from tests.support.commands import Regard

SMALL_MODEL = [
    word
    for setting in (
        "model={kind='rnn', embedding_width=8, encoder={width=8}, decoder={width=8}}",
        "tokenizer.model_type=word",
        "training.steps=1",
        "training.precision=float32",
        "training.threads=1",
    )
    for word in ("--set", setting)
]
MORE = ["--resume", "--set", "training.steps=2"]


def sides(directory: Path | str, split: str, prefix: str = "--") -> list[object]:
    return [f"{prefix}source", Path(directory, f"{split}.en"), f"{prefix}target", Path(directory, f"{split}.ko")]


def data_of(run: Path) -> DataConfig:
    return Config.load(run / CONFIG_FILE).data


def test_resume_keeps_validation_files_and_languages(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    valid = sides(corpus, "valid", "--valid-")
    begun = regard("train", *sides(corpus, "train"), *valid, "--languages", "en-GB,ko", "--run", run, *SMALL_MODEL)
    assert begun.code == 0, begun.err
    named = data_of(run)
    assert (named.valid, named.languages) == ([str(path) for path in valid[1::2]], ["en-GB", "ko"])

    ended = regard("train", *sides(corpus, "train"), "--run", run, *SMALL_MODEL, *MORE)
    assert ended.code == 0, ended.err
    assert data_of(run) == named
    assert not (run / "held-out.jsonl").exists()


def test_resume_keeps_languages_without_file_suffix(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    rows = zip(*((corpus / f"train.{code}").read_text("utf-8").splitlines() for code in ("en", "ko")), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{own}\t{other}\n" for own, other in rows), "utf-8")
    wish = ["--pairs", tmp_path / "pairs.tsv", "--run", tmp_path / "run", *SMALL_MODEL]
    assert regard("train", *wish, "--languages", "en,ko").code == 0
    ended = regard("train", *wish, *MORE)
    assert ended.code == 0, ended.err
    assert data_of(tmp_path / "run").languages == ["en", "ko"]


@pytest.fixture
def stopped(regard: Regard, corpus: Path, tmp_path: Path) -> Path:
    """A run that validates on pairs held out of its own file of pairs."""
    rows = zip(*((corpus / f"train.{code}").read_text("utf-8").splitlines() for code in ("en", "ko")), strict=True)
    pairs = [f"{own}\t{other}\n" for own, other in rows]
    (tmp_path / "pairs.tsv").write_text("".join(pairs), "utf-8")
    (tmp_path / "more.tsv").write_text("".join(pairs[:50]), "utf-8")
    swapped = ["\t".join(reversed(pair.rstrip("\n").split("\t"))) + "\n" for pair in pairs]
    (tmp_path / "swapped.tsv").write_text("".join(swapped), "utf-8")
    wish = ["--pairs", tmp_path / "pairs.tsv", "--languages", "en,ko", "--run", tmp_path / "run"]
    assert regard("train", *wish, *SMALL_MODEL).code == 0
    return tmp_path


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--pairs", "pairs.tsv", "--languages", "ko,en"], "data.languages was ['en', 'ko'] and is now ['ko', 'en']"),
        (["--pairs", "pairs.tsv", "--languages", "en,ja"], "data.languages was ['en', 'ko'] and is now ['en', 'ja']"),
        (["--pairs", "more.tsv"], "the training files were"),
        (["--pairs", "swapped.tsv"], "the training files were"),
        (["--pairs", "pairs.tsv", "--pairs", "more.tsv"], "the training files were"),
        (["--pairs", "pairs.tsv", "--valid-pairs", "more.tsv"], "data.valid was held out of the training files"),
        (["--set", "data.train=['more.tsv']"], "the training files were"),
        (["--set", "data.languages=['ko', 'en']"], "data.languages was"),
    ],
)
def test_resume_refuses_other_pairs_and_languages(
    regard: Regard, stopped: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], reason: str
) -> None:
    monkeypatch.chdir(stopped)
    before = {path: path.read_bytes() for path in (stopped / "run").rglob("*") if path.is_file()}
    ended = regard("train", *options, "--run", "run", "--resume", "--set", "training.steps=2")
    assert ended.code == 2
    assert reason in ended.err
    assert "in a new run with --run DIR" in ended.err
    assert {path: path.read_bytes() for path in (stopped / "run").rglob("*") if path.is_file()} == before


def test_resume_refuses_columns_swapped_in_place(regard: Regard, stopped: Path) -> None:
    (stopped / "swapped.tsv").replace(stopped / "pairs.tsv")
    before = {path: path.read_bytes() for path in (stopped / "run").rglob("*") if path.is_file()}
    ended = regard("train", "--run", stopped / "run", *MORE)
    assert ended.code == 2
    assert "the sources and targets of its training files were swapped" in ended.err
    assert {path: path.read_bytes() for path in (stopped / "run").rglob("*") if path.is_file()} == before


def test_resume_inspects_changed_pairs_again(regard: Regard, stopped: Path, tmp_path: Path) -> None:
    page = tmp_path / "data.html"
    same = regard("train", "--run", stopped / "run", *MORE)
    assert "in the wrong language" not in same.out + same.err
    assert regard("train", "--run", stopped / "run", *MORE, "--report", page).code == 0
    assert page.exists()
    pairs, swapped = ((stopped / name).read_text("utf-8").splitlines(True) for name in ("pairs.tsv", "swapped.tsv"))
    (stopped / "pairs.tsv").write_text("".join(pairs[:150] + swapped[150:]), "utf-8")
    changed = regard("train", "--run", stopped / "run", *MORE)
    assert changed.code == 0, changed.err
    assert "of the checked pairs: in the wrong language" in changed.out + changed.err


def test_resume_refuses_validation_pairs_edited_in_place(regard: Regard, stopped: Path) -> None:
    named, valid = ["--pairs", stopped / "pairs.tsv", "--languages", "en,ko"], stopped / "more.tsv"
    begun = regard("train", *named, "--valid-pairs", valid, "--run", stopped / "other", *SMALL_MODEL)
    assert begun.code == 0, begun.err
    valid.write_bytes(b"".join(valid.read_bytes().splitlines(keepends=True)[:-1]))
    ended = regard("train", "--run", stopped / "other", *MORE)
    assert ended.code == 2
    assert "the examples that it is validated on were changed" in ended.err
    (stopped / "other" / "validation.sha256").unlink()
    assert regard("train", "--run", stopped / "other", *MORE).code == 0


@pytest.mark.parametrize("moves", [False, True], ids=["copied", "moved"])
def test_resume_accepts_the_same_pairs_elsewhere(regard: Regard, stopped: Path, moves: bool) -> None:
    (stopped / "elsewhere").mkdir()
    shutil.copy(stopped / "pairs.tsv", stopped / "elsewhere" / ("pairs.tsv" if moves else "copy.tsv"))
    if moves:
        (stopped / "pairs.tsv").unlink()
    [pairs] = (stopped / "elsewhere").iterdir()
    ended = regard("train", "--pairs", pairs, "--run", stopped / "run", *MORE)
    assert ended.code == 0, ended.err
    assert "resuming from step 1" in ended.out


def test_resume_keeps_the_held_out_pairs(regard: Regard, stopped: Path) -> None:
    held_out = (stopped / "run" / "held-out.jsonl").read_bytes()
    assert regard("train", "--pairs", stopped / "pairs.tsv", "--run", stopped / "run", *MORE).code == 0
    assert (stopped / "run" / "held-out.jsonl").read_bytes() == held_out


def test_single_pair_cannot_be_split_for_validation(regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("one cat\t고양이 하나\n" * 2 + "\t\n", "utf-8")
    ended = regard("train", "--pairs", tmp_path / "pairs.tsv", "--run", tmp_path / "run", *SMALL_MODEL)
    assert ended.code == 2
    assert "pairs.tsv: every pair with words (1 that differ) is held out to validate on" in ended.err


def test_moved_run_finds_its_data(
    regard: Regard, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, far = tmp_path / "home", tmp_path / "other" / "place"
    shutil.copytree(corpus, home / "data", ignore=shutil.ignore_patterns("runs"))
    far.mkdir(parents=True)
    monkeypatch.chdir(home)
    begun = regard("train", *sides("data", "train"), *sides("data", "valid", "--valid-"), "--run", "mine", *SMALL_MODEL)
    assert begun.code == 0, begun.err
    (home / "mine").rename(far / "mine")
    monkeypatch.chdir(far)
    ended = regard("train", "--run", "mine", *MORE)
    assert ended.code == 0, ended.err
    assert "resuming from step 1" in ended.out

    shutil.copytree(home / "data", far / "data" / "copy")
    (home / "data").rename(tmp_path / "gone")
    assert regard("train", "--run", "mine", "--resume", "--set", "training.steps=3").code == 2


def test_local_paths_precede_the_recorded_directory(
    regard: Regard, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(corpus, home / "data", ignore=shutil.ignore_patterns("runs"))
    monkeypatch.chdir(home)
    assert regard("train", *sides("data", "train"), "--run", "mine", *SMALL_MODEL).code == 0
    here = shutil.copytree(home, tmp_path / "here")
    monkeypatch.chdir(here)

    def first() -> Path:
        return Path(load_run_config(home / "mine").data.train[0]).resolve()

    assert first() == here / "data" / "train.en"
    shutil.rmtree(here / "data")
    assert first() == home / "data" / "train.en"
    shutil.rmtree(home / "data")
    failed = regard("train", "--run", home / "mine", "--resume")
    assert failed.code == 2
    assert f"there is no such file in {here} nor in {home}" in failed.err

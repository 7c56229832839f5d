from pathlib import Path

import pytest

from regard.manifest import kind_of
from tests.cli.toy import Regard, in_a_process


def given(teacher: object, corpus: Path, run: Path, *more: object) -> list[object]:
    options = ["--source", corpus / "train.en", "--recipe", corpus / "transformer.toml", "--run", run]
    return ["distill", teacher, *options, "--set", "training.steps=30", "--beam", 1, *more]


@pytest.fixture(scope="module")
def student(transformer: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student of two teachers, which are the same one."""
    run = tmp_path_factory.mktemp("distill") / "student"
    ended = in_a_process(*given(f"{transformer},{transformer}", corpus, run))
    assert ended.code == 0, ended.err
    return run


def test_a_student_is_trained_on_what_its_teachers_say(
    regard: Regard, student: Path, transformer: Path, corpus: Path
) -> None:
    sources, targets = (
        (student / "distilled" / f"train.{side}").read_text().splitlines() for side in ("source", "target")
    )
    taught = regard("translate", transformer, "--input", corpus / "train.en", "--beam", 1).out.splitlines()
    spoken = list(zip((corpus / "train.en").read_text().splitlines(), taught, strict=True))
    assert list(zip(sources, targets, strict=True)) == [pair for pair in spoken if pair[1]]
    assert sorted(path.name for path in (student / "distilled").iterdir()) == ["mark", "train.source", "train.target"]
    assert str(student / "distilled" / "train.target") in (student / "config.toml").read_text()


def test_a_student_is_exported_with_its_shortlist(regard: Regard, student: Path, corpus: Path) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    assert kind_of(student / "export-int8") == "ctranslate2"
    assert (student / "export-int8" / "vmap.txt").read_text().startswith("\t")
    ended = regard("translate", student / "export-int8", "--input", corpus / "test.en")
    assert (ended.code, ended.out.count("\n")) == (0, 24)


def test_a_run_that_is_there_is_left_alone(regard: Regard, student: Path, transformer: Path, corpus: Path) -> None:
    ended = regard(*given(transformer, corpus, student))
    assert ended.code == 2
    assert "holds a run already" in ended.err


def test_teachers_of_other_vocabularies_are_refused(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "few.en").write_text("one cat\n")
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "other", "--set", "training.steps=1",
                   "--set", "tokens.kind=char")  # fmt: skip
    assert ended.code == 0
    both = f"{transformer},{tmp_path / 'other'}"
    ended = regard("distill", both, "--source", tmp_path / "few.en", "--recipe", corpus / "transformer.toml", "--run",
                   tmp_path / "run")  # fmt: skip
    assert ended.code == 2
    assert "have other vocabularies" in ended.err
    assert not (tmp_path / "run" / "config.toml").exists()

from pathlib import Path

import pytest

from regard.files import directory_kind
from tests.support.commands import Regard, run_command


def given(teacher: object, corpus: Path, run: Path, *more: object) -> list[object]:
    options = ["--source", corpus / "train.en", "--recipe", corpus / "transformer.toml", "--run", run]
    return ["distill", teacher, *options, "--set", "training.steps=30", "--beam", 1, *more]


@pytest.fixture(scope="module")
def student(transformer: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student of two teachers, which are the same one."""
    run = tmp_path_factory.mktemp("distill") / "student"
    ended = run_command(*given(f"{transformer},{transformer}", corpus, run))
    assert ended.code == 0, ended.err
    return run


def test_student_is_trained_on_teacher_translations(
    regard: Regard, student: Path, transformer: Path, corpus: Path
) -> None:
    sources, targets = (
        (student / "distilled" / f"train.{side}").read_text().splitlines() for side in ("source", "target")
    )
    taught = regard("translate", transformer, "--input", corpus / "train.en", "--beam", 1).out.splitlines()
    spoken = list(zip((corpus / "train.en").read_text().splitlines(), taught, strict=True))
    assert list(zip(sources, targets, strict=True)) == [pair for pair in spoken if pair[1]]
    assert sorted(path.name for path in (student / "distilled").iterdir()) == [
        "fingerprint.txt",
        "train.source",
        "train.target",
    ]
    assert str(student / "distilled" / "train.target") in (student / "config.toml").read_text()


def test_a_student_is_exported_with_its_shortlist(regard: Regard, student: Path, corpus: Path) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    assert directory_kind(student / "ctranslate2-int8") == "ctranslate2"
    assert (student / "ctranslate2-int8" / "vmap.txt").read_text().startswith("\t")
    ended = regard("translate", student / "ctranslate2-int8", "--input", corpus / "test.en")
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
                   "--set", "tokenizer.model_type=char")  # fmt: skip
    assert ended.code == 0
    both = f"{transformer},{tmp_path / 'other'}"
    ended = regard("distill", both, "--source", tmp_path / "few.en", "--recipe", corpus / "transformer.toml", "--run",
                   tmp_path / "run")  # fmt: skip
    assert ended.code == 2
    assert "have different vocabularies" in ended.err
    assert not (tmp_path / "run" / "config.toml").exists()


def test_student_without_model_gets_size_from_corpus(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    recipe, run = tmp_path / "student.toml", tmp_path / "run"
    recipe.write_text(f"[data]\nvalid = ['{corpus}/valid.en', '{corpus}/valid.ko']\nlanguages = ['en', 'ko']\n")
    ended = regard(*given(transformer, corpus, run, "--recipe", recipe, "--set", "training.steps=1"))
    assert ended.code == 0, ended.err
    assert "200 pairs, about" in ended.out
    assert directory_kind(run / "ctranslate2-int8") == "ctranslate2"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--set", "training.stepz=2"], "training.stepz: unknown key"),
        (["--set", "data.valid=[]"], "data.valid is empty"),
        (["--set", "model={kind='captioner-rnn'}", "--set", "data.languages=[]"], "the student describes images"),
        (["--set", "data.languages=['en', 'fr']"], "translates en to ko, but the student's data.languages are"),
        (["--source", "v.tsv"], "v.tsv contains pairs, but monolingual text is read here"),
        (["--source", "{empty}"], "empty is empty. Give sentences for the teachers"),
    ],
)
def test_errors_are_reported_before_teachers_start(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, more: list[str], problem: str
) -> None:
    (tmp_path / "empty").touch()
    given_more = [word.format(empty=tmp_path / "empty") if "empty" in word else word for word in more]
    ended = regard(*given(transformer, corpus, tmp_path / "run", *given_more))
    assert ended.code == 2
    assert problem in ended.err
    assert "translate 200 lines" not in ended.err
    assert not (tmp_path / "run").exists()


def test_drops_and_missing_export_are_reported(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "gaps").write_text("\n".join(["one cat", "", "two dog", "  ", "red dog runs"]) + "\n")
    teachers, student = (
        f"{transformer},{transformer}",
        ["--set", "model.decoder_autoregression=ssru", "--set", "training.steps=1"],
    )
    ended = regard(*given(teachers, corpus, tmp_path / "run", "--source", tmp_path / "gaps", *student))
    assert ended.code == 0, ended.err
    before, _, after = ended.err.partition("kept 3 of 5 lines; dropped: 2 blank\n")
    assert 'the student will not be exported: model.decoder_autoregression is "ssru"' in before
    assert "export" not in after


def test_teacher_without_output_is_reported(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "blank").write_text("\n \n")
    ended = regard(*given(f"{transformer},{transformer}", corpus, tmp_path / "run", "--source", tmp_path / "blank"))
    assert ended.code == 2
    assert "of 2 lines (2 blank) the teacher translated none" in ended.err


def test_an_export_is_no_teacher(regard: Regard, student: Path, corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")
    ended = regard(*given(student / "ctranslate2-int8", corpus, tmp_path / "run"))
    assert ended.code == 2
    assert "ctranslate2-int8 is an export for ctranslate2. Give the model it was made from." in ended.err

"""A distilled corpus is made part by part: what is there stays, another source or teacher begins anew."""

from pathlib import Path

import pytest

from regard.bundle import save_bundle
from regard.config import TransformerConfig, TransformerStackConfig
from regard.inference.open import load
from regard.training import distillation
from regard.training.distillation import translate_with_teachers
from tests.support.random_translators import random_translator, texts

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    save_bundle(
        tmp_path / "teacher", random_translator(TransformerConfig(encoder=STACK, decoder=STACK, norm="pre"), seed=7)
    )
    return tmp_path / "teacher"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").write_text("\n".join([*texts(26), "", "  ba \t be ", *texts(4)]) + "\n")
    return tmp_path / "source"


def test_lines_pair_with_finished_nonempty_translations(teacher: Path, source: Path, tmp_path: Path) -> None:
    files = translate_with_teachers([teacher], source, tmp_path / "corpus", beam_size=2)
    sources, targets = (path.read_text().splitlines() for path in files)
    given = [line for line in (" ".join(line.split()) for line in source.read_text().splitlines()) if line]
    output = load(teacher).translate(given, beam_size=2, nbest=1)
    whole = [(own, one.text) for own, one in zip(given, output, strict=True) if one.text and one.is_finished]
    assert list(zip(sources, targets, strict=True)) == whole
    assert len(whole) > 8
    assert {one.is_finished for one in output if one.text} == {True, False}


def test_stopped_distillation_continues_with_its_files(
    teacher: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distillation, "PART_LINES", 8)
    whole = [path.read_bytes() for path in translate_with_teachers([teacher], source, tmp_path / "whole", beam_size=1)]

    def stop(count: int) -> None:
        done.append(count)
        if len(done) == 2:
            raise KeyboardInterrupt

    done: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        translate_with_teachers([teacher], source, tmp_path / "corpus", beam_size=1, progress=stop)
    assert not (tmp_path / "corpus" / "train.target").exists()
    [parts] = (tmp_path / "corpus").iterdir()
    made = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert len(made) == 2
    kept: dict[str, int] = {}
    files = translate_with_teachers(
        [teacher],
        source,
        tmp_path / "corpus",
        beam_size=1,
        progress=lambda _: kept.update({path.name: path.stat().st_mtime_ns for path in parts.iterdir()}),
    )
    assert [path.read_bytes() for path in files] == whole
    assert made.items() <= kept.items()
    assert len(kept) == 4


def test_finished_file_depends_on_source_and_beam(teacher: Path, source: Path, tmp_path: Path) -> None:
    asked: list[int] = []
    for beam, expected in ((1, True), (1, False), (2, True)):
        asked.clear()
        translate_with_teachers([teacher], source, tmp_path / "corpus", beam_size=beam, progress=asked.append)
        assert bool(asked) == expected
    source.write_text("ba be bi\n")
    _, target = translate_with_teachers([teacher], source, tmp_path / "corpus", beam_size=2, progress=asked.append)
    assert len(target.read_text().splitlines()) == 1

import gzip
import json
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.cli import translate
from regard.inference.translate_files import FileTask, TranslatedChunk
from regard.metrics.alignment import parse_alignment
from tests.support.commands import Regard, command, environment, run_command, started

ENGINE_LINE = "engine: ctranslate2, float32\n"


@pytest.mark.slow
def test_every_input_line_gives_one_output_line(transformer: Path) -> None:
    given = "one cat\n\n   \nbig dog runs\r\nred\x00cat\u2028two\r one".encode()
    ended = run_command("translate", transformer, given=given, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert (ended.code, ended.err) == (0, ENGINE_LINE)
    lines = ended.out.split("\n")
    assert len(lines) == 6
    assert lines[5] == ""
    assert lines[1:3] == ["", ""]
    assert lines[0]
    assert all("가" <= character <= "힣" or character in " ⁇" for line in lines for character in line)


@pytest.mark.slow
def test_pipe_is_translated_line_by_line(transformer: Path) -> None:
    with started(
        command("translate", transformer), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"one cat\n", b"\n", b"two big dog\n"):
            process.stdin.write(text)
            process.stdin.flush()
            answer = process.stdout.readline()  # would wait for ever if the line waited for others
            assert answer.endswith(b"\n")
            assert bool(answer.strip()) == bool(text.strip())
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_reader_that_leaves_early_causes_no_error(transformer: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_text("one cat\n" * 6000)
    with started(
        command("translate", transformer, "--beam", 1, "--input", many),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ENGINE_LINE.encode()
        assert process.wait(timeout=60) == 128 + signal.SIGPIPE


def test_files_are_translated_with_their_alignments(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    texts, links = tmp_path / "out.ko", tmp_path / "out.align"
    ended = regard("translate", transformer, "--input", corpus / "test.en", "--output", texts, "--alignments", links)
    assert (ended.code, ended.out) == (0, "")
    outputs, alignments = texts.read_text(encoding="utf-8").splitlines(), links.read_text().splitlines()
    sources = (corpus / "test.en").read_text().splitlines()
    assert len(sources) == len(outputs) == len(alignments)
    for source, output, alignment in zip(sources, outputs, alignments, strict=True):
        for own, other in parse_alignment(alignment).sure:
            assert own < len(source.split())
            assert other < len(output.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.align", "out.ko"]


@pytest.mark.slow
def test_stopped_run_leaves_its_progress_only(transformer: Path, tmp_path: Path) -> None:
    many, output = tmp_path / "many", tmp_path / "out"
    many.write_text("one cat sees two dog\n" * 200_000)
    with started(command("translate", transformer, "--input", many, "--output", output), env=environment()) as process:
        while not (tmp_path / "out.progress.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "out.partial", "out.progress.json"]


def test_scores_follow_a_tab(regard: Regard, transformer: Path, corpus: Path) -> None:
    plain = regard("translate", transformer, "--input", corpus / "valid.en").out.splitlines()
    scored = [
        line.split("\t")
        for line in regard("translate", transformer, "--input", corpus / "valid.en", "--scores").out.splitlines()
    ]
    assert [text for text, _ in scored] == plain
    assert all(float(score) <= 0 for _, score in scored)


def test_nbest_lines_are_numbered_and_fall_in_score(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("translate", transformer, "--input", corpus / "valid.en", "--beam", 4, "--nbest", 3)
    rows = [line.split(" ||| ") for line in ended.out.splitlines()]
    assert [int(row[0]) for row in rows] == [number for number in range(10) for _ in range(3)]
    for start in range(0, len(rows), 3):
        scores = [float(row[2]) for row in rows[start : start + 3]]
        assert scores == sorted(scores, reverse=True)


def test_json_has_every_field_of_a_line(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("one cat\n\n")
    options = ["--json", "--nbest", 2, "--alignments", tmp_path / "links"]
    first, blank = map(json.loads, regard("translate", transformer, "--input", source, *options).out.splitlines())
    assert first["line"] == 1
    assert first["text"] == first["nbest"][0]["text"]
    assert len(first["nbest"]) == 2
    assert parse_alignment(first["alignment"]).sure
    assert (blank["line"], blank["text"], blank["alignment"]) == (2, "", "")


def test_a_beam_narrower_than_nbest_is_refused(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("translate", transformer, "--input", corpus / "valid.en", "--beam", 2, "--nbest", 3)
    assert ended.code == 2
    assert "error: 1 problem in the decoding options:\n  decoding: nbest is 3 and beam_size 2" in ended.err


def test_line_over_the_limit_is_cut_with_warning(regard: Regard, attending: Path, tmp_path: Path) -> None:
    source = tmp_path / "long"
    source.write_text("one cat\n" + "cat " * 250_000 + "\n" + "cat " * 1024 + "\n")
    ended = regard("translate", attending, "--input", source, "--beam", 1)
    assert ended.code == 0
    assert ended.out.count("\n") == 3
    engine, warning = ended.err.splitlines()
    assert engine.startswith("engine: torch (model.kind is 'rnn-attention'")
    assert warning == f"warning: {source}:2 has more than 1024 tokens; only its beginning was translated"


def test_bad_text_in_a_file_publishes_no_output(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"one cat\nfine\ncaf\xe9\n")
    ended = regard("translate", transformer, "--input", source, "--output", output)
    assert ended.code == 2
    assert f"{source}:3: byte 4 (0xe9) is not UTF-8" in ended.err
    assert not output.exists()


@pytest.mark.slow
def test_lines_before_invalid_text_in_pipe_are_translated(transformer: Path) -> None:
    ended = run_command("translate", transformer, given=b"one cat\n\ncaf\xe9\n")
    assert ended.code == 2
    assert ended.out.count("\n") == 2
    assert "standard input:3: byte 4 (0xe9) is not UTF-8" in ended.err


@pytest.mark.parametrize("name", ["v.tsv", "v.TSV.gz", "v.jsonl", "v.tmx"])
def test_pairs_are_not_translated_as_one_sentence(regard: Regard, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("one cat\t하나 고양이\n", encoding="utf-8")
    ended = regard("translate", "nowhere", "--input", tmp_path / name)
    assert (ended.code, ended.out) == (2, "")
    assert f"{name} contains pairs, but monolingual text is read here" in ended.err


def test_a_dash_is_standard_output(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["translate", transformer, "--input", corpus / "valid.en", "--beam", 1]
    assert regard(*words, "--output", "-").out == regard(*words).out
    ended = regard(*words, "--alignments", "-")
    assert ended.code == 2
    assert "standard output is for the translations. Give a file." in ended.err
    assert not list(tmp_path.iterdir())


def test_translations_and_alignments_need_different_files(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["translate", transformer, "--input", corpus / "valid.en", "--output", "out"]
    for spelling in ("out", tmp_path / "out", f"../{tmp_path.name}/out"):
        ended = regard(*words, "--alignments", spelling)
        assert ended.code == 2
        assert "out is given for both the translations and the alignments" in ended.err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("place", ["/dev/full", "standard output"])
def test_a_full_disk_is_named_with_advice(transformer: Path, corpus: Path, place: str) -> None:
    words = ["translate", transformer, "--beam", 1, "--input", corpus / "valid.en"]
    words += ["--output", place] if place == "/dev/full" else []
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            command(*words), stdout=full, stderr=subprocess.PIPE, env=environment(), check=False, text=True, timeout=300
        )
    assert ended.returncode == 1
    assert ended.stderr.removeprefix(ENGINE_LINE) == (
        f"error: {place} cannot be written: No space left on device. Free some space, or write elsewhere.\n"
    )


def test_pattern_translates_each_file_into_a_directory(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    parts, lines = tmp_path / "parts", (corpus / "test.en").read_bytes()
    parts.mkdir()
    (parts / "a.gz").write_bytes(gzip.compress(lines))
    (parts / "b.txt").write_bytes(lines)
    words = ["translate", transformer, "--beam", 1]
    ended = regard(*words, "--input", parts / "*", "--output", tmp_path / "out")
    assert ended.code == 0, ended.err
    expected = regard(*words, "--input", corpus / "test.en").out.encode()
    assert gzip.decompress((tmp_path / "out" / "a.gz").read_bytes()) == expected
    assert (tmp_path / "out" / "b.txt").read_bytes() == expected
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.gz", "b.txt"]


def test_pattern_that_cannot_be_translated_is_refused(regard: Regard, tmp_path: Path) -> None:
    for name in ("a/same.txt", "b/same.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("one cat\n")
    for source, more, problem in (
        ("*.none", [], "no file matches"),
        ("a/*", [], "Give a directory for the outputs"),
        ("a/*", ["--output", tmp_path / "a" / "same.txt"], "Give a directory for the outputs"),
        ("a/*", ["--output", tmp_path / "a"], "is also an input file"),
        ("*/same.txt", ["--output", tmp_path / "out"], "several files named same.txt"),
        ("a/*", ["--output", tmp_path / "out", "--alignments", tmp_path / "links"], "--alignments is for one input"),
    ):
        ended = regard("translate", "nowhere", "--input", tmp_path / source, *more)
        assert ended.code == 2
        assert problem in ended.err


def test_ray_without_files_is_refused(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("translate", transformer, "--input", corpus / "test.en", "--ray")
    assert ended.code == 2
    assert "--ray translates files into files" in ended.err


def test_resumed_progress_may_be_estimated_lower(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first chunk counts the bytes that were read ahead, so that later estimates of the position are lower."""
    monkeypatch.setattr(translate, "REPORT_SECONDS", 0)
    (tmp_path / "in").write_text("ba\n" * 1_000_000)
    task = FileTask(tmp_path / "in", [tmp_path / "out"])
    translator: Any = SimpleNamespace(max_source_tokens=10)
    report = translate.ProgressReport([task], translator, lambda _count: None)
    report(task, 900_000, TranslatedChunk(10, 60, [b""], []))
    report(task, 900_010, TranslatedChunk(10, 0, [b""], []))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith("after line 900,000")
    assert [line.split(":")[0] for line in lines[1:]] == ["100.0%", "90.0%"]


def test_unknown_words_of_an_argument_are_named(regard: Regard, transformer: Path) -> None:
    ended = regard("translate", transformer, "one cat", "one xylophone")
    assert ended.code == 0
    assert "warning: the model has not learned xylophone; that part of the translation is a guess" in ended.err
    assert "cat" not in ended.err

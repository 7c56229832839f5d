"""What is not a file, streams that are closed, and options that no machine can meet: an error at once, in words."""

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from regard.cli import run
from regard.config import Config
from regard.data.captions import read_caption_json
from regard.data.images import encode_png, load_image
from regard.data.pair_readers import read_pairs
from regard.data.text_lines import read_lines
from regard.errors import RegardError
from regard.inference.evaluation import EvaluationReport
from regard.worlds.scenes import read_boxes
from tests.support.commands import command, environment
from tests.support.hostile_files import (
    NOT_FILES,
    bounded,
    dangling_link,
    link_to_itself,
    make_fifo,
    make_socket,
    write_small_bundle,
)

# Every command with each file that it reads; {bad} is not a file, {model} and {text} are good.
READING = [
    "translate {model} --input {bad}",
    "translate {model} --input {bad}.gz",
    "complete {model} --input {bad}",
    "fill {model} --input {bad}",
    "caption {model} {bad}",
    "show --run {bad} --out {tmp}/page.html",
    "info {bad}",
    "export {bad} --to ctranslate2 {tmp}/out",
    "export {model} --to ctranslate2 {tmp}/out --shortlist {bad}",
    "import efficientnet-lite0 {bad} --out {tmp}/out",
    "import {bad} --out {tmp}/out",
    "import {bad}.argosmodel --out {tmp}/out",
    "align {model} --source {bad} --target {text}",
    "align {model} --source {text} --target {bad}",
    "align {model} --source {text} --target {text} --gold {bad}",
    "align --hypothesis {bad} --gold {text}",
    "evaluate {model} --source {bad} --reference {text}",
    "evaluate {model} --source {text} --reference {bad}",
    "evaluate {bad} --source {text} --reference {pairs}",
    "compare {model} {bad} --source {text} --reference {text}",
    "train {bad}",
    "train {bad}.toml",
    "train --pairs {bad}.tsv --languages en,ko --run {tmp}/run",
    "train --pairs {bad}.tmx --languages en,ko --run {tmp}/run",
    "train --pairs {bad}.po --languages en,ko --run {tmp}/run",
    "train --pairs {bad}.jsonl --languages en,ko --run {tmp}/run",
    "train --source {bad}.en --target {text} --languages en,ko --run {tmp}/run",
    "train --pairs {pairs} --valid-pairs {bad}.tsv --languages en,ko --run {tmp}/run",
    "data inspect --pairs {pairs} --valid-pairs {bad}.tsv --languages en,ko",
    "train --text {bad} --languages en --run {tmp}/run",
    "train --run {bad} --resume",
    "distill {model} --source {bad} --run {tmp}/run",
    "distill {model} --source {text} --recipe {bad} --run {tmp}/run",
    "serve {bad}",
]
READERS: dict[str, Callable[[Path], object]] = {
    "config": Config.load,
    "report": EvaluationReport.read,
    "boxes": read_boxes,
    "image": lambda path: load_image(path, size=8),
    "captions": read_caption_json,
    "lines": lambda path: list(read_lines(path)),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_bundle(tmp_path_factory.mktemp("small") / "model")


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("line", READING)
def test_what_is_not_a_file_is_refused(
    line: str, kind: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("ba be\n")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("one cat\t고양이 하나\ntwo dogs\t개 둘\n", encoding="utf-8")
    places = {"bad": tmp_path / "bad", "model": model, "text": text, "pairs": pairs, "tmp": tmp_path}
    arguments = [word.format(**places) for word in line.split()]
    [bad] = [word for word in arguments if word.startswith(str(tmp_path / "bad"))]
    NOT_FILES[kind](Path(bad))
    with bounded():
        code = run(arguments)
    printed = capsys.readouterr().err
    assert code == 2
    assert printed.lower().count("error: ") == 1
    assert "defect" not in printed


# Every command with a file that it writes.
WRITING = [
    "translate {model} --input {text} --output {bad}",
    "translate {model} --input {text} --output {tmp}/out --alignments {bad}",
    "classify {model} --input {text} --output {bad}",
    "evaluate {model} --source {text} --reference {text} --output {bad}",
    "compare {model} --source {text} --reference {text} --report {bad}",
    "align {model} --source {text} --target {text} --output {bad}",
    "data inspect --pairs {text}.tsv --languages en,ko --report {bad}.html",
]


@pytest.mark.parametrize("kind", ["socket", "long name", "closed descriptor"])
@pytest.mark.parametrize("line", WRITING)
def test_outputs_that_cannot_be_written_are_refused_first(
    line: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a model is loaded: here is none."""
    text = tmp_path / "text"
    text.write_text("ba be\n")
    bad = {"socket": "bad", "long name": "b" * 300, "closed descriptor": "/dev/fd/999"}[kind]
    places = {"bad": tmp_path / bad, "model": "nowhere", "text": text, "tmp": tmp_path}
    if kind == "socket":
        make_socket(Path(line.split()[-1].format(**places)))
    with bounded():
        assert run([word.format(**places) for word in line.split()]) == 2
    printed = capsys.readouterr().err
    expected = {"socket": "is a socket", "long name": "File name too long", "closed descriptor": "/dev/fd/999"}[kind]
    assert expected in printed
    assert "nowhere" not in printed
    assert "defect" not in printed


@pytest.mark.parametrize("line", ["fill {model}", "translate {model}", "show {model} --layer", "info", "translate x a"])
def test_errors_do_not_repeat_a_long_text(line: str, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([*(word.format(model=model) for word in line.split()), "a" * 100_000])
    assert len(capsys.readouterr().err) < 5_000


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("reader", READERS)
def test_readers_refuse_what_is_not_a_file(reader: str, kind: str, tmp_path: Path) -> None:
    NOT_FILES[kind](tmp_path / "bad")
    with bounded(), pytest.raises(RegardError, match="cannot be read"):
        READERS[reader](tmp_path / "bad")


@pytest.mark.parametrize("line", [b"ba be bi\tbo\n", bytes(1000)], ids=["text", "zeros"])
@pytest.mark.parametrize("suffix", [".txt.gz", ".tsv.gz", ".jsonl.gz", ".po.gz", ".tmx.gz"])
def test_a_gzip_bomb_is_refused(suffix: str, line: bytes, tmp_path: Path) -> None:
    bomb = tmp_path / f"bomb{suffix}"
    with gzip.open(bomb, "wb") as file:
        for _ in range(64):
            file.write(line * (2**20 // len(line)))
    assert bomb.stat().st_size < 2**20
    with bounded(), pytest.raises(RegardError):
        for _ in read_lines(bomb) if suffix == ".txt.gz" else read_pairs([bomb], languages=["en", "ko"]):
            pass


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full", "2> /dev/full", "| head -c 1"])
@pytest.mark.parametrize("line", ["--help", "nonsense", "translate {model}"])
def test_closed_streams_leave_no_traceback(line: str, closed: str, model: Path, tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    shell = " ".join(command(*line.format(model=model).split()))
    script = f"set -o pipefail; exec 2> {errors}; {shell} {closed}"
    ended = subprocess.run(
        ["bash", "-c", script], input=b"ba be\n" * 9, capture_output=True, env=environment(), check=False, timeout=300
    )
    printed = errors.read_text() + ended.stdout.decode(errors="replace")
    assert ended.returncode in (0, 1, 2, 141)
    assert "Traceback" not in printed
    assert "Exception ignored" not in printed
    assert "defect" not in printed


@pytest.mark.parametrize("closed", ["2>&-", "2> /dev/full"])
def test_work_goes_on_without_standard_error(closed: str, model: Path) -> None:
    shell = " ".join(command("translate", model))
    ended = subprocess.run(
        ["bash", "-c", f"{shell} {closed}"], input=b"ba be\n", stdout=subprocess.PIPE, env=environment(), check=False
    )
    assert (ended.returncode, ended.stdout.count(b"\n")) == (0, 1)


@pytest.mark.parametrize("line", ["info", "info {model}", "show {model} ba"])
def test_a_closed_pipe_has_its_own_code(line: str, model: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = command(*line.format(model=model).split())
    ended = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False, timeout=300)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize(
    "setting",
    [
        "training.threads=100000",
        "training.threads=-1",
        "training.gradient_accumulation=2147483647",
        "model.encoder.layers=1000000",
        "model.encoder.width=1000000000",
        "model.decoder.ffn_width=100000",
        ".".join("a" * 10_000) + "=1",
        "training.steps=" + "[" * 100_000,
        "training.steps=" + "9" * 100_000,
        'data.train=["a\\u0000b"]',
    ],
    ids=lambda setting: setting[:30],
)
def test_impossible_settings_are_refused(setting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bounded():
        code = run(["train", "world-transformer", "--run", str(tmp_path / "run"), "--set", setting])
    printed = capsys.readouterr().err
    assert code == 2
    assert "defect" not in printed
    assert len(printed) < 2_000


@pytest.mark.parametrize(
    "line",
    [
        "translate {model} a\udcff",
        "translate {model} a\udcff --json",
        "classify {model} a\udcff",
        "fill {model} a\udcff",
        "train --pairs {tmp}/\udcff.tsv --languages en,ko --run {tmp}/run",
        "train --pairs {tmp}/a.tsv --languages en,ko --run {tmp}/\udcff",
        "train --pairs {tmp}/a.tsv --languages \udcff,ko --run {tmp}/run",
        "train --pairs {tmp}/a.tsv --set data.languages=['\udcff','ko'] --run {tmp}/run",
        "data inspect --pairs {tmp}/\udcff.tsv --languages en,ko --json",
        "evaluate {model} --source {tmp}/a.tsv --reference {tmp}/\udcff.tsv --json",
        "show {model} a\udcff",
    ],
)
def test_arguments_that_are_not_utf8(
    line: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.tsv", "\udcff.tsv"):
        (tmp_path / name).write_text("one cat\t고양이 하나\ntwo dogs\t개 둘\n", encoding="utf-8")
    assert run([word.format(model=model, tmp=tmp_path) for word in line.split()]) == 2
    assert "defect" not in capsys.readouterr().err


def test_a_defect_says_what_to_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("regard.cli.info.find_model_directory", lambda _path: 1 / 0)
    assert run(["info", "model"]) == 1
    printed = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero (test_environment.py:" in printed
    assert "This is a defect of regard. Report it as an issue" in printed


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 4 bytes"), "enough memory"),
        (MemoryError(), "enough memory"),
        (RuntimeError("can't start new thread"), "no more threads"),
        (OSError(9, "Bad file descriptor"), "standard output is closed"),
    ],
)
def test_shortages_are_not_defects(
    error: Exception, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_path: Path) -> Path:
        raise error

    monkeypatch.setattr("regard.cli.info.find_model_directory", fail)
    assert run(["info", "model"]) == 1
    shown = capsys.readouterr().err
    assert printed in shown
    assert "defect" not in shown


@pytest.mark.parametrize("name", ["\udcff", "a\nb", "a\tb"], ids=ascii)
@pytest.mark.parametrize(
    "line",
    [
        "info {model} --json",
        "translate {model} ba --json",
        "evaluate {model} --pairs {tmp}/pairs.tsv --resamples 2 --json",
        "compare {model} {model} --pairs {tmp}/pairs.tsv --resamples 2 --json",
        "show {model} ba --out {tmp}/page.html",
    ],
)
def test_models_may_have_any_name(
    line: str, name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text("ba be\tda de\n")
    shutil.copytree(model, tmp_path / name)
    places = {"model": tmp_path / name, "tmp": tmp_path}
    assert run([word.format(**places) for word in line.split()]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\tb"], ids=ascii)
def test_names_of_inputs_stay_on_one_line(
    name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    image = tmp_path / f"{name}.png"
    image.write_bytes(encode_png(np.zeros((8, 8, 3), np.uint8)))
    assert run(["caption", "scenes", str(image), str(image)]) == 0
    assert run(["classify", "world-classifier", f"the man{name}", "the girl"]) == 0
    lines = capsysbinary.readouterr().out.removesuffix(b"\n").split(b"\n")
    assert [line.count(b"\t") for line in lines] == [1, 1, 1, 1]


@pytest.mark.parametrize("attack", [link_to_itself, dangling_link, make_fifo])
@pytest.mark.parametrize(
    "line",
    [
        "export {model} --to ctranslate2 {bad}",
        "export {model} --to argos {bad}",
        "prune {model} --heads 1 --source {text} --reference {text} --out {bad}",
        "import efficientnet-lite0 --out {bad}",
    ],
)
def test_new_directories_replace_nothing(
    line: str, attack: Callable[[Path], None], model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("ba be\n")
    attack(tmp_path / "bad")
    places = {"bad": tmp_path / "bad", "model": model, "text": tmp_path / "text"}
    assert run([word.format(**places) for word in line.split()]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("event", ["{}", "[]", '{"event": "progress"}', '{"event": "x", "step": 1}', "nan", "\x00"])
def test_non_events_are_left_out_of_a_page(event: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").write_text("")
    (tmp_path / "events.jsonl").write_text(f"{event}\n")
    run(["show", "--run", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert "defect" not in capsys.readouterr().err


@pytest.mark.parametrize("probe", ["\udcff", " "], ids=ascii)
def test_a_probe_is_checked_before_the_demo_starts(
    probe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--no-browser", "--directory", str(tmp_path / "demo"), "--probe", probe]) == 2
    assert not (tmp_path / "demo").exists()
    assert "error: " in capsys.readouterr().err

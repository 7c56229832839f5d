"""Files are translated chunk by chunk: in order, complete, refused if something changed, and never by two at once."""

import gzip
from pathlib import Path

import msgspec
import pytest

from regard.bundle import save_bundle
from regard.config import TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference import translate_files
from regard.inference.open import load
from regard.inference.translate_files import (
    FileTask,
    OutputFormat,
    TranslatedChunk,
    local_chunks,
    partial_path,
    progress_path,
    translation_settings,
)
from regard.inference.translator import Translator
from regard.locks import try_lock
from tests.support.hostile_files import NOT_FILES, bounded
from tests.support.random_translators import random_translator, texts

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
LINES = [*texts(9), "", "   ", *texts(5)]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    directory = tmp_path_factory.mktemp("bundle") / "model"
    save_bundle(directory, random_translator(TransformerConfig(encoder=STACK, decoder=STACK)))
    return load(directory, task="translation", engine="torch")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.inference.translator.CHUNK_LINES", 4)
    monkeypatch.setattr("regard.inference.translate_files.CHUNK_LINES", 4)


@pytest.fixture
def task(tmp_path: Path) -> FileTask:
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return FileTask(tmp_path / "in.txt", [tmp_path / "out.gz", tmp_path / "links"])


def run(translator: Translator, task: FileTask, *, stop_after: int | None = None, beam_size: int = 1) -> list[int]:
    """Translate a file, or some chunks of it; returns the lines that were done before each chunk."""
    config, wanted = translator.decoding_config(beam_size=beam_size), OutputFormat(alignments=True)
    starts: list[int] = []

    def report(_task: FileTask, done: int, _chunk: TranslatedChunk) -> None:
        starts.append(done)
        if len(starts) == stop_after:
            raise KeyboardInterrupt

    settings = translation_settings([task], translator, config, wanted)
    chunks = local_chunks([task], translator, config, wanted)
    translate_files.translate_files([task], chunks, settings, progress_path(task.outputs[0]), report)
    return starts


def test_interrupted_file_continues_after_saved_chunks(translator: Translator, task: FileTask) -> None:
    run(translator, task)
    whole = [path.read_bytes() for path in task.outputs]
    expected = [one.text for one in translator.translate(LINES, beam_size=1)]
    assert gzip.decompress(whole[0]).decode().split("\n")[:-1] == expected
    with pytest.raises(KeyboardInterrupt):
        run(translator, task, stop_after=3)  # the third chunk is written, but not recorded
    assert run(translator, task) == [8, 12]
    assert [path.read_bytes() for path in task.outputs] == whole
    assert not progress_path(task.outputs[0]).exists()


def test_changed_settings_are_refused_by_name(translator: Translator, task: FileTask) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(translator, task, stop_after=2)
    with pytest.raises(RegardError, match=r"since then the options changed. .* delete this file"):
        run(translator, task, beam_size=2)
    task.source.write_text("another text\n")
    with pytest.raises(RegardError, match="since then the input changed"):
        run(translator, task)


@pytest.mark.parametrize("name", ["out.gz.progress.json", "out.gz.partial", "links.partial"])
@pytest.mark.parametrize("kind", NOT_FILES)
def test_state_that_is_not_a_file_is_refused(translator: Translator, task: FileTask, kind: str, name: str) -> None:
    NOT_FILES[kind](task.source.parent / name)
    with bounded(), pytest.raises(RegardError, match="Delete it"):
        run(translator, task)


@pytest.mark.parametrize("changes", [{"file": 2}, {"file": -1}, {"lines": -1}, {"sizes": [1]}, {"sizes": [-1, -1]}])
def test_damaged_progress_is_refused(translator: Translator, task: FileTask, changes: dict[str, object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(translator, task, stop_after=2)
    path = progress_path(task.outputs[0])
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | changes))
    with pytest.raises(RegardError, match="Delete it to translate from the start"):
        run(translator, task)


def test_failure_before_the_first_save_leaves_nothing(translator: Translator, task: FileTask) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(translator, task, stop_after=1)
    assert sorted(path.name for path in task.source.parent.iterdir()) == ["in.txt"]


def test_two_processes_never_write_one_output(translator: Translator, task: FileTask) -> None:
    with partial_path(task.outputs[0]).open("wb") as file:
        assert try_lock(file.fileno())
        with pytest.raises(RegardError, match="is being written by another process"):
            run(translator, task)


def test_damaged_progress_is_an_error_with_advice(translator: Translator, task: FileTask) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(translator, task, stop_after=2)
    partial_path(task.outputs[0]).write_bytes(b"")
    with pytest.raises(RegardError, match="is shorter than was recorded"):
        run(translator, task)
    progress_path(task.outputs[0]).write_text("{")
    with pytest.raises(RegardError, match="Delete it to translate from the start"):
        run(translator, task)

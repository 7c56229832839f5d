"""Translate text files of any size: lines in order, saved as they go, continued after any interruption.

A file is translated in chunks of lines. Each chunk is appended to `OUTPUT.partial`; then a small progress file, which
counts the finished lines and bytes, is replaced. A run that is killed anywhere continues after the last counted chunk:
it cuts `OUTPUT.partial` to the counted bytes. Chunks always hold the same lines, so the engine gets the same batches,
and the outputs are byte for byte those of an undisturbed run.
"""

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Meta

from regard.config import DecodingConfig
from regard.data.text_lines import numbered_lines
from regard.errors import RegardError
from regard.files import MANIFEST_NAME, MEBIBYTE, atomic_file, read_input
from regard.inference.translator import CHUNK_LINES, Translation, Translator
from regard.locks import try_lock
from regard.metrics.alignment import GoldAlignment, format_alignment
from regard.struct_decoding import decode_json

PARTIAL_SUFFIX, PROGRESS_SUFFIX = ".partial", ".progress.json"
GZIP_LEVEL = 6
START_OVER = "Delete it to translate from the start."

# --- lines to bytes --------------------------------------------------------------------------------------------------


class OutputFormat(msgspec.Struct, frozen=True):
    """What is written for each line."""

    nbest: int = 1
    scores: bool = False
    as_json: bool = False
    alignments: bool = False  # a second output, in Pharaoh format

    def text(self, number: int, outputs: list[Translation]) -> str:
        """The text for line `number`, from 1; it ends with a newline."""
        best = outputs[0]
        if self.as_json:
            record = {"line": number} | _translation_record(best)
            record |= {"is_truncated": best.is_truncated, "is_finished": best.is_finished}
            record |= {"nbest": [_translation_record(output) for output in outputs]} if self.nbest > 1 else {}
            return msgspec.json.encode(record).decode() + "\n"
        if self.nbest > 1:
            return "".join(f"{number - 1} ||| {output.text} ||| {output.score:.4f}\n" for output in outputs)
        return f"{best.text}\t{best.score:.4f}\n" if self.scores else f"{best.text}\n"


def _translation_record(output: Translation) -> dict[str, Any]:
    record = {"text": output.text, "score": output.score, "log_probability": output.log_probability}
    return record | ({"alignment": _alignment_line(output)} if output.alignment else {})


def _alignment_line(output: Translation) -> str:
    links = output.alignment.links if output.alignment else frozenset()
    return format_alignment(GoldAlignment(sure=links, possible=links))


class TranslatedChunk(NamedTuple):
    """Consecutive lines of one file, translated."""

    lines: int
    source_bytes: int
    contents: list[bytes]  # for each output: the translations, and the alignments if they are wanted
    truncated: list[int]  # numbers of the lines of which the model read only the beginning


def translate_chunks(
    translator: Translator, lines: Iterable[str], config: DecodingConfig, wanted: OutputFormat, *, done: int = 0
) -> Iterator[TranslatedChunk]:
    """The translated lines, as many at a time as the translator sorts together; `done` lines came before them."""
    source_bytes = 0

    def counted() -> Iterator[str]:
        nonlocal source_bytes
        for line in lines:
            source_bytes += len(line.encode()) + 1
            yield line

    needs_scores = wanted.scores or wanted.as_json or wanted.nbest > 1
    translated = translator.translate_lines(counted(), config, align=wanted.alignments, scores=needs_scores)
    while chunk := list(islice(translated, CHUNK_LINES)):
        contents = ["".join(wanted.text(number, outputs) for number, outputs in enumerate(chunk, done + 1)).encode()]
        if wanted.alignments:
            contents.append("".join(f"{_alignment_line(outputs[0])}\n" for outputs in chunk).encode())
        truncated = [number for number, outputs in enumerate(chunk, done + 1) if outputs[0].is_truncated]
        yield TranslatedChunk(len(chunk), source_bytes, contents, truncated)
        done, source_bytes = done + len(chunk), 0


def compress_for(output: Path, content: bytes) -> bytes:
    """The content as it is written to this file: for .gz one gzip member, which other members may follow."""
    return gzip.compress(content, GZIP_LEVEL, mtime=0) if output.suffix.lower() == ".gz" else content


# --- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileTask:
    """One file to translate."""

    source: Path
    outputs: list[Path]  # the translations, and the alignments if they are wanted


class TranslationProgress(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a run of `translate_files` is."""

    settings: dict[str, str]  # everything that the outputs depend on
    file: Annotated[int, Meta(ge=0)] = 0  # how many files are finished
    lines: Annotated[int, Meta(ge=0)] = 0  # of the next file that are finished
    sizes: list[Annotated[int, Meta(ge=0)]] = []  # of its partial outputs


Chunks = Callable[[int, int], Iterator[TranslatedChunk]]  # of a file, by its index, after the lines that are done
Report = Callable[[FileTask, int, TranslatedChunk], object]  # with the lines that were done before the chunk


def translate_files(
    tasks: list[FileTask], chunks: Chunks, settings: dict[str, str], progress_file: Path, report: Report
) -> None:
    """Write the outputs of all tasks; each appears complete or not at all, and finished work is not repeated."""
    progress = read_progress(progress_file, settings)
    if progress.file > len(tasks) or len(progress.sizes) not in (0, len(tasks[0].outputs)):
        raise RegardError(f"{progress_file} is damaged. {START_OVER}")
    if progress.file:  # killed before the last finished outputs got their names
        _publish(tasks[progress.file - 1])
    for index in range(progress.file, len(tasks)):
        task = tasks[index]
        with _partial_outputs(task, progress.sizes, progress_file) as files:
            if not progress.lines:
                _append(files, task, [b"" for _ in files])  # so that the output of an empty file is valid gzip, too
            for chunk in chunks(index, progress.lines):
                _append(files, task, chunk.contents)
                report(task, progress.lines, chunk)
                sizes, lines = [file.tell() for file in files], progress.lines + chunk.lines
                progress = msgspec.structs.replace(progress, lines=lines, sizes=sizes)
                _save_progress(progress_file, progress)
            progress = TranslationProgress(settings, file=index + 1)
            _save_progress(progress_file, progress)
            _publish(task)
    progress_file.unlink(missing_ok=True)


def translation_settings(
    tasks: list[FileTask], translator: Translator, config: DecodingConfig, wanted: OutputFormat
) -> dict[str, str]:
    """Everything that the outputs depend on, by name."""
    assert translator.directory is not None  # noqa: S101  (it was loaded from one)
    inputs = [(os.fsencode(task.source), *map(os.fsencode, task.outputs)) for task in tasks]
    versions = [(stat.st_size, stat.st_mtime_ns) for stat in (task.source.stat() for task in tasks)]
    return {
        "the model": sha256((translator.directory / MANIFEST_NAME).read_bytes()).hexdigest(),
        "the engine": translator.engine.description,
        "the options": msgspec.json.encode((config, wanted)).decode(),
        "the list of files": sha256(msgspec.json.encode(inputs)).hexdigest(),
        "the input": sha256(msgspec.json.encode(versions)).hexdigest(),
    }


def read_progress(path: Path, settings: dict[str, str]) -> TranslationProgress:
    """The progress of an interrupted run with the same settings; that of a new run if there is none."""
    if not os.path.lexists(path):
        return TranslationProgress(settings)
    try:
        content = read_input(path, max_bytes=MEBIBYTE, advice=START_OVER)
        progress = decode_json(content, TranslationProgress)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegardError(f"{path} cannot be read: {error}. {START_OVER}") from None
    changed = [name for name, value in settings.items() if progress.settings.get(name) != value]
    if changed:
        raise RegardError(
            f"{path} is from an interrupted translation, and since then {' and '.join(changed)} changed. Repeat the "
            "same command to continue it, or delete this file to translate from the start."
        )
    return progress


def _save_progress(path: Path, progress: TranslationProgress) -> None:
    with atomic_file(path) as file:
        file.write(msgspec.json.encode(progress))


def _append(files: list[BinaryIO], task: FileTask, contents: list[bytes]) -> None:
    for file, output, content in zip(files, task.outputs, contents, strict=True):
        file.write(compress_for(output, content))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _partial_outputs(task: FileTask, sizes: list[int], progress_file: Path) -> Iterator[list[BinaryIO]]:
    """The partial outputs of a file, cut to these sizes and locked; removed if the work fails before any is saved."""
    paths = [partial_path(output) for output in task.outputs]
    with ExitStack() as stack:
        files: list[BinaryIO] = []
        for path, output, size in zip(paths, task.outputs, sizes or [0] * len(paths), strict=True):
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise RegardError(f"{path} is not a regular file. Delete it.")
            file = stack.enter_context(os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b"))
            if try_lock(file.fileno()) is False:
                raise RegardError(f"{output} is being written by another process. Wait until it ends, or stop it.")
            if file.seek(0, os.SEEK_END) < size:
                raise RegardError(f"{path} is shorter than was recorded. Delete it and {progress_file}.")
            file.truncate(size)
            file.seek(size)
            files.append(file)
        try:
            yield files
        except BaseException as error:
            if isinstance(error, OSError):
                error.filename = error.filename or str(task.outputs[0])  # the error of a failed write has no file name
            if not progress_file.exists():
                for path in paths:
                    path.unlink(missing_ok=True)
            raise


def _publish(task: FileTask) -> None:
    for output in task.outputs:
        if partial_path(output).exists():
            partial_path(output).replace(os.path.realpath(output))


def progress_path(output: Path) -> Path:
    """The progress file of an output: beside a file, in a directory."""
    return output / "progress.json" if output.is_dir() else Path(os.path.realpath(output) + PROGRESS_SUFFIX)


def partial_path(output: Path) -> Path:
    """The file that grows until the output is complete."""
    return Path(os.path.realpath(output) + PARTIAL_SUFFIX)


def local_chunks(tasks: list[FileTask], translator: Translator, config: DecodingConfig, wanted: OutputFormat) -> Chunks:
    """Chunks translated by this process."""

    def chunks(index: int, done: int) -> Iterator[TranslatedChunk]:
        lines = (line for _, line in islice(numbered_lines(tasks[index].source), done, None))
        return translate_chunks(translator, lines, config, wanted, done=done)

    return chunks

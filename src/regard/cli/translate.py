"""`regard translate`: translate lines of text."""

from __future__ import annotations

import glob
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import echo, progress_bar, warn
from regard.cli.inputs import check_outputs, load_translator
from regard.cli.options import (
    PATH,
    STANDARD_OUTPUT,
    beam_option,
    engine_option,
    json_option,
    model_argument,
    nbest_option,
    quantization_option,
)
from regard.config import decode_options
from regard.errors import RegardError
from regard.files import atomic_file, find_model_directory, is_written_directly, named_errors, read_input

if TYPE_CHECKING:
    from regard.config import DecodingConfig
    from regard.inference.interface import EngineName
    from regard.inference.translate_files import FileTask, OutputFormat, TranslatedChunk
    from regard.inference.translator import Translator
    from regard.interop.ctranslate2 import Quantization

REPORT_SECONDS = 60  # between two lines of progress where there is no terminal
MAX_SHOWN_WORDS = 5
GZIP_EXPANSION = 3.0  # of text, for the estimate of the time left


@click.command(
    name="translate",
    epilog="""\b
Examples:
  regard translate en-fr "Where is the train station?"
  echo "Robots must obey orders" | regard translate runs/world-transformer/model
  regard translate runs/x/model --input test.en --output test.ko --alignments test.align
  regard translate en-fr --input page.html --output page.fr.html
  regard translate runs/x/model --input 'parts/*.gz' --output translated
  regard translate runs/x/model --input 'parts/*.gz' --output translated --ray 10.0.0.1:6379""",
)
@model_argument
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--input",
    "source",
    default="-",
    metavar="FILE",
    help="File to translate, or a quoted pattern such as 'parts/*.gz'. [default: standard input]",
)
@click.option(
    "--output",
    type=PATH,
    default=STANDARD_OUTPUT,
    help="File to write; for a pattern, the directory of the outputs. [default: standard output]",
)
@beam_option
@nbest_option
@click.option("--alignments", type=PATH, help="File for the word alignment of each line, in Pharaoh format.")
@click.option("--scores", is_flag=True, help="Append a tab and the score to each line.")
@engine_option
@quantization_option
@click.option(
    "--ray",
    "ray_address",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Translate on a Ray cluster; without ADDRESS, on one that is started on this machine.",
)
@json_option
def command(
    model: Path,
    texts: tuple[str, ...],
    source: str,
    output: Path,
    beam_size: int | None,
    nbest: int,
    alignments: Path | None,
    scores: bool,
    engine: EngineName | None,
    quantization: Quantization | None,
    ray_address: str | None,
    as_json: bool,
) -> None:
    """Translate with MODEL: as many lines out as in, in their order.

    MODEL is a directory such as runs/NAME/model, an export, or the name of a model that comes with regard: `regard
    info` lists them. Each TEXT is a line; without one, lines are read from --input.

    The model takes a line as one sentence; of several sentences it may leave some out. A blank line stays blank. Only a
    newline ends a line. Text is UTF-8 whatever the locale is. Files that end in .gz are read and written as gzip.

    Of a document (.po, .html, .srt) only the texts are translated, sentence by sentence; its markup stays.

    From file to file the work is saved as it goes: repeat an interrupted command to continue it.
    """
    from regard.documents import is_document

    if texts and source != "-":
        raise click.UsageError("both TEXT and --input are given. Remove one of the two.")
    tasks = _file_tasks(source, output, alignments)
    if is_document(str(tasks[0].source)):  # then all are: _check_kind
        if nbest > 1 or scores or as_json or alignments or ray_address:
            raise RegardError(
                f"{source} is a document, which is translated as a whole: --nbest, --scores, --alignments, --json and "
                "--ray are for lines of text. Remove them."
            )
        translator = load_translator(model, engine, quantization, with_weights=True)
        _translate_documents(translator, tasks, translator.decoding_config(**decode_options(beam_size=beam_size)))
        return
    translator = load_translator(model, engine, quantization, with_weights=alignments is not None)
    config = translator.decoding_config(**decode_options(beam_size=beam_size, nbest=nbest))

    from regard.inference.translate_files import OutputFormat

    wanted = OutputFormat(nbest, scores, as_json, alignments=alignments is not None)
    is_resumable = output != STANDARD_OUTPUT and tasks[0].source.is_file() and not texts
    if not is_resumable or any(map(is_written_directly, tasks[0].outputs)):
        if ray_address:
            raise RegardError("--ray translates files into files. Give --input and --output.")
        _translate_stream(translator, config, wanted, tasks[0], texts, to_stdout=output == STANDARD_OUTPUT)
        return

    from regard.inference.translate_files import local_chunks, progress_path, translate_files, translation_settings

    if ray_address:
        from regard.inference.ray_data import RayJob, ray_chunks

        directory = find_model_directory(model).absolute()
        job = RayJob(directory, translator.engine.name, quantization, config, wanted)  # type: ignore[arg-type]
        chunks = ray_chunks(tasks, job, ray_address)
    else:
        chunks = local_chunks(tasks, translator, config, wanted)
    settings = translation_settings(tasks, translator, config, wanted)
    total = sum(task.source.stat().st_size for task in tasks)
    with progress_bar("translating", total, with_counts=False) as advance:
        report = ProgressReport(tasks, translator, advance)
        translate_files(tasks, chunks, settings, progress_path(output), report)


def _translate_documents(translator: Translator, tasks: list[FileTask], config: DecodingConfig) -> None:
    """Translate the texts of each document and keep its markup."""
    from regard.documents import MAX_DOCUMENT_BYTES, translate_document

    for task in tasks:
        content = read_input(task.source, max_bytes=MAX_DOCUMENT_BYTES)
        try:
            translated = translate_document(translator, task.source.name, content, config)
        except RegardError as error:
            raise RegardError(f"{task.source}: {error}") from None
        [target] = task.outputs
        if target == STANDARD_OUTPUT:
            sys.stdout.buffer.write(translated)
            continue
        with atomic_file(target) as file:
            file.write(translated)


def _file_tasks(source: str, output: Path, alignments: Path | None) -> list[FileTask]:
    """The files to read and to write, all checked before the model is loaded."""
    from regard.inference.translate_files import FileTask

    is_pattern = glob.has_magic(source) and not Path(source).exists()
    sources = sorted(map(Path, glob.glob(source, recursive=True))) if is_pattern else [Path(source)]
    if not sources:
        raise RegardError(f"no file matches --input {source}. Give a file, or a pattern that matches some.")
    _check_kind(source, sources)
    if alignments == STANDARD_OUTPUT:
        raise RegardError("--alignments is -, but standard output is for the translations. Give a file.")
    if not is_pattern:
        if alignments is not None and os.path.realpath(output) == os.path.realpath(alignments):
            raise RegardError(f"{output} is given for both the translations and the alignments. Give two files.")
        check_outputs({"--output": output, "--alignments": alignments}, sources)
        return [FileTask(sources[0], [output, *([alignments] if alignments else [])])]
    if alignments is not None:
        raise RegardError("--alignments is for one input file, and --input is a pattern. Give one file at a time.")
    if output == STANDARD_OUTPUT or (output.exists() and not output.is_dir()):
        raise RegardError(f"--input {source} is a pattern. Give a directory for the outputs with --output.")
    names = [path.name for path in sources]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RegardError(f"--input {source} matches several files named {twice[0]}. Give fewer files.")
    output.mkdir(parents=True, exist_ok=True)
    check_outputs({"--output": output / names[0]}, sources)
    return [FileTask(path, [output / path.name]) for path in sources]


def _translate_stream(
    translator: Translator,
    config: DecodingConfig,
    wanted: OutputFormat,
    task: FileTask,
    texts: tuple[str, ...],
    *,
    to_stdout: bool,
) -> None:
    """Translate texts, a pipe or a terminal, each line as soon as it arrives, or to standard output or a device."""
    from regard.data.text_lines import STANDARD_INPUT, display_name, numbered_lines, stream_lines
    from regard.inference.translate_files import compress_for, translate_chunks

    is_file, done = task.source.is_file(), 0
    if str(task.source) == STANDARD_INPUT and sys.stdin.isatty() and not texts:
        echo("Type a line to translate; Ctrl-D ends.", to_error=True)
    blocks: Iterable[Iterable[str]] = [texts] if texts else stream_lines(task.source)
    if is_file:
        blocks = [(line for _, line in numbered_lines(task.source))]
    with ExitStack() as stack:
        files = [] if not to_stdout else [sys.stdout.buffer]
        files += [stack.enter_context(atomic_file(path)) for path in task.outputs[len(files) :]]
        is_shown = is_file and not (to_stdout and sys.stdout.isatty())
        advance = stack.enter_context(progress_bar("translating", None, is_shown=is_shown))
        for text in texts:
            if unknown := translator.unknown_words(text):
                words = ", ".join(unknown[:MAX_SHOWN_WORDS]) + ", ..." * (len(unknown) > MAX_SHOWN_WORDS)
                warn(f"the model has not learned {words}; that part of the translation is a guess")
        for lines in blocks:
            for chunk in translate_chunks(translator, lines, config, wanted, done=done):
                for file, path, content in zip(files, task.outputs, chunk.contents, strict=True):
                    with named_errors("standard output" if path == STANDARD_OUTPUT else str(path)):
                        file.write(compress_for(path, content))
                        file.flush()
                for number in chunk.truncated:
                    limit = f"more than {translator.max_source_tokens} tokens"
                    warn(f"{display_name(task.source)}:{number} has {limit}; only its beginning was translated")
                advance(chunk.lines)
                done += chunk.lines


def _check_kind(source: str, paths: list[Path]) -> None:
    """An error unless all files are documents, or all are lines of text."""
    from regard.data.pair_readers import check_monolingual
    from regard.documents import check_plain_text, is_document

    lines = [path for path in paths if not is_document(str(path))]
    if 0 < len(lines) < len(paths):
        raise RegardError(f"--input {source} matches documents and lines of text. Give one kind at a time.")
    for path in lines:
        check_monolingual(path)
        check_plain_text(str(path))


class ProgressReport:
    """Reports each translated chunk: warnings, a progress bar, and without a terminal a line now and then.

    The position is an estimate in bytes of the input files: the lines so far, each as long as their mean.
    """

    def __init__(self, tasks: list[FileTask], translator: Translator, advance: Callable[[int], object]) -> None:
        self.advance, self.limit = advance, translator.max_source_tokens
        self.bounds: dict[Path, tuple[int, int]] = {}
        self.total = 0
        for task in tasks:
            size = task.source.stat().st_size
            self.bounds[task.source], self.total = (self.total, self.total + size), self.total + size
        self.lines, self.bytes = 0, 0
        self.read = self.position = 0.0  # bytes of the files: since the start, and up to here
        self.started = self.reported = time.monotonic()

    def __call__(self, task: FileTask, done: int, chunk: TranslatedChunk) -> None:
        """Report a chunk that follows `done` lines of its file."""
        for number in chunk.truncated:
            warn(f"{task.source}:{number} has more than {self.limit} tokens; only its beginning was translated")
        if not self.lines and done:
            echo(f"continuing {task.source} after line {done:,}", to_error=True)
        is_first = not self.lines
        self.lines, self.bytes = self.lines + chunk.lines, self.bytes + chunk.source_bytes
        first, last = self.bounds[task.source]
        expansion = GZIP_EXPANSION if task.source.suffix.lower() == ".gz" else 1.0
        bytes_per_line = self.bytes / self.lines / expansion
        self.read += chunk.source_bytes / expansion
        if is_first:
            self.position = min(last, first + done * bytes_per_line)
        position = min(last, first + (done + chunk.lines) * bytes_per_line)
        self.advance(round(position) - round(self.position))
        self.position = position
        self._print_line()

    def _print_line(self) -> None:
        now = time.monotonic()
        if now - self.reported < REPORT_SECONDS or sys.stderr.isatty():
            return
        self.reported = now
        speed = max(self.read / (now - self.started), 1.0)  # not from the position, an estimate that may decrease
        left = timedelta(seconds=round((self.total - self.position) / speed))
        rate = self.lines / (now - self.started)
        echo(f"{self.position / self.total:.1%}: {rate:,.0f} lines/s, about {left} left", to_error=True)

"""`regard translate`: translate lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli.console import echo, progress_bar, warn
from regard.cli.options import (
    PATH,
    STANDARD_OUTPUT,
    beam_option,
    check_outputs,
    engine_option,
    json_option,
    load_translator,
    model_argument,
    nbest_option,
    none_for_standard_output,
    quantization_option,
)
from regard.config import decode_options
from regard.errors import RegardError
from regard.files import atomic_file

if TYPE_CHECKING:
    from regard.inference.interface import EngineName
    from regard.inference.translator import Translation
    from regard.interop.ctranslate2 import Quantization


@click.command(
    name="translate",
    epilog="""\b
Examples:
  echo "Robots must obey orders" | regard translate runs/world-transformer/model
  regard translate runs/x/model --input test.en --output test.ko --alignments test.align""",
)
@model_argument
@click.option("--input", "source", type=PATH, default=Path("-"), help="File to translate. [default: standard input]")
@click.option(
    "--output", type=PATH, callback=none_for_standard_output, help="File to write. [default: standard output]"
)
@beam_option
@nbest_option
@click.option("--alignments", type=PATH, help="File for the word alignment of each line, in Pharaoh format.")
@click.option("--scores", is_flag=True, help="Append a tab and the score to each line.")
@engine_option
@quantization_option
@json_option
def command(
    model: Path,
    source: Path,
    output: Path | None,
    beam_size: int | None,
    nbest: int,
    alignments: Path | None,
    scores: bool,
    engine: EngineName | None,
    quantization: Quantization | None,
    as_json: bool,
) -> None:
    """Translate with MODEL, a directory such as runs/NAME/model or an export: as many lines out as in, in their order.

    The model takes a line as one sentence; of several sentences it may leave some out. A blank line stays blank. Only a
    newline ends a line. Text is UTF-8 whatever the locale is.
    """

    from regard.data.readers import check_monolingual
    from regard.data.readers.lines import STANDARD_INPUT, display_name

    check_monolingual(source)
    _check_files(source, output, alignments)
    translator = load_translator(model, engine, quantization, with_weights=alignments is not None)
    decoding = translator.decoding_config(**decode_options(beam_size=beam_size, nbest=nbest))
    if str(source) == STANDARD_INPUT and sys.stdin.isatty():
        echo("Type a line to translate; Ctrl-D ends.", to_error=True)
    is_file, number = source.is_file(), 0
    with ExitStack() as stack:
        stack.enter_context(_named_output(str(output or "standard output")))
        texts = stack.enter_context(atomic_file(output)) if output else sys.stdout.buffer
        links = stack.enter_context(atomic_file(alignments)) if alignments else None
        is_shown = is_file and (output is not None or not sys.stdout.isatty())
        lines = InputLines(source)
        progress = stack.enter_context(lines.progress_bar(is_shown=is_shown))
        for chunk in lines.chunks(is_file=is_file):
            for outputs in translator.translate_lines(
                chunk,
                decoding,
                align=alignments is not None,
                scores=scores or as_json or nbest > 1,
                progress=progress,
            ):
                number += 1
                texts.write(_format_outputs(number, outputs, nbest=nbest, scores=scores, as_json=as_json).encode())
                if links is not None:
                    links.write(f"{_alignment_line(outputs[0])}\n".encode())
                if outputs[0].is_truncated:
                    limit = f"more than {translator.max_source_tokens} tokens"
                    warn(f"{display_name(source)}:{number} has {limit}; only its beginning was translated")
            texts.flush()


def _check_files(source: Path, output: Path | None, alignments: Path | None) -> None:
    if alignments == STANDARD_OUTPUT:
        raise RegardError("--alignments is -, but standard output is for the translations. Give a file.")
    if output is not None and alignments is not None and output.resolve() == alignments.resolve():
        raise RegardError(f"{output} is given for both the translations and the alignments. Give two files.")
    check_outputs({"--output": output, "--alignments": alignments}, [source])


class InputLines:
    """The lines to translate, read once, and a progress bar over the bytes of their file."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines, self.bytes = path, 0, 0

    def chunks(self, *, is_file: bool) -> Iterator[Iterable[str]]:
        """All lines of a file in one chunk; of a pipe or a terminal, the lines that have arrived."""

        from regard.data.readers.lines import FILE_BLOCK_BYTES, stream_lines

        if is_file:
            yield chain.from_iterable(map(self._count, stream_lines(self.path, block_bytes=FILE_BLOCK_BYTES)))
        else:
            yield from stream_lines(self.path)

    @contextmanager
    def progress_bar(self, *, is_shown: bool) -> Iterator[Any]:
        """A function that advances the bar by a number of translated lines, each of them as long as the mean line."""
        is_packed = self.path.suffix.lower() == ".gz"  # its size says little about how much text is in it
        total = self.path.stat().st_size if is_shown and not is_packed else None
        with progress_bar("translating", total, is_shown=is_shown, with_counts=False) as advance:
            yield lambda count: advance(round(count * self.bytes / max(1, self.lines)))

    def _count(self, lines: list[str]) -> list[str]:
        self.lines += len(lines)
        self.bytes += sum(len(line.encode()) + 1 for line in lines)
        return lines


@contextmanager
def _named_output(name: str) -> Iterator[None]:
    """Add the file name to an error of writing to a device or to standard output, which has none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


def _format_outputs(number: int, outputs: list[Translation], *, nbest: int, scores: bool, as_json: bool) -> str:
    """The text for line `number`, from 1; it ends with a newline."""
    best = outputs[0]
    if as_json:
        record = {"line": number} | _translation_record(best)
        record |= {"is_truncated": best.is_truncated, "is_finished": best.is_finished}
        record |= {"nbest": [_translation_record(output) for output in outputs]} if nbest > 1 else {}
        return msgspec.json.encode(record).decode() + "\n"
    if nbest > 1:
        return "".join(f"{number - 1} ||| {output.text} ||| {output.score:.4f}\n" for output in outputs)
    return f"{best.text}\t{best.score:.4f}\n" if scores else f"{best.text}\n"


def _translation_record(output: Translation) -> dict[str, Any]:
    record = {"text": output.text, "score": output.score, "log_probability": output.log_probability}
    return record | ({"alignment": _alignment_line(output)} if output.alignment else {})


def _alignment_line(output: Translation) -> str:
    from regard.metrics.alignment import GoldAlignment, format_alignment

    links = output.alignment.links if output.alignment else frozenset()
    return format_alignment(GoldAlignment(sure=links, possible=links))

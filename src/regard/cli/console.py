"""What commands print: lines, tables, JSON and progress bars.

Results go to standard output; warnings and progress bars go to standard error. rich is imported where it is used, so
that `--help` starts fast.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.errors import shorten_message

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from regard.inference.interface import GeneratedText

FILE_COLUMNS = 120  # width of a table that is written to a file or a pipe
_LINE_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def echo(message: str, *, to_error: bool = False) -> None:
    """Print one line. Of standard error a failure is ignored: its reader may be gone, and the work is to go on."""
    with suppress(OSError) if to_error else nullcontext():
        click.echo(message, err=to_error)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    echo(f"warning: {shorten_message(message)}", to_error=True)


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def print_line(text: str) -> None:
    """Print a line in UTF-8 whatever the locale is, at once. The bytes of a file name need not be UTF-8."""
    sys.stdout.buffer.write(f"{text}\n".encode(errors="surrogateescape"))
    sys.stdout.buffer.flush()


def on_one_line(name: str) -> str:
    """A file name or a text that begins a line of output, which must stay one line."""
    return name.translate(_LINE_BREAKS)


def print_outputs(
    number: int,
    outputs: "Sequence[GeneratedText]",
    *,
    nbest: int,
    record: dict[str, Any] | None = None,
    prefix: str = "",
) -> None:
    """Print the outputs for an input, counted from 0: one line, with nbest > 1 several; a record is one of JSON."""
    if record is None:
        for one in outputs:
            print_line(f"{number} ||| {one.text} ||| {one.score:.4f}" if nbest > 1 else f"{prefix}{one.text}")
        return
    fields = ("text", "score", "log_probability", "is_finished")
    records = [{name: getattr(one, name) for name in fields} for one in outputs]
    print_json(record | records[0] | ({"nbest": records} if nbest > 1 else {}))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1, to_error: bool = False
) -> None:
    """Print a table whose first columns are text and whose other columns are numbers."""
    make_console(to_error=to_error).print(_make_table(columns, rows, text_columns))


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table of `print_table` as text, for a display that prints lines."""
    console = make_console()
    with console.capture() as capture:
        console.print(_make_table(columns, rows))
    return capture.get().rstrip("\n")


def _make_table(columns: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if index < text_columns else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def make_console(*, to_error: bool = False) -> "Console":
    """A console as wide as the terminal; FILE_COLUMNS wide for a file or a pipe."""
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:  # rich's own would exit with 1
            raise BrokenPipeError

    stream = sys.stderr if to_error else sys.stdout
    return PipedConsole(file=stream, width=None if stream.isatty() else FILE_COLUMNS, highlight=False, markup=False)


@contextmanager
def progress_bar(
    label: str, total: int | None, *, is_shown: bool = True, with_counts: bool = True
) -> Iterator[Callable[[int], object]]:
    """A progress bar on standard error, advanced by the given count; nothing if that is not a terminal."""
    if not (is_shown and sys.stderr.isatty()):
        yield lambda _count: None
        return
    with make_progress(make_console(to_error=True), transient=True, with_counts=with_counts) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


def make_progress(console: "Console", *, transient: bool = False, with_counts: bool = True) -> "Progress":
    """A progress bar of rich: label, bar, count or percentage, and the remaining time."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    counts = MofNCompleteColumn() if with_counts else TaskProgressColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), counts, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=transient)

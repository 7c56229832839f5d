"""How commands speak: tables and JSON on standard output, warnings and progress bars on standard error."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import click
import msgspec
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

WIDTH_OF_A_FILE = 120  # columns of a table that no terminal bounds


def tell(message: str, *, to_error: bool = False) -> None:
    """One line for people."""
    click.echo(message, err=to_error)


def try_to_tell(message: str) -> None:
    """One line on standard error, where nothing is changed by its not being read: a closed terminal takes none."""
    with suppress(OSError):
        tell(message, to_error=True)


def warn(message: str) -> None:
    """Something that went otherwise than the user may think."""
    click.echo(f"warning: {message}", err=True)


def tell_json(value: object) -> None:
    """A value as one line of JSON on standard output."""
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def tell_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, to_error: bool = False) -> None:
    """A table whose first column is text and whose others are numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    make_console(to_error=to_error).print(table)


def make_console(*, to_error: bool = False) -> Console:
    """A console that is as wide as the terminal, or as wide as a table needs where there is none."""
    stream = sys.stderr if to_error else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else WIDTH_OF_A_FILE, highlight=False, markup=False)


@contextmanager
def bar(label: str, total: int | None, *, is_shown: bool = True) -> Iterator[Callable[[int], object]]:
    """A progress bar on standard error, moved on by the given count; nothing where that is not a terminal."""
    if not (is_shown and sys.stderr.isatty()):
        yield lambda _count: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=make_console(to_error=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)

"""What commands print: lines, tables and JSON, progress bars, and the display of a training run.

Results go to standard output; warnings and progress bars go to standard error. rich is imported where it is used, so
that `--help` starts fast.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import click
import msgspec

from regard.errors import shorten_message
from regard.training.events import (
    CheckpointSaved,
    ProbesSaved,
    StepSkipped,
    StepsLogged,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
    Validated,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from regard.inference.interface import GeneratedText

FILE_COLUMNS = 120  # width of a table that is written to a file or a pipe
_LINE_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
MAX_SAMPLE_CHARACTERS = 100  # an untrained model can generate very long texts


def echo(message: str, *, to_error: bool = False) -> None:
    """Print one line."""
    click.echo(message, err=to_error)


def try_to_echo(message: str) -> None:
    """Print one line to standard error; ignore the failure if the terminal is closed."""
    with suppress(OSError):
        echo(message, to_error=True)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    click.echo(f"warning: {shorten_message(message)}", err=True)


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

    stream = sys.stderr if to_error else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else FILE_COLUMNS, highlight=False, markup=False)


@contextmanager
def progress_bar(
    label: str, total: int | None, *, is_shown: bool = True, with_counts: bool = True
) -> Iterator[Callable[[int], object]]:
    """A progress bar on standard error, advanced by the given count; nothing if that is not a terminal."""
    if not (is_shown and sys.stderr.isatty()):
        yield lambda _count: None
        return
    with _make_progress(make_console(to_error=True), transient=True, with_counts=with_counts) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.advance(task, count)


def _make_progress(console: "Console", *, transient: bool = False, with_counts: bool = True) -> "Progress":
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


class TrainingDisplay(Protocol):
    """Shows the events of a run; notes and preprocessing come before them."""

    def note(self, message: str) -> None: ...
    def preparing(self, stage: str, count: int) -> None: ...
    def on_event(self, event: TrainingEvent) -> None: ...
    def close(self) -> None: ...


def make_display(*, as_json: bool, steps: int) -> TrainingDisplay:
    """JSON lines for programs, a live display for a terminal, plain lines for a log."""
    if as_json:
        return JsonDisplay()
    return LiveDisplay(steps) if sys.stdout.isatty() else PlainDisplay(steps)


class SilentDisplay:
    """Prints nothing: of several processes only rank 0 prints."""

    def note(self, message: str) -> None: ...
    def preparing(self, stage: str, count: int) -> None: ...
    def on_event(self, event: TrainingEvent) -> None: ...
    def close(self) -> None: ...


class JsonDisplay(SilentDisplay):
    """Prints every event as a line of JSON; everything else goes to standard error."""

    def note(self, message: str) -> None:
        echo(message, to_error=True)

    def preparing(self, stage: str, count: int) -> None:
        echo(_describe_stage(stage, count), to_error=True)

    def on_event(self, event: TrainingEvent) -> None:
        print_json(event)


class PlainDisplay(SilentDisplay):
    """Prints every event as a line of text."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def note(self, message: str) -> None:
        echo(message)

    def preparing(self, stage: str, count: int) -> None:
        echo(_describe_stage(stage, count))

    def on_event(self, event: TrainingEvent) -> None:
        echo(describe_event(event, self.steps))
        sys.stdout.flush()  # so that a log file grows while the run trains


class LiveDisplay:
    """A progress bar over the steps; validations scroll past above it."""

    def __init__(self, steps: int) -> None:
        self.display = _make_progress(make_console())
        self.task = self.display.add_task("preparing", total=None)
        self.steps = steps
        self.display.start()

    def note(self, message: str) -> None:
        self.display.console.print(message)

    def preparing(self, stage: str, count: int) -> None:
        self.display.update(self.task, description=stage, completed=count)

    def on_event(self, event: TrainingEvent) -> None:
        match event:
            case StepsLogged():
                speed = f"{event.tokens_per_second:,.0f} tokens/s"
                figures = f"loss {event.loss:.3f}  rate {event.learning_rate:.2g}  {speed}"
                self.display.update(self.task, description=figures, completed=event.step)
            case CheckpointSaved() | ProbesSaved():
                self.display.update(self.task, completed=event.step)
            case TrainingStarted():
                self.display.update(self.task, description="training", total=self.steps, completed=event.step)
                self.note(describe_event(event, self.steps))
            case _:
                self.note(describe_event(event, self.steps))

    def close(self) -> None:
        """Leave the bar's last state on the screen; ignore the failure if the terminal is closed."""
        with suppress(OSError):
            self.display.stop()


def describe_event(event: TrainingEvent, steps: int) -> str:
    """An event as a line of text; a validation adds one of its samples."""
    prefix = f"step {event.step:,}/{steps:,}  "
    match event:
        case TrainingStarted():
            trained = f" ({event.trained_parameters:,} trained)" if event.trained_parameters is not None else ""
            size = f"{event.examples:,} examples, {event.parameters:,} parameters{trained}"
            facts = f"{size}, {event.device}, {event.threads} thread(s)"
            precision = f", {event.precision}" if event.precision else ""
            return prefix + "; ".join([f"start: {facts}{precision}", *event.notes])
        case StepsLogged():
            speed = f"{event.tokens_per_second:,.0f} tokens/s"
            return f"{prefix}loss {event.loss:.3f}  rate {event.learning_rate:.2e}  {speed}  epoch {event.epoch + 1}"
        case Validated():
            named = {
                "BLEU": event.bleu,
                "chrF": event.chrf,
                "CIDEr": event.cider,
                "accuracy": event.accuracy,
                "macro F1": event.macro_f1,
            }
            scores = "".join(f"  {name} {value:.1f}" for name, value in named.items() if value is not None)
            best = "  (the best so far)" if event.is_best else ""
            if event.old_loss is not None:
                before = {"BLEU": event.old_bleu, "chrF": event.old_chrf}
                named_before = "".join(f"  {name} {value:.1f}" for name, value in before.items() if value is not None)
                best += f"\n    old data  loss {event.old_loss:.3f}{named_before}"
            samples = zip(("source", "reference", "model"), event.samples[0], strict=True) if event.samples else ()
            cut = MAX_SAMPLE_CHARACTERS
            lines = [f"\n    {label:<10}{text[:cut]}{'…' * (len(text) > cut)}" for label, text in samples]
            signature = f"\n    BLEU      {event.signature}" if event.signature else ""
            return f"{prefix}validation: loss {event.loss:.3f}{scores}{best}{signature}{''.join(lines)}"
        case ProbesSaved():
            return f"{prefix}attention of the probes saved to {event.path}"
        case StepSkipped():
            what = "loss" if event.loss is None else "gradient"
            return f"{prefix}skipped: the {what} is not a finite number, {event.consecutive} in a row"
        case CheckpointSaved():
            return f"{prefix}saved {event.path}"
        case TrainingEnded():
            return f"{prefix}end: {event.reason}, after {event.seconds:,.0f} s of training"


def _describe_stage(stage: str, count: int) -> str:
    return f"{stage}: {count:,}" if count else stage

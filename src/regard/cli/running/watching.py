"""Three ways to watch a run: JSON lines for programs, plain lines for logs, a live display for a terminal."""

import sys
from contextlib import suppress
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from regard.cli.running.telling import make_console, tell, tell_json
from regard.training.journal import AnyEvent, Began, Ended, Probed, Progressed, Saved, Skipped, Validated

LONGEST_SAMPLE = 100  # characters; an untrained model can go on for long


class Watcher(Protocol):
    """Someone to whom a run's events are told; notes are what precedes them."""

    def note(self, message: str) -> None: ...
    def preparing(self, stage: str, count: int) -> None: ...
    def see(self, event: AnyEvent) -> None: ...
    def close(self) -> None: ...


def choose_watcher(*, as_json: bool, steps: int) -> Watcher:
    """The watcher that suits whoever reads standard output."""
    if as_json:
        return JsonWatcher()
    return LiveWatcher(steps) if sys.stdout.isatty() else PlainWatcher(steps)


class JsonWatcher:
    """Every event as a line of JSON, nothing else on standard output."""

    def note(self, message: str) -> None:
        tell(message, to_error=True)

    def preparing(self, stage: str, count: int) -> None:
        tell(_stage(stage, count), to_error=True)

    def see(self, event: AnyEvent) -> None:
        tell_json(event)

    def close(self) -> None:
        """Nothing is left to do."""


class PlainWatcher:
    """Every event as a line of text."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def note(self, message: str) -> None:
        tell(message)

    def preparing(self, stage: str, count: int) -> None:
        tell(_stage(stage, count))

    def see(self, event: AnyEvent) -> None:
        tell(describe(event, self.steps))
        sys.stdout.flush()  # whoever reads a log wants to see it grow

    def close(self) -> None:
        """Nothing is left to do."""


class SilentWatcher:
    """Nothing at all: of several processes, one speaks."""

    def note(self, message: str) -> None: ...
    def preparing(self, stage: str, count: int) -> None: ...
    def see(self, event: AnyEvent) -> None: ...
    def close(self) -> None: ...


class LiveWatcher:
    """A bar that moves with the steps; validations scroll past above it."""

    def __init__(self, steps: int) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self.display = Progress(*columns, console=make_console())
        self.task = self.display.add_task("preparing", total=None)
        self.steps = steps
        self.display.start()

    def note(self, message: str) -> None:
        self.display.console.print(message)

    def preparing(self, stage: str, count: int) -> None:
        self.display.update(self.task, description=stage, completed=count)

    def see(self, event: AnyEvent) -> None:
        match event:
            case Progressed():
                figures = f"loss {event.loss:.3f}  rate {event.rate:.2g}  {event.tokens_per_second:,.0f} tokens/s"
                self.display.update(self.task, description=figures, completed=event.step)
            case Saved() | Probed():
                self.display.update(self.task, completed=event.step)
            case Began():
                self.display.update(self.task, description="training", total=self.steps, completed=event.step)
                self.note(describe(event, self.steps))
            case _:
                self.note(describe(event, self.steps))

    def close(self) -> None:
        """Leave the last state of the bar on the screen, unless the terminal is closed by now."""
        with suppress(OSError):
            self.display.stop()


def describe(event: AnyEvent, steps: int) -> str:
    """An event in a line for people; a validation adds one of its translations."""
    return f"step {event.step:,}/{steps:,}  {_what_happened(event)}"


def _what_happened(event: AnyEvent) -> str:
    match event:
        case Began():
            facts = f"{event.pairs:,} pairs, {event.parameters:,} parameters, {event.device}, {event.threads} thread(s)"
            precision = f", {event.precision}" if event.precision else ""
            return "; ".join([f"begins: {facts}{precision}", *event.notes])
        case Progressed():
            speed = f"{event.tokens_per_second:,.0f} tokens/s"
            return f"loss {event.loss:.3f}  rate {event.rate:.2e}  {speed}  epoch {event.epoch + 1}"
        case Validated():
            named = {"BLEU": event.bleu, "chrF": event.chrf, "CIDEr": event.cider}
            scores = f"loss {event.loss:.3f}" + "".join(
                f"  {name} {value:.1f}" for name, value in named.items() if value is not None
            )
            best = "  (the best so far)" if event.is_best else ""
            return f"validation: {scores}{best}" + "".join(f"\n    {text}" for text in _sample(event))
        case Probed():
            return f"attention of the probes saved to {event.file}"
        case Skipped():
            what = "loss" if event.loss is None else "gradient"
            return f"skipped: the {what} is not a finite number, {event.in_a_row} in a row"
        case Saved():
            return f"saved {event.directory}"
        case Ended():
            return f"ends: {event.reason}, after {event.seconds:,.0f} s of training"


def _sample(event: Validated) -> list[str]:
    labels = ("source", "reference", "model")
    return (
        [f"{label:<10}{_cut(text)}" for label, text in zip(labels, event.samples[0], strict=True)]
        if event.samples
        else []
    )


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SAMPLE else f"{text[:LONGEST_SAMPLE]}…"


def _stage(stage: str, count: int) -> str:
    return f"{stage}: {count:,}" if count else stage

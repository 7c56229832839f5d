"""How `regard train` shows a run: live in a terminal, as lines of text in a log, as lines of JSON for programs."""

import sys
from contextlib import suppress
from typing import Protocol

from regard.cli.console import echo, make_console, make_progress, print_json
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

MAX_SAMPLE_CHARACTERS = 100  # an untrained model can generate very long texts


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
        self.display = make_progress(make_console())
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

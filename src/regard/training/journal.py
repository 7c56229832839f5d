"""What happened in a run, as JSON lines: for people to draw curves from, and for the page to show live."""

from pathlib import Path

import msgspec

from regard.errors import RegardError
from regard.staged import staged_file


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    """Something that happened at a step."""

    step: int


class Began(Event, frozen=True, kw_only=True, tag="began"):
    """Training began, or went on."""

    pairs: int
    parameters: int
    device: str
    threads: int
    precision: str = ""  # of products; journals of earlier versions do not tell
    real_share: float  # of the token places in a batch
    notes: list[str] = []


class Progressed(Event, frozen=True, kw_only=True, tag="progress"):
    """Some steps were taken; the loss is the mean over them, per target token."""

    loss: float
    rate: float
    tokens_per_second: float  # real target tokens
    seconds: float  # of training since it began, earlier sittings included
    epoch: int


class Validated(Event, frozen=True, kw_only=True, tag="validation"):
    """The model was tried on the validation set."""

    loss: float
    bleu: float | None = None  # where something is said that has a reference
    chrf: float | None = None
    cider: float | None = None  # of captions only
    is_best: bool
    samples: list[tuple[str, str, str]] = []  # source, reference, what the model says


class Probed(Event, frozen=True, kw_only=True, tag="probe"):
    """The attention of the probe sentences was saved."""

    file: str


class Skipped(Event, frozen=True, kw_only=True, tag="skipped"):
    """A step was not taken, because its loss or gradient was not a finite number."""

    loss: float | None  # None: not a finite number, for which JSON has no word
    in_a_row: int


class Saved(Event, frozen=True, kw_only=True, tag="saved"):
    """A checkpoint was written."""

    directory: str


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """Training ended, and the bundle was written."""

    reason: str
    model: str
    seconds: float


AnyEvent = Began | Progressed | Validated | Probed | Skipped | Saved | Ended


class Journal:
    """The events of a run, appended to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, event: AnyEvent) -> None:
        """Add one event; each line is written whole, so that a reader never waits for the rest of one."""
        try:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(event) + b"\n")
        except OSError as error:
            raise self._unwritable(error) from None

    def read(self) -> list[AnyEvent]:
        """Every event; a last line that was cut off by a kill is passed over."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        return [self._parse(line, number) for number, line in enumerate(lines[:-1], start=1)]

    def go_back_to(self, step: int) -> None:
        """Forget what happened after a step: training goes on from there, and will write it anew."""
        kept = b"".join(msgspec.json.encode(event) + b"\n" for event in self.read() if event.step <= step)
        try:
            with staged_file(self.path) as file:
                file.write(kept)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> RegardError:
        return RegardError(
            f"{self.path} cannot be written: {error.strerror}. Make room, or choose a directory that can be written, "
            "then go on with --resume."
        )

    def _parse(self, line: bytes, number: int) -> AnyEvent:
        try:
            event: AnyEvent = msgspec.json.decode(line, type=AnyEvent)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegardError(f"{self.path}:{number} is not an event: {error}. Remove the line.") from None
        return event

"""The events of a run as JSON lines: for curves, for the page, and for callers of `train`.

Nothing here imports torch, so that the command line can describe events without it.
"""

from pathlib import Path

import msgspec

from regard.errors import RegardError
from regard.files import MEBIBYTE, atomic_file, read_input
from regard.struct_decoding import decode_json

EVENT_LOG = "events.jsonl"
MAX_LOG_BYTES = 1024 * MEBIBYTE


class EventBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", omit_defaults=True):
    """An event at a step."""

    step: int


class TrainingStarted(EventBase, frozen=True, kw_only=True, tag="start"):
    """Training started or was resumed."""

    examples: int
    parameters: int
    trained_parameters: int | None = None  # None: all
    device: str
    threads: int
    precision: str = ""  # of products
    non_padding_fraction: float  # of the tokens in a batch
    notes: list[str] = []


class StepsLogged(EventBase, frozen=True, kw_only=True, tag="progress"):
    """Steps since the last event; the loss is their mean per target token."""

    loss: float
    learning_rate: float
    tokens_per_second: float  # target tokens without padding
    seconds: float  # of training since its start, without interruptions
    epoch: int


class Validated(EventBase, frozen=True, kw_only=True, tag="validation"):
    """The scores on the validation set."""

    loss: float
    bleu: float | None = None  # None without references
    chrf: float | None = None
    cider: float | None = None  # of captions only
    accuracy: float | None = None  # of classes only
    macro_f1: float | None = None
    signature: str = ""  # sacrebleu's, of BLEU
    old_loss: float | None = None  # on data.old_valid; None without it
    old_bleu: float | None = None
    old_chrf: float | None = None
    is_best: bool
    samples: list[tuple[str, str, str]] = []  # source, reference, output


class ProbesSaved(EventBase, frozen=True, kw_only=True, tag="probe"):
    """The attention of the probe sentences was saved."""

    path: str


class StepSkipped(EventBase, frozen=True, kw_only=True, tag="skip"):
    """A step was skipped, because its loss or gradient was not finite."""

    loss: float | None  # None: not finite, which JSON cannot express
    consecutive: int


class CheckpointSaved(EventBase, frozen=True, kw_only=True, tag="checkpoint"):
    """A checkpoint was written."""

    path: str


class TrainingEnded(EventBase, frozen=True, kw_only=True, tag="end"):
    """Training ended, and the model was written."""

    reason: str
    model: str
    seconds: float


TrainingEvent = TrainingStarted | StepsLogged | Validated | ProbesSaved | StepSkipped | CheckpointSaved | TrainingEnded


class EventLog:
    """The events of a run, appended to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, event: TrainingEvent) -> None:
        """Append one event as one complete line."""
        try:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(event) + b"\n")
        except OSError as error:
            raise self._unwritable(error) from None

    def read(self) -> list[TrainingEvent]:
        """Every event; an incomplete last line of a killed process is ignored."""
        if not self.path.exists():
            return []
        events = []
        for number, line in enumerate(read_input(self.path, max_bytes=MAX_LOG_BYTES).split(b"\n")[:-1], start=1):
            try:
                events.append(decode_json(line, TrainingEvent))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise RegardError(f"{self.path}:{number} is not an event: {error}. Remove the line.") from None
        return events

    def truncate_after(self, step: int) -> None:
        """Remove the events after a step, because training continues from there."""
        kept = b"".join(msgspec.json.encode(event) + b"\n" for event in self.read() if event.step <= step)
        try:
            with atomic_file(self.path) as file:
                file.write(kept)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> RegardError:
        return RegardError(
            f"{self.path} cannot be written: {error.strerror}. Free some space, or make the directory writable, "
            "and continue with --resume."
        )

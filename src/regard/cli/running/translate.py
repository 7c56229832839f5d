"""Running `regard translate`."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from regard.cli.options import STANDARD_OUTPUT
from regard.cli.running.models import Choice, open_model
from regard.cli.running.outputs import check_outputs
from regard.cli.running.telling import bar, tell, warn
from regard.data.readers import check_one_side
from regard.data.readers.lines import STANDARD_INPUT, arriving_lines, name_of, read_lines
from regard.errors import RegardError
from regard.metrics import Alignment, format_alignment
from regard.staged import staged_file
from regard.translation.lines import Translation


@dataclass(frozen=True)
class Form:
    """What is written of each line's translations."""

    nbest: int
    alignments: Path | None
    scores: bool
    as_json: bool

    @property
    def shows_scores(self) -> bool:
        """Whether a score is written anywhere."""
        return self.scores or self.as_json or self.nbest > 1

    def render(self, number: int, outputs: list[Translation]) -> str:
        """The text for the line of this number, counted from 1; it ends with a newline."""
        best = outputs[0]
        if self.as_json:
            return msgspec.json.encode(self._record(number, outputs)).decode() + "\n"
        if self.nbest > 1:
            return "".join(f"{number - 1} ||| {output.text} ||| {output.score:.4f}\n" for output in outputs)
        return f"{best.text}\t{best.score:.4f}\n" if self.scores else f"{best.text}\n"

    def _record(self, number: int, outputs: list[Translation]) -> dict[str, Any]:
        best = outputs[0]
        record = {"line": number} | _described(best) | {"is_cut": best.is_cut, "is_ended": best.is_ended}
        return record | ({"nbest": [_described(output) for output in outputs]} if self.nbest > 1 else {})


def run_translation(
    choice: Choice, source: Path, output: Path | None, *, options: dict[str, int | None], form: Form
) -> None:
    """Translate a file, or lines as they come."""
    check_one_side(source)
    _check_places(source, output, form.alignments)
    total = sum(1 for _ in read_lines(source)) if source.is_file() else None  # finds bad text before work is done
    translator = open_model(choice, is_looked_into=form.alignments is not None)
    config = translator.settings(**{name: value for name, value in options.items() if value is not None})
    if str(source) == STANDARD_INPUT and sys.stdin.isatty():
        tell("Write a line to translate; Ctrl-D ends.", to_error=True)
    is_shown = total is not None and (output is not None or not sys.stdout.isatty())
    with ExitStack() as stack:
        page = Page.opened(stack, output, form, name_of(source), translator.longest)
        progress = stack.enter_context(bar("translating", total, is_shown=is_shown))
        chunks: Iterable[Iterable[str]] = arriving_lines(source) if total is None else [read_lines(source)]
        for chunk in chunks:
            wanted = {"align": form.alignments is not None, "scores": form.shows_scores}
            for outputs in translator.lines(chunk, config, progress=progress, **wanted):
                page.write(outputs)
            page.flush()


def _check_places(source: Path, output: Path | None, alignments: Path | None) -> None:
    if alignments == STANDARD_OUTPUT:
        raise RegardError("--alignments is -, and standard output is for the translations. Give it a file.")
    if output is not None and alignments is not None and output.resolve() == alignments.resolve():
        raise RegardError(f"{output} cannot hold both the translations and the alignments. Give two files.")
    check_outputs({"--output": output, "--alignments": alignments}, [source])


class Page:
    """Where translations are written, line by line."""

    def __init__(self, form: Form, origin: str, longest: int, texts: BinaryIO, links: BinaryIO | None) -> None:
        self.form, self.origin, self.longest = form, origin, longest
        self.texts, self.links = texts, links
        self.lines = 0

    @classmethod
    def opened(cls, stack: ExitStack, output: Path | None, form: Form, origin: str, longest: int) -> Self:
        """A page whose files take their names when the stack is left without an error."""
        stack.enter_context(_told_where(str(output or "standard output")))
        texts = stack.enter_context(staged_file(output)) if output else sys.stdout.buffer
        links = stack.enter_context(staged_file(form.alignments)) if form.alignments else None
        return cls(form, origin, longest, texts, links)

    def write(self, outputs: list[Translation]) -> None:
        """Write what was asked for of the next line, and warn if only a part of it was translated."""
        self.lines += 1
        self.texts.write(self.form.render(self.lines, outputs).encode())
        if self.links is not None:
            self.links.write(f"{_links(outputs[0])}\n".encode())
        if outputs[0].is_cut:
            warn(f"{self.origin}:{self.lines} has more than {self.longest} tokens; only its beginning was translated")

    def flush(self) -> None:
        """Let a reader have what was written so far."""
        self.texts.flush()


@contextmanager
def _told_where(place: str) -> Iterator[None]:
    """An error of writing to a device or to standard output does not know where it was to go."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or place
        raise


def _described(output: Translation) -> dict[str, Any]:
    described = {"text": output.text, "score": output.score, "log_probability": output.log_probability}
    return described | ({"alignment": _links(output)} if output.alignment else {})


def _links(output: Translation) -> str:
    links = output.alignment.links if output.alignment else frozenset()
    return format_alignment(Alignment(sure=links, possible=links))

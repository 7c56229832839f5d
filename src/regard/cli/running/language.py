"""Running `regard complete` and `regard fill`."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from regard.cli.running.telling import bar
from regard.data import check_one_side, read_lines
from regard.errors import RegardError
from regard.language.reader import GUESSES, Filled, load_reader
from regard.language.writer import Continuation, load_writer
from regard.manifest import model_directory

AT_ONCE = 256  # lines


@dataclass(frozen=True)
class Beginnings:
    """The texts that were given, or the file that holds them."""

    given: tuple[str, ...]
    source: Path | None

    def parts(self) -> Iterator[list[str]]:
        """The texts, some at a time."""
        if bool(self.given) == (self.source is not None):
            raise RegardError("give texts, in quotation marks, or --input with a file of them; - is standard input.")
        if self.source is None:
            yield list(self.given)
            return
        check_one_side(self.source)
        part: list[str] = []
        for line in read_lines(self.source):
            part.append(line)
            if len(part) == AT_ONCE:
                yield part
                part = []
        yield part


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How continuations are chosen; None leaves it to the model's own decoding section."""

    beam: int | None
    nbest: int
    sample: bool
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    length_extra: int | None

    def options(self) -> dict[str, Any]:
        """The options of the decoding section that were given."""
        unfit = [f"--{name.replace('_', '-')}" for name in ("temperature", "top_k", "top_p", "seed") if self._has(name)]
        if unfit and not self.sample:
            raise RegardError(f"{', '.join(unfit)} goes with --sample, which draws. Add it, or leave these away.")
        given = {name: value for name, value in asdict(self).items() if value is not None and name != "seed"}
        if not self.sample and self.beam is None and self.nbest > 1:
            given["beam"] = self.nbest  # so many can only be found by a search that is as wide
        return given

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None


def run_completion(model: Path, texts: Beginnings, drawing: Drawing, *, as_json: bool) -> None:
    """Go on with each text, and write it as soon as its batch is done."""
    options, number = drawing.options(), 0
    writer = load_writer(model_directory(model))
    config = writer.settings(**options)
    if drawing.seed is not None:
        torch.manual_seed(drawing.seed)
    with bar("writing", None, is_shown=not sys.stdout.isatty()) as progress:
        for part in texts.parts():
            for own in writer.each(part, config):
                _write(_completed(number, own, drawing.nbest, as_json))
                number += 1
                progress(1)


def _completed(number: int, own: list[Continuation], nbest: int, as_json: bool) -> str:
    if as_json:
        more = {"nbest": [_described(one) for one in own]} if nbest > 1 else {}
        return msgspec.json.encode({"line": number + 1} | _described(own[0]) | more).decode()
    if nbest > 1:
        return "\n".join(f"{number} ||| {one.text} ||| {one.score:.4f}" for one in own)
    return own[0].text


def _described(one: Continuation) -> dict[str, Any]:
    return {"text": one.text, "score": one.score, "log_probability": one.log_probability, "is_ended": one.is_ended}


def run_filling(model: Path, texts: Beginnings, *, guesses: int | None, as_json: bool) -> None:
    """Fill the blanks of each text; below it stands what else might have been there."""
    shown = guesses if guesses is not None else (GUESSES if as_json or texts.source is None else 0)
    reader = load_reader(model_directory(model))
    with bar("filling", None, is_shown=not sys.stdout.isatty()) as progress:
        for part in texts.parts():
            for text in part:
                [filled] = reader.fill([text], guesses=max(1, shown))
                _write(_recorded(filled) if as_json else _filled(filled, shown))
                progress(1)


def _filled(filled: Filled, shown: int) -> str:
    lines = [filled.text]
    for number, guesses in enumerate(filled.blanks if shown else [], start=1):
        told = ", ".join(f"{one.piece} {one.probability:.2f}" for one in guesses)
        lines.append(f"    blank {number}: {told}")
    return "\n".join(lines)


def _recorded(filled: Filled) -> str:
    return msgspec.json.encode({"text": filled.text, "blanks": filled.blanks}).decode()


def _write(text: str) -> None:
    sys.stdout.buffer.write(f"{text}\n".encode())
    sys.stdout.buffer.flush()

"""Running `regard caption`."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.captioning.captioner import Caption, Captioner, load_captioner
from regard.captioning.tracing import word_maps
from regard.cli.running.telling import bar, warn
from regard.errors import RegardError
from regard.manifest import model_directory

OPENED_AT_ONCE = 256  # pictures: enough for full batches


@dataclass(frozen=True)
class Form:
    """What is written of each picture's captions."""

    nbest: int
    maps: bool
    as_json: bool


def run_captions(model: Path, pictures: tuple[Path, ...], *, options: dict[str, int | None], form: Form) -> None:
    """Describe the pictures, and write each as soon as its batch is done; those that cannot be read are left out."""
    if form.maps and not form.as_json:
        raise RegardError("--maps are grids of numbers, to be read by programs. Add --json, or see `regard show`.")
    captioner = load_captioner(model_directory(model))
    config = captioner.settings(**{name: value for name, value in options.items() if value is not None})
    described = 0
    with bar("describing", len(pictures), is_shown=not sys.stdout.isatty()) as progress:
        for part in _opened(captioner, pictures):
            outputs = captioner.each([square for _, square in part], config, progress=progress)
            for (number, _), own in zip(part, outputs, strict=True):
                _write(captioner, pictures, number, own, form)
            described += len(part)
    if described < len(pictures):
        raise RegardError(
            f"{len(pictures) - described} of {len(pictures)} pictures were left out: they are named above, each with "
            "what is wrong with it. The others are described."
        )


def _opened(captioner: Captioner, pictures: tuple[Path, ...]) -> Iterator[list[tuple[int, NDArray[np.uint8]]]]:
    """The pictures that can be read, by their numbers, some at a time; a single one that cannot is an error at once."""
    for start in range(0, len(pictures), OPENED_AT_ONCE):
        part = []
        for number, picture in enumerate(pictures[start : start + OPENED_AT_ONCE], start):
            try:
                part.append((number, captioner.square(picture)))
            except RegardError as error:
                if len(pictures) == 1:
                    raise
                warn(str(error))
        yield part


def _write(captioner: Captioner, pictures: tuple[Path, ...], number: int, own: list[Caption], form: Form) -> None:
    name = f"{pictures[number]}\t" if len(pictures) > 1 else ""
    text = _record(captioner, pictures[number], own, form) if form.as_json else _lines(number, name, own, form)
    sys.stdout.buffer.write(text.encode(errors="surrogateescape"))  # a name need not be UTF-8
    sys.stdout.buffer.flush()


def _lines(number: int, name: str, own: list[Caption], form: Form) -> str:
    if form.nbest > 1:
        return "".join(f"{number} ||| {one.text} ||| {one.score:.4f}\n" for one in own)
    return f"{name}{own[0].text}\n"


def _record(captioner: Captioner, picture: Path, own: list[Caption], form: Form) -> str:
    name = str(picture).encode(errors="backslashreplace").decode()  # JSON has no bytes that are no text
    record: dict[str, Any] = {"picture": name} | _described(own[0])
    if form.nbest > 1:
        record["nbest"] = [_described(one) for one in own]
    if form.maps:
        maps = word_maps(captioner.trace(picture, own[0].tokens))
        record["words"] = [{"word": word, "weights": weights.tolist()} for word, weights in maps]
    return msgspec.json.encode(record).decode() + "\n"


def _described(caption: Caption) -> dict[str, Any]:
    return {
        "text": caption.text,
        "score": caption.score,
        "log_probability": caption.log_probability,
        "is_ended": caption.is_ended,
    }

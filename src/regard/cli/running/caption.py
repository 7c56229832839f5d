"""Running `regard caption`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from regard.captioning.captioner import Caption, Captioner, load_captioner
from regard.captioning.tracing import word_maps
from regard.cli.running.models import model_directory
from regard.cli.running.telling import bar
from regard.errors import RegardError


@dataclass(frozen=True)
class Form:
    """What is written of each picture's captions."""

    nbest: int
    maps: bool
    as_json: bool


def run_captions(model: Path, pictures: tuple[Path, ...], *, options: dict[str, int | None], form: Form) -> None:
    """Describe the pictures, and write each as soon as its batch is done."""
    if form.maps and not form.as_json:
        raise RegardError("--maps are grids of numbers, to be read by programs. Add --json, or see `regard show`.")
    captioner = load_captioner(model_directory(model))
    config = captioner.settings(**{name: value for name, value in options.items() if value is not None})
    with bar("describing", len(pictures), is_shown=not sys.stdout.isatty()) as progress:
        outputs = captioner.each(pictures, config, progress=progress)
        for number, (picture, own) in enumerate(zip(pictures, outputs, strict=True)):
            name = f"{picture}\t" if len(pictures) > 1 else ""
            text = _record(captioner, picture, own, form) if form.as_json else _lines(number, name, own, form)
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()


def _lines(number: int, name: str, own: list[Caption], form: Form) -> str:
    if form.nbest > 1:
        return "".join(f"{number} ||| {one.text} ||| {one.score:.4f}\n" for one in own)
    return f"{name}{own[0].text}\n"


def _record(captioner: Captioner, picture: Path, own: list[Caption], form: Form) -> str:
    record: dict[str, Any] = {"picture": str(picture)} | _described(own[0])
    if form.nbest > 1:
        record["nbest"] = [_described(one) for one in own]
    if form.maps:
        maps = word_maps(captioner.trace(picture, own[0].tokens))
        record["words"] = [{"word": word, "weights": weights.tolist()} for word, weights in maps]
    return msgspec.json.encode(record).decode() + "\n"


def _described(caption: Caption) -> dict[str, Any]:
    return {"text": caption.text, "score": caption.score, "log_probability": caption.log_probability}

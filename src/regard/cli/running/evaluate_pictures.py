"""Running `regard evaluate` on captioned pictures."""

import time
from dataclasses import dataclass
from pathlib import Path

from regard.captioning.captioner import Captioner, load_captioner
from regard.captioning.pointing import Boxed, Pointed, point
from regard.cli.running.measuring import shown
from regard.cli.running.models import short_name
from regard.cli.running.outputs import check_outputs, write_texts
from regard.cli.running.telling import bar, tell, tell_json, tell_table
from regard.data.pictures import Captioned, read_captioned
from regard.data.pictures.reading import captions_of
from regard.data.worlds.scenes import read_boxes
from regard.manifest import model_directory
from regard.metrics import Score
from regard.metrics.captions import evaluate_captions, exactly_right

BOXES = "boxes.jsonl"
SHOWN_READINGS = 3


@dataclass(frozen=True)
class PictureSet:
    """The pictures to describe."""

    captions: Path
    split: str | None


@dataclass(frozen=True)
class Measured:
    """A captioner's figures."""

    model: str
    pictures: int
    scores: list[Score]
    exactly_right: float
    pointing: list[Pointed]  # the best reading first; empty where there are no boxes, or no attention
    seconds: float
    pictures_per_second: float
    parameters: int


def run_picture_evaluation(
    model: Path, pictures: PictureSet, *, beam: int | None, resamples: int, output: Path | None, as_json: bool
) -> None:
    """Describe the pictures of a set, and tell the captions' figures."""
    check_outputs({"--output": output}, [captions_of(pictures.captions)])
    captioned = read_captioned(pictures.captions, split=pictures.split)
    captioner = load_captioner(model_directory(model))
    texts, seconds = _described(captioner, captioned, beam)
    references = [one.captions for one in captioned]
    measured = Measured(
        model=short_name(model),
        pictures=len(texts),
        scores=evaluate_captions(texts, references, resamples=resamples),
        exactly_right=exactly_right(texts, references),
        pointing=point(captioner, _boxed(pictures, captioned)),
        seconds=seconds,
        pictures_per_second=len(texts) / seconds,
        parameters=sum(parameter.numel() for parameter in captioner.bundle.model.parameters()),
    )
    try:  # the file first: whoever reads the figures may have left; and the figures though a disk be full
        if output is not None:
            write_texts(output, texts)
    finally:
        tell_json(measured) if as_json else _tell_figures(measured)


def _described(captioner: Captioner, captioned: list[Captioned], beam: int | None) -> tuple[list[str], float]:
    config = captioner.settings(nbest=1, **({} if beam is None else {"beam": beam}))
    started = time.monotonic()
    with bar("describing", len(captioned)) as progress:
        outputs = captioner.each([one.picture for one in captioned], config, progress=progress)
        texts = [own[0].text for own in outputs]
    return texts, time.monotonic() - started


def _boxed(pictures: PictureSet, captioned: list[Captioned]) -> list[Boxed]:
    """Those pictures whose words have gold boxes, which lie beside the captions of a world of scenes."""
    beside = captions_of(pictures.captions).with_name(BOXES)
    found = read_boxes(beside) if beside.is_file() else {}
    named = [(one.picture, "/".join(one.picture.parts[-2:])) for one in captioned]  # a world names split and file
    return [Boxed(path, found[name].words, found[name].boxes) for path, name in named if name in found]


def _tell_figures(measured: Measured) -> None:
    rows = [[one.name, shown(one)] for one in measured.scores]
    tell_table([f"{measured.pictures:,} pictures", "score [95 %]"], rows)
    tell(f"exactly right: {100 * measured.exactly_right:.1f} %")
    if measured.pointing:
        rows = [
            [str(one.reading), f"{one.score.peak:.3f}", f"{one.score.mass:.3f}", f"{one.score.by_chance:.3f}"]
            for one in measured.pointing[:SHOWN_READINGS]
        ]
        tell_table(["pointing", "peak in the box", "mass in the box", "by chance"], rows)
    for score in measured.scores:
        tell(f"{score.name:<8} {score.signature}")

"""Running `regard evaluate` on captioned pictures."""

import time
from dataclasses import dataclass
from pathlib import Path

from regard.captioning.captioner import Captioner, load_captioner
from regard.captioning.pointing import Boxed, Pointed, point
from regard.cli.running.measuring import shown
from regard.cli.running.models import bytes_on_disk, short_name
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
class OpenedSet:
    """Pictures with their captions; those whose words have gold boxes with these too."""

    captioned: list[Captioned]
    boxed: list[Boxed]


@dataclass(frozen=True)
class PictureSet:
    """Where the pictures to describe are."""

    captions: Path
    split: str | None

    def read(self) -> OpenedSet:
        """The pictures of the split, or all."""
        captioned = read_captioned(self.captions, split=self.split)
        return OpenedSet(captioned, _boxed(self, captioned))


@dataclass(frozen=True)
class Measured:
    """A captioner's figures."""

    model: str
    directory: str
    pictures: int
    scores: list[Score]
    exactly_right: float
    pointing: list[Pointed]  # the best reading first; empty where there are no boxes, or no attention
    seconds: float
    pictures_per_second: float
    parameters: int
    bytes: int


def run_picture_evaluation(
    model: Path, pictures: PictureSet, *, beam: int | None, resamples: int, output: Path | None, as_json: bool
) -> None:
    """Describe the pictures of a set, and tell the captions' figures."""
    check_outputs({"--output": output}, [captions_of(pictures.captions)])
    measured, texts = measure_captions(model, pictures.read(), beam=beam, resamples=resamples)
    try:  # the file first: whoever reads the figures may have left; and the figures though a disk be full
        if output is not None:
            write_texts(output, texts)
    finally:
        tell_json(measured) if as_json else _tell_figures(measured)


def measure_captions(
    model: Path, pictures: OpenedSet, *, beam: int | None, resamples: int
) -> tuple[Measured, list[str]]:
    """A captioner's figures, and what it says of each picture."""
    captioner = load_captioner(model_directory(model))
    texts, seconds = _described(captioner, pictures.captioned, beam)
    references = [one.captions for one in pictures.captioned]
    measured = Measured(
        model=short_name(model),
        directory=str(model),
        pictures=len(texts),
        scores=evaluate_captions(texts, references, resamples=resamples),
        exactly_right=exactly_right(texts, references),
        pointing=point(captioner, pictures.boxed),
        seconds=seconds,
        pictures_per_second=len(texts) / seconds,
        parameters=sum(parameter.numel() for parameter in captioner.bundle.model.parameters()),
        bytes=sum(bytes_on_disk(model).values()),
    )
    return measured, texts


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

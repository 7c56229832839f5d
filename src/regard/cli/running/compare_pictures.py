"""Running `regard compare` on captioned pictures."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from regard.cli.running.evaluate_pictures import Measured, PictureSet, measure_captions
from regard.cli.running.measuring import NOTHING, shown
from regard.cli.running.models import distinct_names
from regard.cli.running.telling import tell, tell_json, tell_table

TOLD = ("BLEU-4", "CIDEr-D")  # the two that papers compare by; JSON has all


def run_picture_comparison(
    models: Sequence[Path], pictures: PictureSet, *, beam: int | None, resamples: int, as_json: bool
) -> None:
    """Let each captioner describe the same pictures, and set the figures side by side."""
    opened = pictures.read()
    figures = [measure_captions(model, opened, beam=beam, resamples=resamples)[0] for model in models]
    measured = [replace(one, model=name) for one, name in zip(figures, distinct_names(models), strict=True)]
    if as_json:
        tell_json({"models": measured})
        return
    tell_table([f"{measured[0].pictures:,} pictures", *(one.model for one in measured)], _rows(measured))
    for score in (score for score in measured[0].scores if score.name in TOLD):
        tell(f"{score.name:<8} {score.signature}")


def _rows(models: list[Measured]) -> list[list[str]]:
    scores = zip(*([score for score in one.scores if score.name in TOLD] for one in models), strict=True)
    return [
        *([own[0].name, *map(shown, own)] for own in scores),
        ["exactly right", *(f"{100 * one.exactly_right:.1f} %" for one in models)],
        *(_pointing_rows(models) if any(one.pointing for one in models) else []),
        ["pictures/s", *(f"{one.pictures_per_second:,.1f}" for one in models)],
        ["parameters", *(f"{one.parameters:,}" for one in models)],
        ["bytes on disk", *(f"{one.bytes:,}" for one in models)],
    ]


def _pointing_rows(models: list[Measured]) -> list[list[str]]:
    """How often each model's best reading looks into the box, and which it is; none of a model without attention."""
    best = [one.pointing[0] if one.pointing else None for one in models]
    return [
        ["peak in the box", *(f"{one.score.peak:.3f}" if one else NOTHING for one in best)],
        ["read from", *(str(one.reading) if one else NOTHING for one in best)],
    ]

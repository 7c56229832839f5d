"""`regard caption`: describe images."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import on_one_line, print_outputs, progress_bar, warn
from regard.cli.options import PATH, beam_option, json_option, model_argument, nbest_option
from regard.config import decode_options
from regard.errors import RegardError
from regard.files import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from regard.inference.captioner import Captioner

IMAGES_PER_BATCH = 256


@click.command(
    name="caption",
    epilog="""\b
Examples:
  regard caption runs/scenes-attention/model image.png
  regard caption runs/scenes-attention/model *.jpg --json --maps""",
)
@model_argument
@click.argument("images", type=PATH, nargs=-1, required=True, metavar="IMAGE...")
@beam_option
@nbest_option
@click.option("--maps", is_flag=True, help="With --json: the attention of each word as a grid of weights.")
@json_option
def command(
    model: Path, images: tuple[Path, ...], beam_size: int | None, nbest: int, maps: bool, as_json: bool
) -> None:
    """Describe images with MODEL, a directory such as runs/NAME/model: one line for each, in the same order.

    With several images each line starts with the file name and a tab; with --nbest, with the image's number, from 0.
    Images that cannot be read are reported and skipped.
    """

    from regard.inference.open import load
    from regard.tracing.image_maps import word_image_maps

    if maps and not as_json:
        raise RegardError("--maps writes grids of numbers for programs. Add --json, or use `regard show`.")
    captioner = load(model, task="image-to-text")
    decoding = captioner.decoding_config(**decode_options(beam_size=beam_size, nbest=nbest))
    described = 0
    with progress_bar("describing", len(images), is_shown=not sys.stdout.isatty()) as progress:
        for batch in _load_images(captioner, images):
            outputs = captioner.iter_captions([pixels for _, pixels in batch], decoding, progress=progress)
            for (number, _), captions in zip(batch, outputs, strict=True):
                image = images[number]
                record: dict[str, Any] = {"image": printable(str(image))}
                if maps:
                    words = word_image_maps(captioner.trace(image, captions[0].tokens))
                    record["words"] = [{"word": word, "weights": weights.tolist()} for word, weights in words]
                prefix = f"{on_one_line(str(image))}\t" if len(images) > 1 else ""
                print_outputs(number, captions, nbest=nbest, record=record if as_json else None, prefix=prefix)
            described += len(batch)
    if described < len(images):
        raise RegardError(
            f"{len(images) - described} of {len(images)} images were skipped: each is named above with its problem. "
            "The others are described."
        )


def _load_images(captioner: Captioner, images: tuple[Path, ...]) -> Iterator[list[tuple[int, NDArray[np.uint8]]]]:
    """The readable images with their numbers, in batches; an unreadable one is an error if it is the only one."""
    for start in range(0, len(images), IMAGES_PER_BATCH):
        batch = []
        for number, image in enumerate(images[start : start + IMAGES_PER_BATCH], start):
            try:
                batch.append((number, captioner.load_image(image)))
            except RegardError as error:
                if len(images) == 1:
                    raise
                warn(str(error))
        yield batch

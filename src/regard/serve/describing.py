"""Describing one picture, in a worker's thread: opened safely, then said word by word to whoever listens."""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.captioning.captioner import Captioner
from regard.captioning.tracing import said_so_far
from regard.data.pictures import PICTURE_FORMATS
from regard.data.pictures.opening import MOST_PIXELS
from regard.errors import RegardError
from regard.serve.refusals import Refusal
from regard.serve.streaming import Tell, best_of_steps
from regard.view.caption_record import Described, GoldCaption, picture_uri

DECIMALS = 4  # of a weight that is shown for a moment


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream tells first: the picture as the model sees it, and how many places its grid has."""

    picture: str  # a data URI
    rows: int
    columns: int


class SaidWord(msgspec.Struct, frozen=True):
    """A word, and the weights with which it looked at the places, row by row."""

    text: str
    weights: list[float]


class SaidSoFar(msgspec.Struct, frozen=True):
    """The caption as it grows; a model without attention has no words that look."""

    text: str
    words: list[SaidWord]


def open_square(captioner: Captioner, picture: Path | bytes) -> NDArray[np.uint8]:
    """The picture as the model sees it."""
    try:
        return captioner.square(picture)
    except RegardError as error:
        raise _refused(error) from None


def describe(captioner: Captioner, square: NDArray[np.uint8], beam: int, gold: GoldCaption | None) -> Described:
    """The caption of an opened picture, and its trace."""
    (caption,) = captioner.caption([square], beam=beam, nbest=1)
    return Described(square, captioner.eye.side, caption, captioner.trace(square, caption.tokens), gold)


def describe_aloud(
    captioner: Captioner, square: NDArray[np.uint8], beam: int, gold: GoldCaption | None, tell: Tell
) -> Described | None:
    """The same, each word told as it is said, with where it looked; None: nobody listens any more."""
    side, target = captioner.eye.side, captioner.bundle.tokenizers.target
    grid = captioner.looked_at(square)

    def say(tokens: list[int]) -> bool:
        words = [
            SaidWord(word, [round(float(weight), DECIMALS) for weight in weights.ravel()])
            for word, weights in said_so_far(captioner.bundle, grid, tokens)
        ]
        return tell("partial", SaidSoFar(target.decode(tokens), words))

    tell("seen", Seen(picture=picture_uri(square), rows=side, columns=side))
    best = best_of_steps(captioner.bundle.model, grid, captioner.settings(beam=beam, nbest=1), say)  # type: ignore[arg-type]
    if best is None:
        return None
    return Described(square, side, captioner.written(best), captioner.trace(square, best.tokens), gold)


def _refused(error: RegardError) -> Refusal:
    """A picture's own bytes may stand in the reason, which is therefore not repeated."""
    if f"{MOST_PIXELS:,}" in str(error):
        return Refusal(413, "picture_too_large", f"A picture may have {MOST_PIXELS:,} pixels at most. Make it smaller.")
    if "32 bits a pixel" in str(error):
        return Refusal(415, "bad_picture", "This picture has 32 bits a pixel. Save it with 8 or 16 bits.")
    formats = ", ".join(PICTURE_FORMATS)
    return Refusal(415, "bad_picture", f"This cannot be read as a picture. Send a whole file of {formats}.")

"""What is told of a caption: by the server's answers, and in a file that holds them."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.captioning.captioner import Caption
from regard.data.worlds.scenes import Box, Boxes
from regard.errors import RegardError
from regard.translation.trace import Trace, TraceSummary
from regard.view.regions_painting import png_of

PNG = "image/png"


class GoldCaption(msgspec.Struct, frozen=True, kw_only=True):
    """What is right to say of a picture, and for each word the boxes of what it speaks of."""

    words: list[str]
    boxes: list[list[Box]]

    @classmethod
    def of(cls, known: Boxes | None) -> Self | None:
        """The same from a line of a world's boxes, where there is one."""
        return None if known is None else cls(words=known.words, boxes=known.boxes)


class CaptionRecord(TraceSummary, frozen=True, kw_only=True):
    """A caption's trace, the id by which its numbers are asked for, and the picture as the model saw it."""

    id: str
    model: str
    score: float
    log_probability: float
    rows: int  # of the grid: key number r * columns + c is the place in row r and column c
    columns: int
    picture: str  # a data URI
    gold: GoldCaption | None


@dataclass(frozen=True, eq=False)
class Described:
    """A picture as the model saw it, what it said, and all that it computed in saying it."""

    square: NDArray[np.uint8]  # (3, size, size)
    side: int  # places of the grid along each side
    caption: Caption
    trace: Trace
    gold: GoldCaption | None = None

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """The same from a trace that has its picture; what was said is worth what the trace says."""
        if trace.picture is None:
            raise RegardError("this trace was made without its picture. Make it with captioner.trace(picture, tokens).")
        worth = sum(trace.log_probabilities)
        caption = Caption(trace.text, worth, worth, [])
        return cls(trace.picture, round(len(trace.source.pieces) ** 0.5), caption, trace)


def caption_record(described: Described, *, identity: str, model: str) -> CaptionRecord:
    """The record of a described picture."""
    summary = described.trace.summary()
    return CaptionRecord(
        **{field: getattr(summary, field) for field in TraceSummary.__struct_fields__},
        id=identity,
        model=model,
        score=described.caption.score,
        log_probability=described.caption.log_probability,
        rows=described.side,
        columns=described.side,
        picture=picture_uri(described.square),
        gold=described.gold,
    )


def picture_uri(square: NDArray[np.uint8]) -> str:
    """A picture (3, rows, columns) as an address that holds it; PNG loses nothing."""
    return f"data:{PNG};base64,{b64encode(png_of(square.transpose(1, 2, 0))).decode()}"

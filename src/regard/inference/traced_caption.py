"""An image with its caption and the trace of it, and the record by which the API and the page describe them."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.data.images import encode_png
from regard.errors import RegardError
from regard.inference.captioner import Caption
from regard.tracing.trace import Trace, TraceSummary

if TYPE_CHECKING:
    from regard.worlds.scenes import GoldBoxes

PNG_TYPE = "image/png"


class GoldCaption(msgspec.Struct, frozen=True, kw_only=True):
    """The correct caption of an image, and for each word the boxes of what it refers to."""

    words: list[str]
    boxes: Sequence[Sequence[tuple[float, float, float, float]]]  # left, top, right, bottom, as shares of its sides

    @classmethod
    def from_boxes(cls, gold_boxes: "GoldBoxes | None") -> Self | None:
        """The caption of a line of boxes.jsonl, if there is one."""
        return None if gold_boxes is None else cls(words=gold_boxes.words, boxes=gold_boxes.boxes)


class CaptionSummary(TraceSummary, frozen=True, kw_only=True):
    """The trace of a caption, its id for further requests, and the image as the model received it."""

    id: str
    model: str
    score: float
    log_probability: float
    rows: int  # of the grid: key r * columns + c is the cell in row r and column c
    columns: int
    image: str  # a data URI
    gold: GoldCaption | None


@dataclass(frozen=True, eq=False)
class TracedCaption:
    """An image as the model received it, its caption, and the trace of the caption."""

    image: NDArray[np.uint8]  # (3, size, size)
    grid_size: int  # cells of the grid along each side
    caption: Caption
    trace: Trace
    gold: GoldCaption | None = None

    @classmethod
    def from_trace(cls, trace: Trace) -> Self:
        """From a trace that has its image; the score is the log-probability of the trace."""
        if trace.image is None:
            raise RegardError("this trace was made without its image. Make it with captioner.trace(image, tokens).")
        log_probability = sum(trace.log_probabilities)
        caption = Caption(trace.text, log_probability, log_probability, [])
        return cls(trace.image, round(len(trace.source.pieces) ** 0.5), caption, trace)


def caption_summary(described: TracedCaption, *, identity: str, model: str) -> CaptionSummary:
    """The record of a captioned image."""
    summary = described.trace.summary()
    return CaptionSummary(
        **{field: getattr(summary, field) for field in TraceSummary.__struct_fields__},
        id=identity,
        model=model,
        score=described.caption.score,
        log_probability=described.caption.log_probability,
        rows=described.grid_size,
        columns=described.grid_size,
        image=image_data_uri(described.image),
        gold=described.gold,
    )


def image_data_uri(image: NDArray[np.uint8]) -> str:
    """An image (3, rows, columns) as a data URI; PNG is lossless."""
    return f"data:{PNG_TYPE};base64,{b64encode(encode_png(image.transpose(1, 2, 0))).decode()}"

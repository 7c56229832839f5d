"""Described pictures as the data of the page's Pictures view, in a file that works from a disk."""

from collections.abc import Sequence
from typing import Any

import msgspec

from regard.view.caption_record import Described, caption_record
from regard.view.page_data import around_of, detail_bytes, details_of, model_record, weights_of

MOST_DETAIL_BYTES = 16_000_000  # of all pictures: with more, as of a large sheet, the maps stand there without them


def picture_page_data(pictures: Sequence[Described], *, name: str, language: str = "") -> dict[str, Any]:
    """All that the page shows of the pictures, as plain values that become JSON."""
    is_small = sum(detail_bytes(one.trace) for one in pictures) <= MOST_DETAIL_BYTES
    return {
        "models": [model_record(pictures[0].trace, name, ("", language), takes="pictures")],
        "pictures": [
            {
                "trace": msgspec.to_builtins(caption_record(one, identity=str(number), model=name)),
                "weights": weights_of(one.trace),
                "details": details_of(one.trace) if is_small else None,
                **(around_of(one.trace) if is_small else {}),
            }
            for number, one in enumerate(pictures)
        ],
    }

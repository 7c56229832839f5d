"""The flip that augments training on images, and the captions that forbid it."""

import re
from collections.abc import Iterable

import numpy as np

from regard.tokenization.text import nfc

_LEFT_OR_RIGHT = re.compile(r"\b(left|right|leftmost|rightmost)\b|왼|오른|좌측|우측", re.IGNORECASE)


def draw_flip(seed: int, epoch: int, index: int) -> bool:
    """Whether an image is flipped in an epoch: a pure function, so a run that resumes flips the same images."""
    # numpy guarantees the raw stream for all versions, but not its distributions.
    return int(np.random.PCG64([seed, epoch, index]).random_raw()) < 2**63


def mentions_left_or_right(captions: Iterable[str]) -> bool:
    """Whether a caption mentions left or right, in English or Korean: it would be wrong for the flipped image."""
    return any(_LEFT_OR_RIGHT.search(nfc(caption)) for caption in captions)

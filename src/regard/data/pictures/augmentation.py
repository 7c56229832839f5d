"""Small sets made larger: pictures cropped, mirrored and recoloured a little differently in each epoch.

What is drawn is a pure function of the seed, the epoch and the picture's index (docs/decisions/0004), so a run that
stops and goes on sees what it would have seen.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.spelling import composed

_SIDES = re.compile(r"\b(left|right|leftmost|rightmost)\b|왼|오른|좌측|우측", re.IGNORECASE)
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue (ITU-R BT.601)
_DRAWS = 7


@dataclass(frozen=True)
class Augmentation:
    """How much pictures are changed; nothing by default."""

    crop: float = 0.0  # at most this share of each side is cut off
    flip: bool = False  # half of the pictures are mirrored; never for scenes, which are told from left to right
    colour: float = 0.0  # brightness, contrast and saturation change at most by this share


@dataclass(frozen=True)
class Draw:
    """Which of all changes is drawn: the same three numbers always draw the same."""

    seed: int
    epoch: int
    index: int

    def chances(self) -> list[float]:
        """Numbers from 0 to 1, drawn evenly."""
        # numpy promises the raw stream for all its versions, but not what its distributions make of it.
        return [float(raw) / 2**64 for raw in np.random.PCG64([self.seed, self.epoch, self.index]).random_raw(_DRAWS)]


def tells_sides_apart(captions: Iterable[str]) -> bool:
    """Whether a caption says left or right, in English or Korean: mirrored, its picture would make it wrong."""
    return any(_SIDES.search(composed(caption)) for caption in captions)


def augment(picture: NDArray[np.uint8], how: Augmentation, draw: Draw, *, may_flip: bool = True) -> NDArray[np.uint8]:
    """A picture (3, Y, X) of the same size, changed as was drawn."""
    size, down, across, mirror, *colours = draw.chances()
    changed: NDArray[np.floating] | NDArray[np.uint8] = picture
    if how.crop:
        changed = _cropped(changed, 1 - how.crop * size, down, across)
    if how.flip and may_flip and mirror < 0.5:
        changed = changed[:, :, ::-1]
    if how.colour:
        factors = [1 + how.colour * (2 * chance - 1) for chance in colours]
        changed = _recoloured(changed.astype(np.float32), *factors)
    return np.ascontiguousarray(np.clip(np.rint(changed), 0, 255).astype(np.uint8))


def _cropped(picture: NDArray[np.generic], share: float, down: float, across: float) -> NDArray[np.float32]:
    """A window of `share` of each side, placed by `down` and `across`, scaled back to the picture's size."""
    pixels = picture.astype(np.float32)
    rows = _between(pixels, 1, share, down)
    return _between(rows, 2, share, across)


def _between(pixels: NDArray[np.float32], axis: int, share: float, place: float) -> NDArray[np.float32]:
    """The values at evenly spaced places along one axis, each mixed from its two neighbours."""
    count = pixels.shape[axis]
    start = place * (1 - share) * count
    centres = np.clip(start + (np.arange(count) + 0.5) * share - 0.5, 0, count - 1)
    lower = np.floor(centres).astype(np.intp)
    upper = np.minimum(lower + 1, count - 1)
    shape = [1] * pixels.ndim
    shape[axis] = count
    mix = (centres - lower).astype(np.float32).reshape(shape)
    mixed: NDArray[np.float32] = pixels.take(lower, axis) * (1 - mix) + pixels.take(upper, axis) * mix
    return mixed


def _recoloured(
    pixels: NDArray[np.float32], brightness: float, contrast: float, saturation: float
) -> NDArray[np.float32]:
    pixels = pixels * np.float32(brightness)
    grey = np.tensordot(_LUMINANCE, pixels, 1)  # (Y, X)
    pixels = grey + np.float32(saturation) * (pixels - grey)
    middle = grey.mean()
    changed: NDArray[np.float32] = middle + np.float32(contrast) * (pixels - middle)
    return changed

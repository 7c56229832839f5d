"""A picture's file made into a square of pixels, without trusting the file.

The size is read and bounded before anything is decoded, only a few well-kept decoders are asked, and whatever goes
wrong inside them comes out as one error that names the file. Cropping and scaling come before colour and orientation:
so a large picture is held at most twice.
"""

import warnings
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 25_000_000
PICTURE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_ORIENTATION = 0x0112  # EXIF: how the camera was held, 1 to 8


def open_picture(source: Path | bytes, *, size: int, name: str = "the picture") -> NDArray[np.uint8]:
    """The middle square of a picture, scaled to (3, size, size), red, green and blue from 0 to 255.

    The picture stands upright as its EXIF data say; what is transparent is white; of several frames it is the first.
    """
    shown = name if isinstance(source, bytes) else str(source)
    content = source if isinstance(source, bytes) else _content(source)
    # Pillow warns of what is refused here in words; filters of warnings are the process's, so all are silenced at once.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pixels = np.asarray(_square(_opened(content, shown), size, shown))
        except RegardError:
            raise
        except MemoryError:
            raise RegardError(f"{shown} does not fit into the memory. Make it smaller.") from None
        except Exception as error:  # on damaged bytes a decoder raises nearly anything
            raise RegardError(f"{shown} is damaged: {str(error)[:200]}. Save it again, or leave it out.") from None
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        wanted = f"the pictures in it, as {path}/*.png" if path.is_dir() else "the path of a picture"
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give {wanted}.") from None


def _opened(content: bytes, shown: str) -> "Image":
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise RegardError("pictures need Pillow, which is not installed. Run pip install pillow.") from None
    try:
        image = Image.open(BytesIO(content), formats=PICTURE_FORMATS)
    except UnidentifiedImageError:
        allowed = ", ".join(PICTURE_FORMATS)
        raise RegardError(f"{shown} is not a picture that can be read; allowed are {allowed}. Convert it.") from None
    except Image.DecompressionBombError:
        raise RegardError(f"{shown} has more than {MOST_PIXELS:,} pixels. Make it smaller.") from None
    width, height = image.size
    if not 0 < width * height <= MOST_PIXELS:
        raise RegardError(
            f"{shown} has {width:,} x {height:,} pixels; at most {MOST_PIXELS:,} are read. Make it smaller."
        )
    return image


def _square(image: "Image", size: int, shown: str) -> "Image":
    from PIL.Image import Resampling, Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    image.load()
    turn = turns.get(_orientation(image))  # asked only now: Pillow turns a TIFF by itself, as it loads it
    image = _plain(image, shown)
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    square = image.resize((size, size), Resampling.BICUBIC, box=(left, top, left + side, top + side))
    coloured = _over_white(square) if square.mode in _WITH_ALPHA else square.convert("RGB")
    return coloured.transpose(turn) if turn is not None else coloured


def _orientation(image: "Image") -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # broken EXIF data do not make a picture unreadable
        return 1


def _plain(image: "Image", shown: str) -> "Image":
    """The decoded picture in a mode that can be scaled, eight bits a channel."""
    from PIL import Image

    if image.mode in _SIXTEEN_BITS or (image.mode == "I" and image.format == "PNG"):
        # Pillow clips sixteen bits to eight, which makes nearly all of them white; the upper byte is what is meant.
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise RegardError(f"{shown} has 32 bits a pixel, and does not say what is white. Save it with 8 or 16 bits.")
    if image.mode in ("P", "1", "PA") or "transparency" in image.info:
        return image.convert("RGBA")
    return image


def _over_white(image: "Image") -> "Image":
    from PIL import Image

    image = image.convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image).convert("RGB")

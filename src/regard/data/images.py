"""Image files to square arrays of pixels, without trusting the file.

The size is read and limited before anything is decoded, only a few well-maintained decoders are used, and every failure
inside them is reported as one error that names the file. Cropping and scaling come before colour conversion and
orientation, so a large image is in memory at most twice.
"""

import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.files import MEBIBYTE, read_input

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 25_000_000
MAX_IMAGE_BYTES = 256 * MEBIBYTE  # of so many pixels with four channels of 16 bits, not compressed
IMAGE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
ImageInput = Path | str | bytes | NDArray[np.uint8]  # a file's path, its content, or an array (3, size, size)
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")
_SIXTEEN_BIT_MODES = ("I;16", "I;16L", "I;16B", "I;16N")
_ORIENTATION = 0x0112  # EXIF: how the camera was held, 1 to 8


def load_image(source: Path | bytes, *, size: int, name: str = "the image") -> NDArray[np.uint8]:
    """The central square of an image, scaled to (3, size, size): red, green and blue from 0 to 255.

    The EXIF orientation is applied, transparent pixels become white, and of several frames the first is used.
    """
    display_name = name if isinstance(source, bytes) else str(source)
    if isinstance(source, bytes):
        content = source
    else:
        wanted = f"the images in it, as {source}/*.png" if source.is_dir() else "the path of an image"
        content = read_input(source, max_bytes=MAX_IMAGE_BYTES, advice=f"Give {wanted}.")
    # Pillow warns about files that are refused below with an error; warning filters apply to the whole process.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pixels = np.asarray(_to_square(_open_image(content, display_name), size, display_name))
        except RegardError:
            raise
        except MemoryError:
            raise RegardError(f"{display_name} does not fit into memory. Make it smaller.") from None
        except Exception as error:  # damaged bytes make decoders raise almost anything
            raise RegardError(f"{display_name} is damaged: {str(error)[:200]}. Save it again, or remove it.") from None
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def to_pixels(image: ImageInput, *, size: int) -> NDArray[np.uint8]:
    """One image in the size that a model reads, (3, size, size); an array must have it already."""
    if isinstance(image, str | bytes | Path):
        return load_image(Path(image) if isinstance(image, str) else image, size=size)
    if not isinstance(image, np.ndarray):
        raise RegardError(f"an image is a path, the bytes of a file, or an array; got {type(image)!r}.")
    if image.shape != (3, size, size) or image.dtype != np.uint8:
        raise RegardError(
            f"the array of an image has shape (3, {size}, {size}) and type uint8 for this model; got "
            f"{image.shape} of {image.dtype}. Give the image's file instead, which is resized."
        )
    return image


def image_side(path: Path) -> int:
    """The shorter side of an image, in pixels."""
    return min(_open_image(read_input(path, max_bytes=MAX_IMAGE_BYTES), str(path)).size)


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (rows, columns, channels) as the content of a PNG file; two channels are grey and opacity."""
    from PIL.Image import fromarray

    content = BytesIO()
    fromarray(np.ascontiguousarray(pixels)).save(content, format="PNG")
    return content.getvalue()


def _open_image(content: bytes, display_name: str) -> "Image":
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise RegardError("images need Pillow, which is not installed. Run pip install pillow.") from None
    try:
        image = Image.open(BytesIO(content), formats=IMAGE_FORMATS)
    except UnidentifiedImageError:
        allowed = ", ".join(IMAGE_FORMATS)
        raise RegardError(f"{display_name} is not a readable image; allowed are {allowed}. Convert it.") from None
    except Image.DecompressionBombError:
        raise RegardError(f"{display_name} has more than {MAX_PIXELS:,} pixels. Make it smaller.") from None
    width, height = image.size
    if not 0 < width * height <= MAX_PIXELS:
        raise RegardError(
            f"{display_name} has {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are allowed. Make it smaller."
        )
    return image


def _to_square(image: "Image", size: int, display_name: str) -> "Image":
    from PIL import Image
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
    turn = None
    with suppress(Exception):  # an image with broken EXIF data is still readable
        turn = turns.get(int(image.getexif().get(_ORIENTATION, 1)))  # only now: Pillow rotates a TIFF when it loads it
    image = _to_scalable_mode(image, display_name)
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    square = image.resize((size, size), Resampling.BICUBIC, box=(left, top, left + side, top + side))
    if square.mode in _ALPHA_MODES:
        square = Image.alpha_composite(Image.new("RGBA", square.size, "white"), square.convert("RGBA"))
    square = square.convert("RGB")
    return square.transpose(turn) if turn is not None else square


def _to_scalable_mode(image: "Image", display_name: str) -> "Image":
    """The decoded image in a mode that can be scaled, with eight bits per channel."""
    from PIL import Image

    if image.mode in _SIXTEEN_BIT_MODES or (image.mode == "I" and image.format == "PNG"):
        # Pillow clips sixteen bits to eight, which makes almost every pixel white; the upper byte is correct.
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise RegardError(f"{display_name} has 32 bits per pixel without a white level. Save it with 8 or 16 bits.")
    if image.mode in ("P", "1", "PA") or "transparency" in image.info:
        return image.convert("RGBA")
    return image

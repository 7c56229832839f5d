"""Pictures of every kind made here as real files, opened; and files that must not be."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

from regard.data.images import MAX_PIXELS, load_image
from regard.errors import RegardError

SIZE = 16
QUARTERS = {
    "upper left": (255, 0, 0),
    "upper right": (0, 255, 0),
    "lower left": (0, 0, 255),
    "lower right": (255, 255, 0),
}


def quartered(side: int = 64) -> Image.Image:
    """Red, green, blue and yellow: no turn or mirroring of it looks the same."""
    image = Image.new("RGB", (side, side))
    for index, colour in enumerate(QUARTERS.values()):
        left, top = (index % 2) * side // 2, (index // 2) * side // 2
        image.paste(colour, (left, top, left + side // 2, top + side // 2))
    return image


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def seen(content: bytes, size: int = SIZE) -> list[list[int]]:
    """The colour in the middle of each quarter."""
    pixels = load_image(content, size=size)
    low, high = size // 4, 3 * size // 4
    return [pixels[:, y, x].tolist() for y in (low, high) for x in (low, high)]


def as_expected(content: bytes, tolerance: int = 3) -> bool:
    return bool(np.abs(np.array(seen(content)) - np.array(list(QUARTERS.values()))).max() <= tolerance)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"evaluation": 95, "subsampling": 0}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("GIF", {}),
        ("BMP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
def test_every_allowed_format_gives_its_colours(tmp_path: Path, kind: str, options: dict[str, object]) -> None:
    content = encoded(quartered(), kind, **options)
    assert as_expected(content)
    path = tmp_path / "image"
    path.write_bytes(content)
    pixels = load_image(path, size=SIZE)
    assert (pixels.shape, pixels.dtype) == ((3, SIZE, SIZE), np.uint8)
    assert pixels.flags["C_CONTIGUOUS"]
    assert (pixels == load_image(content, size=SIZE)).all()


@pytest.mark.parametrize("kind", ["PPM", "ICO", "TGA", "EPS", "PDF", "JPEG2000"])
def test_other_formats_are_refused_with_allowed_names(kind: str) -> None:
    with pytest.raises(RegardError, match="allowed are JPEG, PNG, WEBP, GIF, BMP, TIFF"):
        load_image(encoded(quartered(), kind), size=SIZE)


@pytest.mark.parametrize("content", [b"", b"not an image", b"<svg/>", b"\x00" * 100])
def test_file_that_is_not_an_image_is_refused(content: bytes) -> None:
    with pytest.raises(RegardError, match=r"^cat\.jpg is not a readable image"):
        load_image(content, size=SIZE, name="cat.jpg")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"absent\.png cannot be read: No such file"):
        load_image(tmp_path / "absent.png", size=SIZE)
    with pytest.raises(RegardError, match="Is a directory"):
        load_image(tmp_path, size=SIZE)


# --- the middle square -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(120, 40), (40, 120), (41, 40), (7, 5), (1, 300)])
def test_centre_of_a_long_image_is_cropped(width: int, height: int) -> None:
    image = Image.new("RGB", (width, height), "red")
    side = min(width, height)
    image.paste("blue", ((width - side) // 2, (height - side) // 2, (width + side + 1) // 2, (height + side + 1) // 2))
    middle = load_image(encoded(image, "PNG"), size=SIZE)[:, SIZE // 2, SIZE // 2]
    assert middle.tolist() == [0, 0, 255]
    everywhere = load_image(encoded(image, "PNG"), size=SIZE)
    assert everywhere[2].mean() > 240


def test_image_of_requested_size_stays_unchanged() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    found = load_image(encoded(Image.fromarray(pixels), "PNG"), size=32)
    assert (found.transpose(1, 2, 0) == pixels).all()


def test_scaling_down_averages_and_does_not_pick() -> None:
    """Lines of one pixel, black and white by turns, become grey."""
    lines = np.zeros((256, 256), np.uint8)
    lines[::2] = 255
    found = load_image(encoded(Image.fromarray(lines), "PNG"), size=SIZE)
    assert np.abs(found.astype(int) - 127).max() <= 3


# --- kinds of pixels -------------------------------------------------------------------------------------------------


def png_of_sixteen_bits(value: int, channels: int, side: int = 8) -> bytes:
    """A PNG written by hand, for Pillow writes no sixteen bits a channel in colour."""
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    row = b"\0" + struct.pack(">H", value) * (channels * side)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 16, colour_type, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * side)),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("value", "expected"), [(0, 0), (32768, 128), (32896, 128), (65535, 255), (16448, 64)])
def test_sixteen_bits_are_scaled_and_not_clipped(channels: int, value: int, expected: int) -> None:
    found = load_image(png_of_sixteen_bits(value, channels), size=4)
    assert np.abs(found.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("channels", [2, 4])
def test_sixteen_bits_with_alpha_lie_over_white(channels: int) -> None:
    found = load_image(png_of_sixteen_bits(32768, channels), size=4)
    assert np.abs(found.astype(int) - 191).max() <= 2  # grey of 128, half over white


def test_a_tiff_of_sixteen_bits_keeps_its_grey() -> None:
    grey = Image.fromarray(np.full((9, 9), 32768, np.uint16))
    assert np.abs(load_image(encoded(grey, "TIFF"), size=4).astype(int) - 128).max() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_thirty_two_bit_images_are_refused(dtype: type) -> None:
    image = Image.fromarray(np.full((9, 9), 100, dtype))
    with pytest.raises(RegardError, match="32 bits"):
        load_image(encoded(image, "TIFF"), size=4)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_four_inks_become_three_lights(kind: str) -> None:
    found = seen(encoded(quartered().convert("CMYK"), kind))
    assert np.abs(np.array(found) - np.array(list(QUARTERS.values()))).max() <= 12


def test_a_palette_gives_its_colours() -> None:
    assert as_expected(encoded(quartered().convert("P", palette=Image.Palette.ADAPTIVE, colors=8), "PNG"))


def test_transparent_palette_colour_becomes_white() -> None:
    image = quartered().quantize(4)
    index = image.getpixel((1, 1))
    found = seen(encoded(image, "PNG", transparency=index))
    assert found[0] == [255, 255, 255]
    assert found[1] == [0, 255, 0]


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparency_blends_with_white(kind: str) -> None:
    image = Image.new("RGBA", (32, 32), (200, 0, 0, 0))
    image.paste((0, 0, 0, 128), (0, 16, 32, 32))
    found = load_image(encoded(image, kind, **({"lossless": True} if kind == "WEBP" else {})), size=32)
    assert found[:, 4, 16].tolist() == [255, 255, 255]
    assert np.abs(found[:, 28, 16].astype(int) - 127).max() <= 1


def test_grey_bilevel_and_grey_alpha_are_read() -> None:
    assert (load_image(encoded(Image.new("L", (9, 9), 128), "PNG"), size=4) == 128).all()
    assert (load_image(encoded(Image.new("1", (9, 9), 1), "PNG"), size=4) == 255).all()
    assert (load_image(encoded(Image.new("LA", (9, 9), (128, 255)), "PNG"), size=4) == 128).all()


def test_mid_grey_stays_mid_grey_in_every_mode() -> None:
    grey = Image.new("RGB", (40, 40), (128, 128, 128))
    for kind, mode in [("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "P"), ("GIF", "P"), ("WEBP", "RGB")]:
        found = load_image(encoded(grey.convert(mode), kind), size=SIZE)
        assert np.abs(found.astype(int) - 128).max() <= 3, (kind, mode)


def test_first_of_several_frames_is_read() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "green", "blue")]
    for kind in ("GIF", "WEBP", "PNG", "TIFF"):
        options: dict[str, object] = {"lossless": True} if kind == "WEBP" else {}
        content = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        assert load_image(content, size=4)[:, 2, 2].tolist() == [255, 0, 0], kind


# --- orientation -----------------------------------------------------------------------------------------------------

WRITTEN = {  # EXIF orientation: what must be done to an upright image to get the stored one
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


@pytest.mark.parametrize("orientation", WRITTEN)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_orientation_is_applied(kind: str, orientation: int) -> None:
    upright, turn = quartered(), WRITTEN[orientation]
    stored = upright if turn is None else upright.transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"JPEG": {"evaluation": 95, "subsampling": 0}, "WEBP": {"lossless": True}}.get(kind, {})
    assert as_expected(encoded(stored, kind, exif=exif, **options))


def test_orientation_also_moves_the_centre_crop() -> None:
    image = Image.new("RGB", (90, 30), "red")
    image.paste("blue", (30, 0, 60, 30))
    exif = Image.Exif()
    exif[0x0112] = 6
    assert (load_image(encoded(image, "PNG", exif=exif), size=8)[2] > 200).all()


def test_broken_exif_data_are_ignored() -> None:
    assert as_expected(encoded(quartered(), "PNG", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff broken"))
    exif = Image.Exif()
    exif[0x0112] = 99
    assert as_expected(encoded(quartered(), "PNG", exif=exif))


def test_a_colour_profile_does_no_harm() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert as_expected(encoded(quartered(), "PNG", icc_profile=profile))


# --- files that must not be trusted ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_image_is_an_error_naming_it(kind: str, share: float) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    content = encoded(noise, kind)
    with pytest.raises(RegardError, match=r"^the image is (damaged|not a readable image)"):
        load_image(content[: int(share * len(content))], size=SIZE)


def bomb(width: int, height: int) -> bytes:
    """A PNG of few bytes and many pixels."""
    packer = zlib.compressobj(9)
    row = bytes(1 + width // 8)
    data = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)), (b"IDAT", data), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in chunks
    )


@pytest.mark.parametrize(("width", "height"), [(12_800, 12_800), (5_008, 5_000), (40_000, 40_000)])
def test_a_bomb_is_refused_before_it_is_unpacked(width: int, height: int) -> None:
    content = bomb(width, height)
    assert len(content) < 1_000_000
    with pytest.raises(RegardError, match="pixels"):
        load_image(content, size=SIZE)


@pytest.mark.slow
def test_largest_allowed_image_reads_within_300_megabytes(tmp_path: Path) -> None:
    """The dearest kind: a palette, which takes four bytes a pixel to scale."""
    image = Image.new("P", (5_000, MAX_PIXELS // 5_000), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    path = tmp_path / "large.png"
    image.save(path)
    program = f"""
import resource
from pathlib import Path
from regard.data.images import load_image
from PIL import PngImagePlugin
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pixels = load_image(Path({str(path)!r}), size=16)
print(pixels[:, 8, 8].tolist(), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    colour, megabytes = ended.stdout.strip().rsplit(" ", 1)
    assert colour == "[10, 20, 30]"
    assert int(megabytes) < 300


SAMPLES = [
    encoded(quartered(16), kind, **({"lossless": True} if kind == "WEBP" else {}))
    for kind in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP")
]


@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_give_an_image_or_explained_error(content: bytes, changes: list[tuple[float, int]]) -> None:
    damaged = bytearray(content)
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    try:
        pixels = load_image(bytes(damaged), size=8)
    except RegardError:
        return
    assert (pixels.shape, pixels.dtype) == ((3, 8, 8), np.uint8)

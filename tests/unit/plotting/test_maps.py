"""Maps as pictures: every weight in its place and shade, labels of any script, the same drawing as SVG and as PNG."""

import json
import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regard.errors import RegardError
from regard.plotting.attention_map import MAX_CELL_RECTS, AttentionMap, MapLayout, draw_map
from regard.plotting.figure_files import PNG_ZOOM as SCALE
from regard.plotting.figure_files import svg_to_png
from regard.plotting.weight_colors import RAMP_STEPS, RAMPS, color_of, color_ramp, to_hex
from regard.web.pages import FOLDER

SVG = "{http://www.w3.org/2000/svg}"
ROWS, COLUMNS = ["AI가", "세상을", "바꾼다", "</s>"], ["AI", "changes", "the", "world", "</s>"]
WEIGHTS = np.array(
    [[0.8, 0.1, 0, 0.1, 0], [0, 0, 0.25, 0.75, 0], [0, 0.7, 0, 0, 0.3], [0.1, 0.1, 0.1, 0.1, 0.6]], dtype=np.float32
)
MAP = AttentionMap("AI changes the world → AI가 세상을 바꾼다", "cross-attention", ROWS, COLUMNS, WEIGHTS)


def parsed(drawn: AttentionMap) -> ElementTree.Element:
    return ElementTree.fromstring(draw_map(drawn))  # noqa: S314  (our own text)


def squares(drawn: AttentionMap) -> list[ElementTree.Element]:
    """The cells, row by row: they alone say what they are."""
    return [node for node in parsed(drawn).iter(f"{SVG}rect") if node.find(f"{SVG}title") is not None]


def painted(drawn: AttentionMap) -> Image.Image:
    return Image.open(BytesIO(svg_to_png(draw_map(drawn)))).convert("RGB")


# --- shades ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_larger_weight_is_darker_in_even_grey_steps(ground: str) -> None:
    lightness = [perceived(colour) for colour in color_ramp(ground)]  # type: ignore[arg-type]
    steps = np.diff(lightness if ground == "dark" else lightness[::-1])
    coarse = steps.reshape(-1, 15).sum(axis=1)  # over 17 parts, so that rounding to bytes does not count
    assert (coarse > 0).all()
    assert coarse.max() < 1.6 * coarse.min()


def perceived(colour: tuple[int, int, int]) -> float:
    """CIE lightness: what every eye has in common, colour-blind or not."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in np.array(colour) / 255]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def test_images_and_page_have_equal_shades() -> None:
    script = (FOLDER / "charts" / "colour.js").read_text(encoding="utf-8")
    for ground, stops in RAMPS.items():
        found = re.search(rf"{ground}: (\[\s*\[.*?\]\s*,?\s*\])", script, re.DOTALL)
        assert found is not None
        numbers = re.sub(r",\s*\]", "]", found[1])  # JavaScript allows a comma after the last one
        assert json.loads(numbers) == [list(stop) for stop in stops]


@pytest.mark.parametrize(
    ("weight", "step"), [(-1.0, 0), (0.0, 0), (1.0, RAMP_STEPS - 1), (7.0, RAMP_STEPS - 1), (np.nan, 0)]
)
def test_out_of_range_weight_has_the_boundary_shade(weight: float, step: int) -> None:
    assert color_of(weight) == color_ramp("light")[step]


# --- SVG -------------------------------------------------------------------------------------------------------------


def test_every_cell_has_its_shade_and_value() -> None:
    found = squares(MAP)
    layout = MapLayout.for_map(MAP)
    assert len(found) == WEIGHTS.size
    for ((row, column), weight), node in zip(np.ndenumerate(WEIGHTS), found, strict=True):
        assert float(node.get("x", 0)) == pytest.approx(layout.left + column * layout.cell, abs=0.06)
        assert float(node.get("y", 0)) == pytest.approx(layout.top + row * layout.cell, abs=0.06)
        assert node.get("fill") == to_hex(color_of(round(float(weight) * 100) / 100))
        assert node.findtext(f"{SVG}title") == f"{ROWS[row]} → {COLUMNS[column]}: {weight:.4f}"


def test_labels_and_titles_can_be_read() -> None:
    texts = ["".join(node.itertext()) for node in parsed(MAP).iter(f"{SVG}text")]
    assert {*ROWS, *COLUMNS, MAP.title, MAP.subtitle, "0", "1"} <= set(texts)


def test_dark_mode_has_a_rule_for_every_shade() -> None:
    text = draw_map(MAP)
    classes = set(re.findall(r'class="(w\d+)"', text))
    assert classes
    assert all(f".{name}{{fill:" in text for name in classes)


def test_gold_links_are_outlined_and_outside_links_not() -> None:
    drawn = AttentionMap(MAP.title, "", ROWS, COLUMNS, WEIGHTS, gold=frozenset({(1, 2), (3, 1), (9, 9)}))
    layout = MapLayout.for_map(drawn)
    outlines = [node for node in parsed(drawn).iter(f"{SVG}rect") if node.get("class") == "gold"]
    places = {(float(node.get("x", 0)), float(node.get("y", 0))) for node in outlines}
    expected = {(layout.left + x * layout.cell + 1, layout.top + y * layout.cell + 1) for x, y in ((1, 2), (3, 1))}
    assert np.array(sorted(places)) == pytest.approx(np.array(sorted(expected)), abs=0.06)


def test_largest_of_small_weights_is_darkest_and_labelled() -> None:
    drawn = AttentionMap("", "", ROWS, COLUMNS, WEIGHTS / 4)
    assert drawn.max_weight == pytest.approx(0.2)
    assert squares(drawn)[0].get("fill") == to_hex(color_of(1.0))
    assert "0.2" in ["".join(node.itertext()) for node in parsed(drawn).iter(f"{SVG}text")]


@given(label=st.text(max_size=30))
def test_any_text_is_drawn_as_text(label: str) -> None:
    label = f"<script>&{label}"
    root = parsed(AttentionMap(label, label, [label], ["]]>"], np.ones((1, 1))))
    assert not [node for node in root.iter() if "script" in node.tag]
    assert any("".join(node.itertext()).startswith("<script>&") for node in root.iter(f"{SVG}text"))


def test_large_map_is_an_image_with_pixel_cells() -> None:
    count = MAX_CELL_RECTS + 1
    weights = np.eye(count, dtype=np.float32)
    names = [str(place) for place in range(count)]
    text = draw_map(AttentionMap("large", "", names, names, weights))
    assert len(text) < 60_000
    (address,) = re.findall(r'href="(data:image/png;base64,[^"]+)"', text)
    picture = Image.open(BytesIO(b64decode(address.split(",")[1]))).convert("RGB")
    assert picture.size == (count, count)
    assert picture.getpixel((3, 3)) == color_of(1.0)
    assert picture.getpixel((3, 4)) == color_of(0.0)


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (1, 0), (0, 3), (1, 1), (64, 2), (2, 65)])
def test_a_map_of_any_size_is_a_drawing(rows: int, columns: int) -> None:
    drawn = AttentionMap("t", "s", ["가"] * rows, ["나"] * columns, np.full((rows, columns), 0.5))
    assert parsed(drawn).tag == f"{SVG}svg"
    assert painted(drawn).width > 0


def test_labels_that_do_not_fit_weights_are_refused() -> None:
    with pytest.raises(RegardError, match="4 by 5"):
        AttentionMap("", "", ROWS, COLUMNS[:-1], WEIGHTS)


# --- PNG -------------------------------------------------------------------------------------------------------------


def test_png_shades_equal_svg_shades() -> None:
    picture, layout = painted(MAP), MapLayout.for_map(MAP)
    assert picture.height == layout.height * SCALE
    for (row, column), weight in np.ndenumerate(WEIGHTS):
        x, y = layout.left + (column + 0.5) * layout.cell, layout.top + (row + 0.5) * layout.cell
        assert picture.getpixel((int(x * SCALE), int(y * SCALE))) == color_of(round(100 * float(weight)) / 100)


def test_labels_are_painted_inside_and_beside_the_cells() -> None:
    picture, layout = np.array(painted(MAP).convert("L")), MapLayout.for_map(MAP)
    left, top = int(layout.left * SCALE), int(layout.top * SCALE)
    beside, above = picture[top : top + 60, :left], picture[int((layout.top - 40) * SCALE) : top, left:]
    assert (beside < 128).any()
    assert (above < 128).any()
    edges = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    assert (edges == 255).all()


def test_hangul_is_drawn_as_letters_with_its_font() -> None:
    if not list(Path("/usr/share/fonts").rglob("NotoSansCJK*")):
        pytest.skip("fonts-noto-cjk is not installed here")
    first, second = (np.array(painted(AttentionMap(title, "", ["x"], ["y"], np.ones((1, 1))))) for title in "가힣")
    assert (first != second).any()


def test_text_without_glyphs_is_painted_without_error() -> None:
    drawn = AttentionMap("\x00\x1b[31m", "\ud800", ["\n"], ["\t\u200b"], np.ones((1, 1)))
    assert painted(drawn).width > 0

"""Panels for words: the light is where the weight is, in both kinds of file, and no word can break out."""

import base64
import io
import re
import xml.etree.ElementTree as ET
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from regard.errors import RegardError
from regard.plotting.figure_files import PNG_ZOOM as SCALE
from regard.plotting.image_map import (
    COMPACT_STYLE,
    FULL_STYLE,
    ImageMaps,
    PanelLayout,
    fit_text,
    image_maps_svg,
    interpolate_grid,
    plot_image_attention,
    render_sheet,
)

ROWS, COLUMNS = 5, 7
SVG = "{http://www.w3.org/2000/svg}"


def grid(row: int, column: int) -> np.ndarray:
    weights = np.full((ROWS, COLUMNS), 0.001)
    weights[row, column] = 0.5
    return weights


def regions(words: int = 3, title: str = "A red dog", height: int = 40, width: int = 56) -> ImageMaps:
    image = np.full((3, height, width), 200, np.uint8)
    maps = [grid(index % ROWS, (2 * index) % COLUMNS) for index in range(words)]
    return ImageMaps.from_arrays(image, [f"word{index}" for index in range(words)], maps, title=title)


def painted(sheet: ImageMaps, path: Path) -> np.ndarray:
    plot_image_attention(sheet.image, sheet.words, list(sheet.maps), path, title=sheet.title, boxes=sheet.boxes)
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def brightest_cell(image: np.ndarray, left: int, top: int, plan: PanelLayout) -> tuple[int, int]:
    """Row and column of the grid's cell that is brightest on average."""
    high, wide = plan.panel_height * SCALE, plan.style.panel * SCALE
    panel = image[top * SCALE :, left * SCALE :][:high, :wide].mean(2)
    means = [[part.mean() for part in np.array_split(row, COLUMNS, axis=1)] for row in np.array_split(panel, ROWS)]
    row, column = divmod(int(np.argmax(means)), COLUMNS)
    return row, column


def test_brightest_cell_is_the_peak_of_the_map(tmp_path: Path) -> None:
    sheet = regions(words=9)
    plan = PanelLayout.for_image(sheet, FULL_STYLE)
    image = painted(sheet, tmp_path / "r.png")
    assert image.shape[:2] == (plan.height * SCALE, plan.width * SCALE)
    for word in range(9):
        left, top = plan.corner(word + 1)
        peak = divmod(int(sheet.maps[word].argmax()), COLUMNS)
        assert brightest_cell(image, left, top, plan) == peak
        assert brightest_cell(image, left, plan.lower(top), plan) == peak


def test_unattended_is_dark_and_first_image_is_plain(tmp_path: Path) -> None:
    sheet = regions(words=1)
    plan = PanelLayout.for_image(sheet, FULL_STYLE)
    image = painted(sheet, tmp_path / "r.png")
    left, top = plan.corner(1)
    assert image[(top + plan.panel_height - 3) * SCALE, (left + plan.style.panel - 3) * SCALE].max() < 60
    left, top = plan.corner(0)
    bare = image[top * SCALE :, left * SCALE :][: plan.panel_height * SCALE, : plan.style.panel * SCALE]
    assert (bare == 200).all()


def test_svg_has_a_panel_per_word_with_weights(tmp_path: Path) -> None:
    sheet = regions(words=3)
    plot_image_attention(sheet.image, sheet.words, list(sheet.maps), tmp_path / "r.svg", title="A dog")
    root = ET.parse(tmp_path / "r.svg").getroot()  # noqa: S314  (our own file)
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts == ["A dog", "word0", "0.50", "word1", "0.50", "word2", "0.50"]
    cells = [element for element in root.iter(f"{SVG}rect") if element.get("fill-opacity")]
    assert len(cells) == 3 * ROWS * COLUMNS
    hints = [float(cell[0].text or "nan") for cell in cells]
    assert hints == pytest.approx(np.round(sheet.maps, 4).ravel())
    darkness = [float(cell.get("fill-opacity") or "nan") for cell in cells]
    assert np.argmin(darkness[: ROWS * COLUMNS]) == sheet.maps[0].argmax()


def test_svg_embeds_its_image_once_without_outside_references() -> None:
    text = image_maps_svg([regions(words=6)])
    places = re.findall(r'href="([^"]*)"', text)
    assert all(place.startswith(("data:image/png;base64,", "#image0")) for place in places)
    images = [place for place in places if place.startswith("data:")]
    assert len(images) == 1 + 6  # the image, and a mask for each word
    first = Image.open(io.BytesIO(base64.b64decode(images[0].partition(",")[2])))
    assert first.size == (56, 40)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_mask_hides_least_at_the_peak() -> None:
    sheet = regions(words=1)
    mask = re.findall(r'href="data:image/png;base64,([^"]*)"', image_maps_svg([sheet]))[1]
    hides = np.asarray(Image.open(io.BytesIO(base64.b64decode(mask))))[:, :, 1].astype(float)
    row, column = divmod(int(hides.argmin()), hides.shape[1])
    peak = divmod(int(sheet.maps[0].argmax()), COLUMNS)
    assert (row * ROWS // hides.shape[0], column * COLUMNS // hides.shape[1]) == peak


def test_gold_boxes_are_outlined(tmp_path: Path) -> None:
    sheet = regions(words=2, title="")
    boxes = [[(0.25, 0.5, 0.75, 1.0)], []]
    with_boxes = ImageMaps.from_arrays(sheet.image, sheet.words, list(sheet.maps), boxes=boxes)
    plan = PanelLayout.for_image(with_boxes, FULL_STYLE)
    changed = (painted(sheet, tmp_path / "a.png") != painted(with_boxes, tmp_path / "b.png")).any(2)
    left, top = plan.corner(1)
    assert changed[int((top + 0.75 * plan.panel_height) * SCALE), int((left + 0.25 * plan.style.panel) * SCALE)]
    other = plan.corner(2)[0]
    assert not changed[:, other * SCALE :].any()
    assert len(re.findall(r'fill="none"', image_maps_svg([with_boxes]))) == 2  # on the grid and on the smooth map


def test_a_contact_sheet_has_every_caption() -> None:
    sheet = [regions(words=3 + index, title=f"caption {index}") for index in range(5)]
    text = render_sheet(sheet, ".svg").decode()
    drawn = text.partition("</style>")[2]
    assert re.findall(r"caption \d+", drawn) == [f"caption {index}" for index in range(5)]
    assert len(re.findall('id="image', text)) == 5
    plans = [PanelLayout.for_image(one, COMPACT_STYLE) for one in sheet]
    expected = (max(plan.width for plan in plans) * SCALE, sum(plan.height for plan in plans) * SCALE)
    with Image.open(BytesIO(render_sheet(sheet, ".png"))) as image:
        assert image.size == expected


def test_panels_do_not_overlap_and_stay_inside() -> None:
    for look in (FULL_STYLE, COMPACT_STYLE):
        for words in (1, 7, 8, 15, 40):
            plan = PanelLayout.for_image(regions(words=words), look)
            corners = [plan.corner(panel) for panel in range(words + 1)]
            assert len(set(corners)) == words + 1
            for left, top in corners:
                assert left + look.panel <= plan.width
                assert plan.lower(top) + plan.panel_height < plan.height


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 40), st.integers(1, 40))
def test_smoothing_stays_in_range_and_keeps_uniform_maps(rows: int, columns: int, height: int, width: int) -> None:
    weights = np.random.default_rng(rows * 10 + columns).random((rows, columns))
    found = interpolate_grid(weights, height, width)
    assert found.shape == (height, width)
    assert weights.min() - 1e-9 <= found.min()
    assert found.max() <= weights.max() + 1e-9
    assert np.allclose(interpolate_grid(np.full((rows, columns), 0.3), height, width), 0.3)


def test_smoothing_equals_the_weights_at_cell_centres() -> None:
    weights = np.random.default_rng(0).random((ROWS, COLUMNS))
    found = interpolate_grid(weights, 3 * ROWS, 3 * COLUMNS)
    assert np.allclose(found[1::3, 1::3], weights)


def test_words_of_any_kind_are_text_only(tmp_path: Path) -> None:
    words = ["<script>alert(1)</script>", "\x00\ud800", "&amp;", "하트가", "a" * 500]
    sheet = ImageMaps.from_arrays(np.zeros((3, 8, 8), np.uint8), words, [grid(0, 0)] * 5, title="</svg><script>")
    root = ET.fromstring(image_maps_svg([sheet]))  # noqa: S314  (our own text)
    assert not list(root.iter(f"{SVG}script"))
    assert "하트가" in [element.text for element in root.iter(f"{SVG}text")]
    painted(sheet, tmp_path / "r.png")


def test_long_word_is_truncated_to_its_panel() -> None:
    assert fit_text("dog", 100) == "dog"
    assert fit_text("w" * 90, 132).endswith("…")
    assert 3 < len(fit_text("w" * 90, 132)) < 30


def test_map_of_zeros_is_dark_without_error(tmp_path: Path) -> None:
    plot_image_attention(np.full((3, 8, 8), 200, np.uint8), ["a"], [np.zeros((2, 2))], tmp_path / "r.png")
    plot_image_attention(np.full((3, 8, 8), 200, np.uint8), ["a"], [np.zeros((2, 2))], tmp_path / "r.svg")


@pytest.mark.parametrize(
    ("image", "words", "maps", "part"),
    [
        (np.zeros((8, 8, 3), np.uint8), ["a"], [grid(0, 0)], r"shape \(8, 8, 3\)"),
        (np.zeros((3, 8, 8)), ["a"], [grid(0, 0)], "float64"),
        (np.zeros((3, 8, 8), np.uint8), ["a", "b"], [grid(0, 0)], "2 words, 1 maps"),
        (np.zeros((3, 8, 8), np.uint8), [], [], "at least one"),
        (np.zeros((3, 8, 8), np.uint8), ["a"], [np.ones(4)], r"\(1, 4\)"),
        (np.zeros((3, 8, 8), np.uint8), ["a"], [-np.ones((2, 2))], "0 or more"),
        (np.zeros((3, 8, 8), np.uint8), ["a"], [np.full((2, 2), np.nan)], "0 or more"),
    ],
)
def test_undrawable_input_is_refused_with_an_explanation(
    tmp_path: Path, image: np.ndarray, words: list[str], maps: list[np.ndarray], part: str
) -> None:
    with pytest.raises(RegardError, match=part):
        plot_image_attention(image, words, maps, tmp_path / "r.svg")
    assert not (tmp_path / "r.svg").exists()


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"r\.gif is no \.svg, \.png or \.pdf file"):
        plot_image_attention(np.zeros((3, 8, 8), np.uint8), ["a"], [grid(0, 0)], tmp_path / "r.gif")

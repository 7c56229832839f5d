"""`regard.plotting.draw`: weights from anywhere, drawn as they are; labels and shapes checked in words."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import regard.plotting
from regard.errors import RegardError
from regard.plotting.attention_map import AttentionMap, draw_map

ROWS, COLUMNS = ["le", "chat"], ["the", "black", "cat"]
WEIGHTS = [[0.7, 0.2, 0.1], [0.0, 0.25, 0.75]]
HINT = re.compile(r"<title>(.*?) → (.*?): ([\d.]+)</title>")


@pytest.mark.parametrize(
    "given",
    [WEIGHTS, np.array(WEIGHTS, np.float16), torch.tensor(WEIGHTS, dtype=torch.bfloat16, requires_grad=True)],
    ids=["lists", "numpy", "torch"],
)
def test_notebook_shows_every_weight_of_array_likes(given: Any) -> None:
    shown = regard.plotting.plot_attention(given, ROWS, COLUMNS, title="a title")._repr_svg_()
    found = HINT.findall(shown)
    assert [(row, column) for row, column, _ in found] == [(row, column) for row in ROWS for column in COLUMNS]
    np.testing.assert_allclose([float(weight) for *_, weight in found], np.ravel(WEIGHTS), atol=2e-3)
    assert "<title>a title</title>" in shown


def test_one_map_is_drawn_as_a_traces_is() -> None:
    expected = draw_map(AttentionMap("a", "", ROWS, COLUMNS, np.array(WEIGHTS)))
    assert regard.plotting.plot_attention(WEIGHTS, ROWS, COLUMNS, title="a")._repr_svg_() == expected


def test_self_attention_text_needs_its_words_once() -> None:
    shown = regard.plotting.plot_attention(np.eye(2), ROWS)._repr_svg_()
    assert HINT.findall(shown)[1] == ("le", "chat", "0.0000")


def test_heads_stand_on_one_sheet() -> None:
    attention = nn.MultiheadAttention(8, 2, batch_first=True)  # of torch, with nothing of ours in it
    x = torch.randn(1, 3, 8)
    _, weights = attention(x, x, x, average_attn_weights=False)
    shown = regard.plotting.plot_attention(weights[0], COLUMNS)._repr_svg_()
    ElementTree.fromstring(shown)  # noqa: S314  (our own text)
    assert re.findall(r">(head \d)</text>", shown) == ["head 1", "head 2"]
    found = [float(weight) for *_, weight in HINT.findall(shown)]
    np.testing.assert_allclose(found, weights.detach().flatten(), atol=6e-5)


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_it_is_saved_at_once_or_later(tmp_path: Path, kind: str) -> None:
    at_once, later = tmp_path / f"at_once.{kind}", tmp_path / f"later.{kind}"
    drawing = regard.plotting.plot_attention(
        [WEIGHTS, WEIGHTS, WEIGHTS], ROWS, COLUMNS, title="<b> & </svg>", out=at_once
    )
    assert drawing.save(later) == later
    assert at_once.read_bytes() == later.read_bytes()
    if kind == "png":
        with Image.open(later) as image:
            assert image.format == "PNG"
            assert image.width > image.height
    else:
        text = later.read_text(encoding="utf-8")
        assert "<b>" not in text
        assert len(HINT.findall(text)) == 18
        assert text.startswith("<!doctype html>" if kind == "html" else "<svg")


def test_one_weight_has_one_shade_in_all_heads() -> None:
    shown = regard.plotting.plot_attention([[[0.4, 0.1]], [[0.1, 0.8]]], ["a"], ["b", "c"])._repr_svg_()
    shades = re.findall(r'class="w(\d+)"[^>]*><title>', shown)
    assert shades == ["40", "10", "10", "80"]


def test_weights_above_one_are_not_all_drawn_alike() -> None:
    shown = regard.plotting.plot_attention([[4.0, 2.0]], ["a"], ["b", "c"])._repr_svg_()
    assert 'class="w100"' in shown
    assert 'class="w50"' in shown


@pytest.mark.parametrize(
    ("weights", "rows", "columns", "problem"),
    [
        (WEIGHTS, ROWS, ROWS, "each map is 2 by 3 (queries by keys), but there are 2 row labels and 2 column labels"),
        (WEIGHTS, COLUMNS, ROWS, "Give 2 rows and 3 columns"),
        (WEIGHTS, "le chat", COLUMNS, "rows is one text, 'le chat'"),
        ([[0.1], [0.2, 0.3]], ROWS, COLUMNS, "all of one length"),
        (["a"], ROWS, COLUMNS, "not a table of numbers"),
        ([0.1, 0.9], ROWS, COLUMNS, "the shape (2,)"),
        (np.ones((1, 2, 2, 3)), ROWS, COLUMNS, "give one example: weights[0]"),
        (np.ones((0, 3)), [], COLUMNS, "none of them 0"),
        ([[0.1, -3.0, 0.2]], ["a"], COLUMNS, "after the softmax"),
        ([[0.1, float("nan"), 0.2]], ["a"], COLUMNS, "not finite"),
    ],
)
def test_undrawable_input_is_refused_with_an_explanation(weights: Any, rows: Any, columns: Any, problem: str) -> None:
    with pytest.raises(RegardError, match=re.escape(problem)):
        regard.plotting.plot_attention(weights, rows, columns)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"map\.jpg does not end with"):
        regard.plotting.plot_attention(WEIGHTS, ROWS, COLUMNS, out=tmp_path / "map.jpg")

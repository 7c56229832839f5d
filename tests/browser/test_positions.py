"""Positions: the encodings against the model's own code, and the four wishes as the page measures them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import from_table
from regard.layers.positions import rotate, sinusoidal
from tests.browser.asking import evaluated
from tests.browser.conftest import Open, serving

WISHES = ["unique", "constant", "bounded", "deterministic"]
REFUSED = {"sinusoidal": set(), "count": {"bounded"}, "fraction": {"constant"}, "random": {"constant", "deterministic"}}


def choose(page: Any, kind: str) -> None:
    page.get_by_role("combobox", name="Encoding").select_option(kind)


def wish(page: Any, name: str) -> Any:
    return page.locator(f"[data-wish={name}]")


@pytest.fixture(scope="module")
def bare(browser: Any, server: str) -> Any:
    """A page of the server, to compute in."""
    page = browser.new_page()
    page.goto(f"{server}#positions")
    yield page
    page.close()


@pytest.mark.parametrize("width", [8, 33, 64])
def test_sines_and_cosines_are_those_of_the_model(bare: Any, width: int) -> None:
    found = evaluated(bare, "encodings.js", "Array.from(m.sinusoidalEncoding(g[0], g[1]).values)", 37, width)
    np.testing.assert_allclose(found, sinusoidal(torch.arange(37), width).numpy().ravel(), rtol=0, atol=1e-12)


def test_distances_are_those_between_the_vectors(bare: Any) -> None:
    found = evaluated(bare, "encodings.js", "Array.from(m.distanceTable(m.sinusoidalEncoding(11, 6)))")
    vectors = sinusoidal(torch.arange(11), 6)
    np.testing.assert_allclose(found, torch.cdist(vectors, vectors).numpy().ravel(), atol=1e-7)


def test_the_wishes_see_what_breaks_them(bare: Any) -> None:
    def measured(make: str) -> dict[str, bool]:
        made = f"const make = {make}; const made = make(12);"
        script = f"(() => {{ {made} return m.measureWishes(make, made, m.distanceTable(made)); }})()"
        return {name: one["granted"] for name, one in evaluated(bare, "encodings.js", script).items()}

    assert measured("(n) => m.sinusoidalEncoding(n, 16)") == dict.fromkeys(WISHES, True)
    flat = measured("(n) => m.encodingFromRows(Array.from({length: n}, () => [1, 2]))")
    assert flat == {"unique": False, "constant": True, "bounded": True, "deterministic": True}
    ending = measured("(n) => (n > 20 ? null : m.sinusoidalEncoding(n, 16))")
    assert ending == dict.fromkeys(WISHES, True) | {"bounded": False}


def test_turning_is_that_of_rotary_positions(bare: Any) -> None:
    pair = torch.tensor([0.3, 0.9], dtype=torch.float64)
    expected = rotate(pair.view(1, 1, 1, 2), torch.tensor([5])).view(2).tolist()
    assert evaluated(bare, "encodings.js", "m.turned([0.3, 0.9], 5)") == pytest.approx(expected)
    together = [evaluated(bare, "rotary.js", "m.turnedProduct(g[0], g[0] + 3)", start) for start in (0, 7, 40)]
    assert together == pytest.approx([together[0]] * 3)
    assert evaluated(bare, "rotary.js", "m.turnedProduct(0, 4)") != pytest.approx(together[0])


def test_each_encoding_is_granted_the_wishes_it_deserves(open_page: Open) -> None:
    page = open_page("positions")
    for kind, refused in REFUSED.items():
        choose(page, kind)
        for name in WISHES:
            state = "is-refused" if name in refused else "is-granted"
            expect(wish(page, name)).to_have_class(re.compile(state))


def test_sliders_change_the_numbers_by_keyboard(open_page: Open) -> None:
    page = open_page("positions")
    expect(wish(page, "bounded")).to_contain_text("600 positions")
    page.get_by_role("slider", name="Length of the sentence").press("ArrowRight")
    expect(wish(page, "bounded")).to_contain_text("610 positions")
    page.get_by_role("slider", name="Width of the vectors").press("Home")
    expect(wish(page, "deterministic")).to_contain_text(f"0 of {61 * 4}")


def test_a_cell_reads_out_its_number(open_page: Open) -> None:
    page = open_page("positions")
    area = page.get_by_role("application", name="The encoding as a map")
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 2:
        area.press(key)
    value = float(sinusoidal(torch.arange(4), 64)[3, 2])
    expect(page.locator(".field-picture", has=area)).to_contain_text(f"position 3, dimension 2: {value:.4f}")


@pytest.mark.parametrize(("model", "told"), [("transformer", "Sine and cosine"), ("rotary", "Rotary")])
def test_a_models_own_encoding_is_shown(open_page: Open, model: str, told: str) -> None:
    page = open_page("positions")
    page.select_option("#model", model)
    expect(page.get_by_role("combobox", name="Encoding")).to_contain_text(f"{model}: its own ({told})")
    choose(page, "own")
    for name in WISHES:
        expect(wish(page, name)).to_have_class(re.compile("is-granted"))
    if model == "transformer":
        expect(page.locator(".explain").first).to_contain_text(
            re.compile(r"at most (0|\d\.\de−\d+) from those computed here")
        )


@pytest.fixture(scope="module")
def learned_server(corpus: Path) -> Iterator[str]:
    """A server of a model with 700 learned positions of which training can have reached 41."""
    stack = {"layers": 1, "width": 16, "heads": 2, "inner": 16}
    model = {"kind": "transformer", "positions": "learned", "maximum_length": 700, "encoder": stack, "decoder": stack}
    table = {"model": model, "data": {"languages": ["en", "ko"], "maximum_length": 40}}
    tokenizers = load_bundle(corpus / "runs" / "transformer" / "model").tokenizers
    save_bundle(corpus / "learned" / "model", new_bundle(from_table(table, origin="learned"), tokenizers))
    yield from serving(corpus / "learned.log", corpus / "learned" / "model")


@pytest.mark.parametrize(
    ("locale", "told", "never"),
    [
        ("en-US", ["ends at 700 positions", "the first 41"], "never trained"),
        ("ko-KR", ["위치 700개에서 끝나지만", "처음 41개"], "학습된 적 없음"),
    ],
)
def test_rows_of_a_learned_table_that_training_never_reached_are_shaded_and_grant_nothing(
    browser: Any, learned_server: str, locale: str, told: list[str], never: str
) -> None:
    page = browser.new_page(locale=locale, viewport={"width": 1200, "height": 900})
    page.goto(f"{learned_server}#positions")
    page.locator("select option[value=own]").wait_for(state="attached")
    page.locator("select:has(option[value=own])").select_option("own")
    story = page.locator(".explain").first
    for words in told:
        expect(story).to_contain_text(words)
    expect(wish(page, "bounded")).to_have_class(re.compile("is-refused"))  # 600 rows are there, and small
    expect(wish(page, "bounded")).to_contain_text(re.compile(r"600.*41"))
    shaded = page.locator(".shaded-rows")
    box, whole = shaded.bounding_box(), page.locator(".field-cells").first.bounding_box()
    assert box["height"] / whole["height"] == pytest.approx(19 / 60, abs=0.01)
    assert box["y"] + box["height"] == pytest.approx(whole["y"] + whole["height"], abs=2)
    area = page.get_by_role("application").first
    area.press("ArrowDown")
    expect(page.locator(".read-out").first).not_to_contain_text(never)
    area.press("End")
    for _ in range(45):
        area.press("ArrowDown")
    expect(page.locator(".read-out").first).to_contain_text(never)
    page.get_by_role("slider").first.fill("4")  # ten times as many are trained
    expect(wish(page, "bounded")).to_have_class(re.compile("is-granted"))
    expect(shaded).to_have_count(0)
    page.close()


def test_an_answer_about_a_model_that_is_no_longer_chosen_is_not_taken(open_page: Open) -> None:
    page, late = open_page("positions"), list[Any]()
    own = page.get_by_role("combobox", name="Encoding")
    page.select_option("#model", "rotary")
    expect(own).to_contain_text("its own (Rotary)")
    page.route("**/models/transformer/positions?*", lambda route: late.append(route))  # noqa: PLW0108  (it is marked)
    with page.expect_request("**/models/transformer/positions?*"):
        page.select_option("#model", "transformer")
    with page.expect_response("**/models/rotary/positions?*"):
        page.select_option("#model", "rotary")
    with page.expect_response("**/models/transformer/positions?*"):
        late[0].continue_()
    page.wait_for_timeout(500)  # for what must not happen
    expect(own).to_contain_text("its own (Rotary)")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("sinusoidal", "to the right the waves grow longer"),
        ("own", "in either half the waves grow longer"),
        ("count", "it grows on and on"),
        ("fraction", "from 0 to 1"),
        ("random", "No column has a course"),
    ],
)
def test_the_map_is_explained_as_the_encoding_is(open_page: Open, kind: str, told: str) -> None:
    page = open_page("positions")
    page.select_option("#model", "rotary")
    expect(page.get_by_role("combobox", name="Encoding")).to_contain_text("its own (Rotary)")
    choose(page, kind)
    the_map = page.locator(".card", has=page.get_by_role("heading", name="The encoding as a map"))
    expect(the_map.locator(".explanation")).to_contain_text(told)
    curves = page.locator(".card", has=page.get_by_role("heading", name="A few dimensions as curves"))
    assert ("fast dimensions" in curves.inner_text()) == (kind in ("sinusoidal", "own"))


def test_a_model_without_positions_offers_none(open_page: Open) -> None:
    page = open_page("positions")
    page.select_option("#model", "fixed")
    choices = page.get_by_role("combobox", name="Encoding")
    expect(choices).not_to_contain_text("its own")
    expect(choices).to_contain_text("Just counting")


def test_the_wishes_speak_korean(open_page: Open) -> None:
    page = open_page("positions", locale="ko-KR")
    expect(wish(page, "unique")).to_contain_text("위치마다 하나뿐이에요")
    page.get_by_role("combobox", name="인코딩").select_option("count")
    expect(wish(page, "bounded")).to_contain_text("만족하지 않아요")

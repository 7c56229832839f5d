"""Positions: the encodings against the model's own code, and the four criteria as the page measures them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import expect

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import Config
from regard.layers.positions import sinusoidal
from tests.browser.conftest import Open, serving

CRITERIA = ["unique", "constant", "bounded", "deterministic"]
UNMET = {"sinusoidal": set(), "count": {"bounded"}, "fraction": {"constant"}, "random": {"constant", "deterministic"}}


def choose(page: Any, kind: str) -> None:
    page.get_by_role("combobox", name="Encoding").select_option(kind)


def criterion(page: Any, name: str) -> Any:
    return page.locator(f"[data-criterion={name}]")


def test_each_encoding_meets_the_criteria_it_meets(open_page: Open) -> None:
    page = open_page("positions")
    for kind, unmet in UNMET.items():
        choose(page, kind)
        for name in CRITERIA:
            state = "is-unmet" if name in unmet else "is-met"
            expect(criterion(page, name)).to_have_class(re.compile(state))


def test_sliders_change_the_numbers_by_keyboard(open_page: Open) -> None:
    page = open_page("positions")
    expect(criterion(page, "bounded")).to_contain_text("600 positions")
    page.get_by_role("slider", name="Length of the sentence").press("ArrowRight")
    expect(criterion(page, "bounded")).to_contain_text("610 positions")
    page.get_by_role("slider", name="Width of the vectors").press("Home")
    expect(criterion(page, "deterministic")).to_contain_text(f"0 of {61 * 4}")


def test_a_cell_reads_out_its_number(open_page: Open) -> None:
    page = open_page("positions")
    area = page.get_by_role("application", name="The encoding as a map")
    for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 2:
        area.press(key)
    value = float(sinusoidal(torch.arange(4), 64)[3, 2])
    expect(page.locator(".field-picture", has=area)).to_contain_text(f"position 3, dimension 2: {value:.4f}")


@pytest.mark.parametrize(("model", "result"), [("transformer", "Sine and cosine"), ("rotary", "Rotary")])
def test_a_models_own_encoding_is_shown(open_page: Open, model: str, result: str) -> None:
    page = open_page("positions")
    page.select_option(".model-picker", model)
    expect(page.get_by_role("combobox", name="Encoding")).to_contain_text(f"{model}: its own ({result})")
    choose(page, "own")
    for name in CRITERIA:
        expect(criterion(page, name)).to_have_class(re.compile("is-met"))
    if model == "transformer":
        expect(page.locator(".explain").first).to_contain_text(
            re.compile(r"at most (0|\d\.\de−\d+) from those computed here")
        )


@pytest.fixture(scope="module")
def learned_server(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a model with 700 learned positions of which training can have reached 41."""
    stack = {"layers": 1, "width": 16, "heads": 2, "ffn_width": 16}
    model = {
        "kind": "transformer",
        "positions": "learned",
        "max_position_embeddings": 700,
        "encoder": stack,
        "decoder": stack,
    }
    table = {"model": model, "data": {"languages": ["en", "ko"], "max_tokens": 40}}
    tokenizers = load_bundle(corpus / "runs" / "transformer" / "model").tokenizers
    folder = tmp_path_factory.mktemp("learned")
    save_bundle(folder / "learned" / "model", new_bundle(Config.from_dict(table, origin="learned"), tokenizers))
    yield from serving(folder / "log", folder / "learned" / "model")


@pytest.mark.parametrize(
    ("locale", "result", "never"),
    [
        ("en-US", ["ends at 700 positions", "the first 41"], "never trained"),
        ("ko-KR", ["위치 700개에서 끝나지만", "처음 41개"], "학습된 적 없음"),
    ],
)
def test_untrained_rows_of_a_learned_table_are_shaded(
    browser: Any, learned_server: str, locale: str, result: list[str], never: str
) -> None:
    page = browser.new_page(locale=locale, viewport={"width": 1200, "height": 900})
    page.goto(f"{learned_server}#positions")
    page.locator("select option[value=own]").wait_for(state="attached")
    page.locator("select:has(option[value=own])").select_option("own")
    story = page.locator(".explain").first
    for words in result:
        expect(story).to_contain_text(words)
    expect(criterion(page, "bounded")).to_have_class(re.compile("is-unmet"))  # 600 rows are there, and small
    expect(criterion(page, "bounded")).to_contain_text(re.compile(r"600.*41"))
    shaded = page.locator(".shaded-rows")
    box, whole = shaded.bounding_box(), page.locator(".map-cells").first.bounding_box()
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
    expect(criterion(page, "bounded")).to_have_class(re.compile("is-met"))
    expect(shaded).to_have_count(0)
    page.close()


def test_answer_about_a_previous_model_is_ignored(open_page: Open) -> None:
    page, late = open_page("positions"), list[Any]()
    own = page.get_by_role("combobox", name="Encoding")
    page.select_option(".model-picker", "rotary")
    expect(own).to_contain_text("its own (Rotary)")
    page.route("**/models/transformer/positions?*", lambda route: late.append(route))  # noqa: PLW0108  (it is marked)
    with page.expect_request("**/models/transformer/positions?*"):
        page.select_option(".model-picker", "transformer")
    with page.expect_event("requestfailed", lambda request: "/models/transformer/positions" in request.url):
        page.select_option(".model-picker", "rotary")  # what is not wanted any more is aborted
    expect(own).to_contain_text("its own (Rotary)")


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("sinusoidal", "to the right the waves grow longer"),
        ("own", "in either half the waves grow longer"),
        ("count", "it grows on and on"),
        ("fraction", "from 0 to 1"),
        ("random", "No column has a pattern"),
    ],
)
def test_the_map_is_explained_as_the_encoding_is(open_page: Open, kind: str, result: str) -> None:
    page = open_page("positions")
    page.select_option(".model-picker", "rotary")
    expect(page.get_by_role("combobox", name="Encoding")).to_contain_text("its own (Rotary)")
    choose(page, kind)
    the_map = page.locator(".card", has=page.get_by_role("heading", name="The encoding as a map"))
    expect(the_map.locator(".explanation")).to_contain_text(result)
    curves = page.locator(".card", has=page.get_by_role("heading", name="A few dimensions as curves"))
    assert ("fast dimensions" in curves.inner_text()) == (kind in ("sinusoidal", "own"))


def test_a_model_without_positions_offers_none(open_page: Open) -> None:
    page = open_page("positions")
    page.select_option(".model-picker", "fixed")
    choices = page.get_by_role("combobox", name="Encoding")
    expect(choices).not_to_contain_text("its own")
    expect(choices).to_contain_text("Just counting")


def test_criteria_are_available_in_korean(open_page: Open) -> None:
    page = open_page("positions", locale="ko-KR")
    expect(criterion(page, "unique")).to_contain_text("위치마다 값이 달라요")
    page.get_by_role("combobox", name="인코딩").select_option("count")
    expect(criterion(page, "bounded")).to_contain_text("만족하지 않아요")

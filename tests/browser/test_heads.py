"""Heads: every head of every attention as a small map, one large, and long inputs that do not freeze the page."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SENTENCE, Open
from tests.support.browser import answer, floats, settled

THUMB = ".head-thumb"
USES = {"cross": "Decoder to encoder", "encoder-self": "Encoder, self", "decoder-self": "Decoder, self (masked)"}


def looked_at(page: Any, text: str = SENTENCE, model: str = "transformer") -> Any:
    """The Heads view of a sentence by a model."""
    page.wait_for_selector(THUMB)
    page.select_option(".model-picker", model)
    page.fill("#source-text", text)
    page.locator(THUMB).evaluate_all("thumbs => thumbs.forEach((thumb) => thumb.classList.add('is-old'))")
    with page.expect_response(lambda response: is_trace_of(text, response)):
        page.keyboard.press("Enter")
    page.wait_for_selector(f"{THUMB}:not(.is-old)")
    return page


def is_trace_of(text: str, response: Any) -> bool:
    return response.url.endswith("/traces") and response.request.post_data_json["text"] == text


def attention(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def read_cell(page: Any) -> float:
    return float(page.inner_text(".map-readout .number"))


def large_title(page: Any) -> Any:
    return page.locator(".heads-body h2").first


def test_every_layer_and_head_map_opens_large(open_page: Open, server: str) -> None:
    page = looked_at(open_page("heads"))
    trace = answer(server, "traces", {"model": "transformer", "text": SENTENCE})
    for (use, name), more in zip(USES.items(), (0, 1, 0), strict=True):
        attention(page, name)
        layers = [layer for layer in trace["layers"] if layer["role"] == use]
        expect(page.locator(THUMB)).to_have_count(sum(layer["heads"] + 1 for layer in layers) + more)
        page.locator(THUMB).nth(1).click()
        expect(large_title(page)).to_have_text(f"{name}: layer 1, head 2")
        expect(page.locator(".map-area").first).to_be_visible()


def test_large_map_shows_the_weights_of_the_trace(open_page: Open, server: str) -> None:
    page = looked_at(open_page("heads"))
    attention(page, "Encoder, self")
    trace = answer(server, "traces", {"model": "transformer", "text": SENTENCE})
    layer = [(one["role"], one["layer"]) for one in trace["layers"]].index(("encoder-self", 1))
    for thumb, title, path in (
        ("layer 2, head 2", "layer 2, head 2", f"weights?layer={layer}&head=1"),
        ("layer 2, mean", "layer 2, mean of heads", f"weights?layer={layer}&head=mean"),
        ("all layers, rollout", "rolled out through all layers", "rollout"),
    ):
        page.get_by_role("button", name=thumb).click()
        expect(large_title(page)).to_contain_text(title)
        weights = floats(server, f"traces/{trace['id']}/{path}")
        area = page.locator(".map-area").first
        area.press("Home")
        area.press("ArrowDown")
        assert read_cell(page) == pytest.approx(weights[1, 0], abs=6e-4)
        area.press("ArrowRight")
        assert read_cell(page) == pytest.approx(weights[1, 1], abs=6e-4)


def test_heads_are_reached_and_opened_by_keyboard(open_page: Open) -> None:
    page = looked_at(open_page("heads"))
    page.locator(THUMB).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(large_title(page)).to_have_text("Decoder to encoder: layer 2, head 2")
    expect(page.locator(f"{THUMB}[aria-pressed=true]")).to_have_accessible_name(re.compile("layer 2, head 2"))


def test_heads_show_alignment_error_and_mark_the_best(open_page: Open, server: str) -> None:
    page = looked_at(open_page("heads"))
    page.reload()  # readings are made in the background; by now they may be there
    page.wait_for_selector(".head-caption")
    readings = answer(server, "models/transformer/head-alignment")["heads"]
    for layer in (0, 1):
        for head in (0, 1):
            error = min(one["aer"] for one in readings if (one["layer"], one["head"]) == (layer, head))
            thumb = page.get_by_role("button", name=f"layer {layer + 1}, head {head + 1}")
            expect(thumb).to_contain_text(f"AER {error:.2f}")
    best = next(one for one in readings if one["layer"] is not None and one["head"] is not None)
    starred = page.locator(f"{THUMB}.is-best")
    expect(starred).to_have_count(1)
    name = rf"layer {best['layer'] + 1}, head {best['head'] + 1}\s+best head"
    expect(starred).to_have_accessible_name(re.compile(name))
    expect(page.get_by_text("--gold PREFIX")).to_have_count(0)


def test_pieces_are_put_together_to_words(open_page: Open) -> None:
    page = looked_at(open_page("heads"))
    labels = page.locator(".map-drawing text")
    expect(labels.filter(has_text="▁")).not_to_have_count(0)
    page.get_by_role("button", name="words", exact=True).click()
    expect(labels.filter(has_text="▁")).to_have_count(0)
    assert settled(page, lambda: set(SENTENCE.split()) <= set(labels.all_text_contents()), True)


def test_model_without_attention_explains_the_empty_view(open_page: Open) -> None:
    page = open_page("heads")
    page.wait_for_selector(THUMB)
    page.select_option(".model-picker", "fixed")
    expect(page.locator("main.panel")).to_contain_text(
        "fixed has no attention: it encodes the whole sentence as one vector"
    )
    expect(page.locator(THUMB)).to_have_count(0)


def test_500_tokens_are_painted_and_fetched_when_visible(open_page: Open) -> None:
    page = open_page("heads", viewport={"width": 700, "height": 420})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    looked_at(page, " ".join((SENTENCE.split() * 125)[:500]), "rotary")
    attention(page, "Encoder, self")
    page.wait_for_selector(".map-area canvas")
    assert not any("rollout" in url for url in asked)
    page.locator(THUMB).last.scroll_into_view_if_needed()
    expect(page.locator(f"{THUMB} canvas.is-painted").last).to_be_visible()
    assert settled(page, lambda: any("rollout" in url for url in asked), True)
    assert page.locator(".map-area *").count() < 40  # a canvas, not a quarter of a million cells
    page.locator(".map-area").first.hover(position={"x": 120, "y": 90})
    expect(page.locator(".map-readout .number")).to_have_text(re.compile(r"0\.\d{3}"))


def test_heads_are_available_in_korean(open_page: Open) -> None:
    page = open_page("heads", locale="ko-KR")
    page.wait_for_selector(THUMB)
    page.get_by_role("button", name="1층, 헤드 2").click()
    expect(large_title(page)).to_have_text("디코더 → 인코더: 1층, 헤드 2")


def test_attention_choices_fit_a_narrow_screen(open_page: Open) -> None:
    page = open_page("heads", locale="ko-KR", viewport={"width": 390, "height": 800})
    page.get_by_role("button", name="디코더 셀프(마스크)").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for box in (button.bounding_box() for button in page.locator(".card .segments button").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390

"""What is seen stands in the address; what is typed or chosen outlives a change of view, of language, and a reload."""

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import SENTENCE, Open
from tests.support.browser import translation

OTHER = "two big dog runs"
SOURCE = ".word-row-source"
BUSY = ".is-busy"


def asked(page: Any, text: str) -> Any:
    """The page after a sentence was sent and looked into."""
    page.locator("#source-text").fill(text)
    page.keyboard.press("Enter")
    return shown(page, text)


def shown(page: Any, text: str) -> Any:
    expect(page.locator(f"{SOURCE} .word")).to_have_text(text.split())
    expect(page.locator(".outputs li")).not_to_have_count(0)
    expect(page.locator(BUSY)).to_have_count(0)
    return page


def test_back_and_forward_move_between_views(open_page: Open) -> None:
    page = asked(open_page(), SENTENCE)
    page.click(".views a[href^='#positions']")
    page.click(".views a[href^='#compare']")
    page.go_back()
    expect(page.locator(".views a[href^='#positions']")).to_have_attribute("aria-current", "page")
    page.go_back()
    shown(page, SENTENCE)
    page.go_forward()
    expect(page.locator(".views a[href^='#positions']")).to_have_attribute("aria-current", "page")


def test_reload_and_link_restore_model_and_sentence(open_page: Open, server: str) -> None:
    page = open_page()
    expect(page.locator(".outputs li")).not_to_have_count(0)
    page.select_option(".model-picker", "attending")
    asked(page, OTHER)
    page.reload()
    shown(page, OTHER)
    expect(page.locator(".model-picker")).to_have_value("attending")
    linked = open_page(f"compare?{urlencode({'model': 'general', 'text': SENTENCE})}")
    expect(linked.locator("#source-text")).to_have_value(SENTENCE)
    expect(linked.locator(".model-picker")).to_have_value("general")
    output = translation(server, SENTENCE, "transformer")
    expect(linked.locator("[data-model=transformer] .translation")).to_have_text(output)


def test_unsent_text_survives_language_and_view_change(open_page: Open) -> None:
    page = asked(open_page(), SENTENCE)
    page.fill("#source-text", "two big")
    page.click("button[lang=ko]")
    shown(page, SENTENCE)
    expect(page.locator("#source-text")).to_have_value("two big")
    page.click(".views a[href^='#heads']")
    expect(page.locator(".head-thumb").first).to_be_visible()
    expect(page.locator("#source-text")).to_have_value("two big")


def test_held_word_and_chosen_attention_survive_view_change(open_page: Open) -> None:
    page = asked(open_page(), SENTENCE)
    layer, head = (page.locator(".reading select").nth(at) for at in (0, 1))
    layer.select_option("0")
    head.select_option("1")
    expect(page.locator(BUSY)).to_have_count(0)
    page.click(f"{SOURCE} .word >> nth=2")
    page.click(".views a[href^='#positions']")
    page.click(".views a[href^='#translate']")
    shown(page, SENTENCE)
    expect(page.locator(f"{SOURCE} .word").nth(2)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".word-detail b")).to_have_text(SENTENCE.split()[2])
    assert [layer.input_value(), head.input_value()] == ["0", "1"]


def test_enlarged_head_survives_view_but_not_model_change(open_page: Open) -> None:
    page = open_page("heads")
    page.get_by_role("button", name="Encoder, self").click()
    chosen = page.locator(".head-thumb").nth(1)
    chosen.click()
    expect(chosen).to_have_attribute("aria-pressed", "true")
    page.click(".views a[href^='#positions']")
    page.click(".views a[href^='#heads']")
    expect(page.get_by_role("button", name="Encoder, self")).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    page.select_option(".model-picker", "rotary")
    expect(page.locator(".head-thumb").first).to_have_attribute("aria-pressed", "true")


def test_late_examples_do_not_replace_a_sent_sentence(browser: Any, server: str) -> None:
    page = browser.new_page(locale="en-US")
    waiting: list[Any] = []
    released: list[bool] = []
    page.route("**/examples?*", lambda route: route.continue_() if released else waiting.append(route))
    page.goto(f"{server}#heads")
    page.fill("#source-text", OTHER)
    page.keyboard.press("Enter")
    page.wait_for_function("text => new URLSearchParams(location.hash.split('?')[1]).get('text') === text", arg=OTHER)
    released.append(True)
    for route in waiting:
        route.continue_()
    expect(page.locator(".chips button")).not_to_have_count(0)
    expect(page.locator("#source-text")).to_have_value(OTHER)
    expect(page.locator(".map-drawing").first).to_contain_text("▁dog")
    page.close()

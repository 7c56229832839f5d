"""The Language view: a writer goes on, a reader fills, words look at each other, and the other views know them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, serving
from tests.browser.test_axe import problems
from tests.support.commands import run_command
from tests.support.shared_results import build_once
from tests.support.small_language import make_language, turns


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "language", make_language)[0]


@pytest.fixture(scope="module")
def server(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of this file, in the place of the one with translators."""
    yield from serving(tmp_path_factory.mktemp("serving") / "log", texts / "writer", texts / "reader")


def sent(page: Any, text: str) -> None:
    page.fill("#source-text", text)
    page.press("#source-text", "Enter")


def test_page_opens_with_an_example_and_continues_text(open_page: Open) -> None:
    page = open_page("language")
    expect(page.locator(".views a[href^='#language']")).to_have_attribute("aria-current", "page")
    expect(page.locator("h1")).to_have_text("Continue a text")
    sent(page, turns(0, 2))
    likeliest = page.locator(".outputs").first.locator(".output-text")
    expect(likeliest).to_contain_text(turns(0, 3))
    expect(page.locator(".outputs").nth(1).locator("li")).to_have_count(5)
    expect(page.get_by_role("application").first).to_be_visible()
    page.get_by_role("button", name="Sample again").click()
    expect(page.locator(".outputs").nth(1).locator("li")).to_have_count(5)


def test_prompt_survives_a_visit_to_the_heads(open_page: Open) -> None:
    page = open_page("language")
    sent(page, turns(2, 2))
    expect(page.locator(".outputs").first).to_contain_text(turns(2, 3))
    page.get_by_role("button", name="See every head").click()
    expect(page.locator("h1")).to_contain_text("head", ignore_case=True)
    expect(page.locator("#source-text")).to_have_value(re.compile(f"^{turns(2, 3)}"))  # all that was said
    page.click(".views a[href^='#language']")
    expect(page.locator("#source-text")).to_have_value(turns(2, 2))


def test_masks_show_their_most_probable_tokens(open_page: Open) -> None:
    page = open_page("language", locale="ko-KR")
    page.select_option(".model-picker", "reader")
    expect(page.locator("h1")).to_have_text("빈칸 채우기")
    sent(page, "가 ___ 다")
    expect(page.locator(".growing")).to_have_text(turns(0, 3))
    expect(page.locator(".bars li").first).to_contain_text("나")
    sent(page, turns(0, 3))
    expect(page.locator(".empty:not(.waiting)")).to_contain_text("빈칸이 없어요")


def test_inside_shows_the_arithmetic_of_a_language_model(open_page: Open) -> None:
    page = open_page("language")
    sent(page, turns(1, 3))
    expect(page.locator(".outputs").first).to_contain_text(turns(1, 4))
    page.get_by_role("button", name="See the arithmetic").click()
    page.get_by_role("button", name="Your sentence, your model").click()
    page.wait_for_selector(".deviation")


def test_training_shows_a_language_model_without_scores(open_page: Open) -> None:
    page = open_page("training")
    expect(page.locator("text=lowest loss")).to_be_visible()
    expect(page.get_by_role("heading", name="Validation scores")).to_be_hidden()


def test_translate_links_to_the_right_view(open_page: Open) -> None:
    page = open_page("translate")
    page.get_by_role("button", name="Open the Language view").click()
    expect(page.locator(".views a[href^='#language']")).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("model", ["writer", "reader"])
def test_language_view_passes_axe(open_page: Open, axe: str, model: str) -> None:
    page = open_page("language", color_scheme="dark" if model == "reader" else "light")
    page.select_option(".model-picker", model)
    sent(page, "가 ___ 다" if model == "reader" else turns(0, 2))
    page.locator(".bars li" if model == "reader" else ".outputs li").first.wait_for()
    page.evaluate(axe)
    assert problems(page) == []


@pytest.mark.parametrize("name", ["writer", "reader"])
def test_one_file_shows_a_text_offline(browser: Any, texts: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "page.html"
    assert run_command("show", texts / name, turns(0, 4), "--out", file).code == 0
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda one: one.type in ("error", "warning") and complaints.append(one.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    expect(page.locator(".fixed-sentence")).to_have_text(turns(0, 4))
    page.click(".views a[href^='#inside']")
    page.get_by_role("button", name="Your sentence, your model").click()
    page.wait_for_selector(".deviation")
    context.close()
    assert complaints == []

"""A server without any model: what needs none is there, and the rest says how to get one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import Watched, serving
from tests.browser.test_axe import problems


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serving(tmp_path_factory.mktemp("bare") / "log")


@pytest.fixture
def page(browser: Any, bare: str) -> Iterator[Any]:
    context = browser.new_context(locale="en-US", viewport={"width": 1200, "height": 900})
    watched = Watched.of(context.new_page())
    watched.page.set_default_timeout(60_000)
    watched.page.goto(f"{bare}#translate")
    watched.page.get_by_text("This server was started without a model").wait_for()
    yield watched.page
    context.close()
    assert watched.problems == []


def test_page_without_models_explains_how_to_get_one(page: Any, axe: str) -> None:
    assert page.locator("pre.command").all_inner_texts()[-1] == "make demo"
    assert "regard train recipes/world-transformer.toml" in page.inner_text("main.panel")
    page.evaluate(axe)
    assert problems(page) == []
    page.get_by_role("button", name="See how position encodings work").click()
    page.locator("main.panel .criteria, main.panel .card").first.wait_for()
    assert page.get_attribute(".views a[href^='#positions']", "aria-current") == "page"
    page.click(".views a[href^='#translate']")
    page.get_by_role("button", name="Work through attention by example").click()
    page.locator("section.step").first.wait_for()


@pytest.mark.parametrize("view", ["heads", "pictures", "compare", "training"])
def test_no_view_fails_without_a_model(page: Any, view: str) -> None:
    page.click(f".views a[href^='#{view}']")
    page.locator("main.panel .empty").first.wait_for()
    assert not page.query_selector("main.panel .problem")


def test_notes_are_available_in_korean(page: Any) -> None:
    page.click("button[lang=ko]")
    page.get_by_text("이 서버는 모델 없이 시작됐어요").wait_for()

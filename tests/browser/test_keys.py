"""A server that asks for a key: the page asks its reader, keeps the key for the tab, and goes on as it would have."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import SENTENCE, serving

KEY = "open-sesame"
LOCALES = {"en-US": ("This server requires an API key", "Use this key"), "ko-KR": ("API 키가 필요해요", "이 키 쓰기")}
HAS_MODELS = "() => document.querySelector('.model-picker').value === 'transformer'"


@pytest.fixture(scope="module")
def locked(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a key."""
    yield from serving(tmp_path_factory.mktemp("locked") / "log", corpus / "runs" / "transformer", key=KEY)


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context(locale=getattr(request, "param", "en-US"))
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    context.close()


def give(page: Any, key: str) -> None:
    page.get_by_role("dialog").locator("input").fill(key)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("page", LOCALES, indirect=True)
def test_api_key_prompt_uses_the_reader_language(page: Any, locked: str, request: pytest.FixtureRequest) -> None:
    page.goto(locked)
    lead, button = LOCALES[request.node.callspec.params["page"]]
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    assert lead in dialog.inner_text()
    assert dialog.get_by_role("button", name=button).is_visible()
    assert page.evaluate("document.activeElement.type") == "password"
    page.keyboard.press("Escape")
    assert dialog.is_visible()


def test_wrong_api_key_prompts_again_until_right(page: Any, locked: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{locked}#translate")
    give(page, "wrong")
    page.get_by_role("alert").get_by_text("did not accept").wait_for()
    give(page, KEY)
    page.get_by_role("dialog").wait_for(state="detached")
    page.wait_for_function(HAS_MODELS)
    page.get_by_role("textbox").fill(SENTENCE)
    page.keyboard.press("Enter")
    page.locator(".translate-result").wait_for()
    assert page.evaluate("sessionStorage.getItem('regard.key')") == KEY
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.includes('key'))") == []
    assert asked
    assert not any(KEY in url for url in asked)


def test_the_key_lasts_as_long_as_the_tab(page: Any, locked: str) -> None:
    page.goto(locked)
    give(page, KEY)
    page.wait_for_function(HAS_MODELS)
    page.reload()
    page.wait_for_function(HAS_MODELS)
    assert page.get_by_role("dialog").count() == 0
    other = page.context.new_page()
    other.goto(locked)
    other.get_by_role("dialog").wait_for()

"""A server that was started without a model serves those that come with regard: every view works at once."""

from collections.abc import Iterator
from typing import Any

import pytest

from regard import pretrained
from tests.browser.conftest import Watched, serving


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serving(tmp_path_factory.mktemp("shipped") / "log")


@pytest.fixture
def page(browser: Any, shipped: str) -> Iterator[Any]:
    context = browser.new_context(locale="en-US", viewport={"width": 1200, "height": 900})
    watched = Watched.of(context.new_page())
    watched.page.set_default_timeout(60_000)
    watched.page.goto(shipped)
    yield watched.page
    context.close()
    assert watched.problems == []


def test_page_opens_with_a_translated_everyday_sentence(page: Any, shipped: str) -> None:
    page.goto(f"{shipped}#translate")
    page.wait_for_selector(".word-row-target .word")
    assert page.input_value("#source-text") == "Where is the train station?"
    names = page.evaluate("fetch('/api/v1/models').then(r => r.json()).then(r => r.models.map(m => m.name))")
    assert names == pretrained.names()


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("inside", "section.step"),
        ("heads", "main.panel canvas, main.panel svg"),
        ("positions", "main.panel .card"),
        ("compare", ".compare-card .translation >> nth=2"),
        ("pictures?model=scenes", ".picture-examples button >> nth=11"),
        ("pictures", ".picture-examples button >> nth=11"),
        ("decide", ".bars >> nth=1"),
        ("training", "main.panel .empty code"),
        ("language", "main.panel .card"),
        ("language?model=world-decoder-only", "main.panel .card"),
        ("language?model=world-encoder-only", "main.panel .card"),
    ],
)
def test_every_view_works_with_shipped_models(page: Any, shipped: str, view: str, shown: str) -> None:
    page.goto(f"{shipped}#{view}")
    page.wait_for_selector(shown)
    assert not page.query_selector("main.panel .problem")
    assert not page.query_selector("main.panel pre.command")


def test_changes_of_a_model_end_with_it(page: Any, shipped: str) -> None:
    page.goto(f"{shipped}#translate?model=en-fr&text=Hello.&what_if=1&changes=cross.1.1%3Dzero")
    page.wait_for_selector("ol.changes li")
    page.get_by_role("link", name="Pictures").click()
    page.wait_for_url("**#pictures?model=scenes*")
    assert "changes=" not in page.url
    page.wait_for_selector(".region-word")
    assert not page.query_selector("main.panel .problem")


def test_links_choose_a_model_for_their_view(page: Any, shipped: str) -> None:
    page.goto(f"{shipped}#translate")
    page.wait_for_selector(".word-row-target .word")
    page.get_by_role("link", name="Language").click()
    page.wait_for_selector("main.panel .card")
    page.wait_for_url("**#language?model=world-decoder-only&text=*")
    page.get_by_role("link", name="Translate").click()
    page.wait_for_selector(".word-row-target .word")
    assert page.input_value("#source-text") == "Where is the train station?"
    page.go_back()
    page.wait_for_url("**#language?model=world-decoder-only&text=*")


CUT_SELECTS = """
Array.from(document.querySelectorAll("select")).filter((select) => {
  const own = document.createElement("select");
  own.append(select.selectedOptions[0].cloneNode(true));
  own.style.cssText = "position: absolute; flex: none; width: max-content; max-width: none";
  select.parentNode.append(own);
  const width = own.getBoundingClientRect().width;
  own.remove();
  return select.getBoundingClientRect().width < width;
}).map((select) => select.value)
"""


@pytest.mark.parametrize("view", ["translate?model=en-fr&text=Hello.", "language?model=world-decoder-only"])
def test_chosen_options_are_readable(page: Any, shipped: str, view: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{shipped}#{view}")
    page.wait_for_selector("main.panel select")
    assert page.evaluate(CUT_SELECTS) == []
    assert page.get_attribute(".model-picker", "title").startswith(page.input_value(".model-picker"))

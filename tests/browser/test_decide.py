"""Decide: what the page shows of a text or an image is what the API answers, for each kind of classifier."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, serving
from tests.browser.test_axe import problems
from tests.support.browser import answer
from tests.support.shared_results import build_once
from tests.support.small_labels import make_classifiers

TEXT = "가 와 나"
BARS = "lists => lists.map(list => [...list.children].map(row => [...row.children].map(cell => cell.textContent)))"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "labels", make_classifiers)[0]


@pytest.fixture(scope="module")
def server(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("serving") / "log"
    yield from serving(log, *(labelled / name for name in ("rnn", "encoder", "images")))


def shown_bars(page: Any) -> list[list[tuple[str, str]]]:
    """The words and numbers of every list of bars."""
    page.wait_for_selector(".decide .bars >> nth=0")
    return [[(word, number) for word, _, number in rows] for rows in page.eval_on_selector_all(".decide .bars", BARS)]


@pytest.mark.parametrize("name", ["rnn", "encoder"])
def test_classes_and_words_are_those_of_the_api(open_page: Open, server: str, name: str) -> None:
    page = open_page(f"decide?model={name}&text={TEXT}")
    expect(page.locator(".decide .bars")).to_have_count(2)
    [found] = answer(server, "classify", {"model": name, "texts": [TEXT], "attention": True})["results"]
    classes, words = shown_bars(page)
    assert classes == [(one["label"], f"{one['probability']:.3f}") for one in found["classes"]]
    assert words == [(one["text"], f"{one['weight']:.3f}") for one in found["words"]]
    expect(page.locator(".decide .growing")).to_have_text(found["label"])


def test_own_images_are_classified_on_a_phone(open_page: Open, labelled: Path, axe: str) -> None:
    page = open_page("decide?model=images", locale="ko-KR", viewport={"width": 320, "height": 700})
    expect(page.locator(".decide h1, .decide h2").first).to_have_text("클래스 정하기")
    page.wait_for_selector(".decide .region-word svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.evaluate(axe)
    assert problems(page) == []
    for label in ("down", "across"):
        page.set_input_files(".picture-file", next((labelled / "bars" / "test" / label).glob("*.png")))
        expect(page.locator(".decide .growing")).to_have_text(label)
    assert sum(float(number) for _, number in shown_bars(page)[0]) == pytest.approx(1, abs=0.002)

"""axe-core finds nothing that keeps the page from anyone."""

from typing import Any

import pytest

from tests.browser.conftest import Open

VIEWS = ["start", "translate", "inside", "heads", "positions", "compare", "training"]
STILL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame().then(frame); // what has just changed begins its transitions
  const ending = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity);
  await Promise.all(ending.map((one) => one.finished.catch(() => null)));
}"""
LOOK = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


def problems(page: Any) -> list[str]:
    page.evaluate(STILL)  # a colour on its way to another is neither
    found = page.evaluate(LOOK)
    return [f"{one['impact']} {one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_keeps_anyone_out(open_page: Open, axe: str, view: str) -> None:
    """As a view opens, without a choice in its address."""
    page = open_page(view, locale="ko-KR")
    page.wait_for_load_state("networkidle")
    page.evaluate(axe)
    assert problems(page) == []
    page.emulate_media(color_scheme="dark")
    assert problems(page) == []


def test_worked_example_and_highlighted_word_pass_axe(open_page: Open, axe: str) -> None:
    page = open_page("inside")
    page.get_by_role("button", name="Your sentence, your model").click()
    page.wait_for_selector(".deviation")
    page.check("input[name=unscaled]")
    page.evaluate(axe)
    assert problems(page) == []
    page.click(".views a[href^='#translate']")
    page.wait_for_selector(".word")
    page.click(".word >> nth=0")
    page.wait_for_load_state("networkidle")
    assert problems(page) == []

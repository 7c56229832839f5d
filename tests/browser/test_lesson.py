"""Start, the lesson: chapters by keyboard in both languages, numbers against numpy, the state in the address."""

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, Watched, serving
from tests.browser.test_every_view import BUSY, CHOICES

Array = NDArray[np.float64]
VALUES = (
    "rows => rows.map((row) => [...row.querySelectorAll('[data-value]')].map((cell) => Number(cell.dataset.value)))"
)
MOST_KEYS = 60  # presses of Tab from one control to the next
STATES = {"the": (0.2, 0.1, 0), "cat": (2, 0.2, 0.3), "drinks": (0.2, 0.6, 2), "milk": (0.1, 2, 0.4)}
START = Path(__file__).parents[2] / "src" / "regard" / "web" / "views" / "start"
FIGURES = START / "figures.json"
CHAPTERS = sorted(
    re.findall(r'^  id: "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)[0]
    for path in (START / "chapters").glob("*.js")
    if path.name != "chapters.js"
)
EXPERIMENT = ".result :is(.slider input, [role=radio][aria-checked=true], button[aria-pressed=false], p > button)"
QUERY = np.array([2, 0, 0.2])
KEYS = np.array([STATES[word] for word in ("the", "cat", "drinks", "milk")])


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serving(tmp_path_factory.mktemp("lesson") / "log")


@pytest.fixture
def open_chapter(browser: Any, lesson: str) -> Iterator[Any]:
    contexts: list[Any] = []
    watched: list[Watched] = []

    def opened(address: str = "start", **options: Any) -> Any:
        contexts.append(browser.new_context(**{"locale": "en-US", "reduced_motion": "reduce", **options}))
        watched.append(Watched.of(contexts[-1].new_page()))
        watched[-1].page.set_default_timeout(PATIENCE * 1000)
        watched[-1].page.goto(f"{lesson}#{address}")
        watched[-1].page.locator("main h1").wait_for()
        return watched[-1].page

    yield opened
    for context in contexts:
        context.close()
    assert [problem for one in watched for problem in one.problems] == []


def press_on(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus, then Enter."""
    for _ in range(MOST_KEYS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {selector}")


@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_every_chapter_works_by_keyboard(open_chapter: Any, locale: str) -> None:
    page = open_chapter(locale=locale)
    count = page.locator(".chapters li").count()
    for number in range(1, count + 1):
        expect(page.locator(".chapters [aria-current=step]")).to_have_count(1)
        assert page.locator(".result").count() == 0, "the result comes after the answer"
        press_on(page, ".answer")
        page.locator(".verdict, .result .explain").first.wait_for()  # what the chapter shows, or which model it lacks
        assert page.locator(".answer[aria-pressed=true]").count() == 1
        title = page.inner_text(".chapter h1")
        if number < count:
            press_on(page, ".turn-next")
            expect(page.locator(".chapter h1")).not_to_have_text(title)
            expect(page.locator(".chapter h1")).to_be_focused()
    expect(page.locator(".chapters .is-done")).to_have_count(count)
    page.go_back()
    expect(page.locator(".chapter h1")).not_to_have_text(title)


def expect_same_choices(page: Any, other: Any) -> None:
    """Wait until two pages have loaded all and show the same; the shapes of a page may be drawn a moment later."""
    for one in (page, other):
        one.wait_for_load_state("networkidle")
        one.wait_for_function(f"() => !({BUSY})()")
    deadline = time.monotonic() + PATIENCE
    while (shown := other.evaluate(CHOICES)) != (expected := page.evaluate(CHOICES)) and time.monotonic() < deadline:
        other.wait_for_timeout(100)
    assert shown == expected


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_experiment_and_next_view_have_a_link(open_chapter: Any, chapter: str) -> None:
    page = open_chapter(f"start?chapter={chapter}", locale="ko-KR")
    press_on(page, ".answer")
    expect(page).to_have_url(re.compile("guess=."))
    page.locator(".continue a").wait_for()
    if chapter != "care":  # its experiment is in the next view
        page.locator(EXPERIMENT).first.wait_for()
        press_on(page, EXPERIMENT)
        page.keyboard.press("Home" if chapter in ("square-root", "add-norm") else "End")  # of a slider or of tokens
        expect(page).to_have_url(re.compile("setting=."))
    expect_same_choices(page, open_chapter(page.url.split("#")[1], locale="ko-KR"))
    press_on(page, ".continue a")
    expect(page).not_to_have_url(re.compile("#start"))
    expect(page.locator(".chapter")).to_have_count(0)
    expect_same_choices(page, open_chapter(page.url.split("#")[1], locale="ko-KR"))


def test_link_restores_answer_and_setting(open_chapter: Any) -> None:
    page = open_chapter("start?chapter=square-root&guess=one&setting=64")
    expect(page.locator(".answer[aria-pressed=true]")).to_have_text("About 1")
    expect(page.locator(".slider .number")).to_have_text("64")
    page.locator(".slider input").press("ArrowLeft")
    expect(page).to_have_url(re.compile("setting=32"))
    link, shown = page.url, page.inner_html(".result")
    again = open_chapter(link.split("#")[1])
    again.locator(".result .lines svg").wait_for()
    assert again.inner_html(".result") == shown


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True)
    return result


def shown(page: Any, table: int) -> Array:
    """Score and weight of each row of a table."""
    page.locator(".score-table").nth(table).wait_for()
    rows = page.locator(".score-table").nth(table).locator("tbody tr")
    return np.array(rows.evaluate_all(VALUES))


def test_look_back_shows_scores_of_numpy(open_chapter: Any) -> None:
    page = open_chapter("start?chapter=look-back&guess=both")
    scores = KEYS @ QUERY
    np.testing.assert_allclose(shown(page, 1), np.stack([scores, softmax(scores)], 1), rtol=1e-12)
    assert page.locator(".verdict.is-right").count() == 0
    page.get_by_role("button", name="Only attention").click()
    page.locator(".verdict.is-right").wait_for()


@pytest.mark.parametrize("factor", [1, 4])
def test_four_scores_are_those_of_numpy(open_chapter: Any, factor: int) -> None:
    page = open_chapter(f"start?chapter=four-scores&guess=dot&setting={factor}")
    query = factor * QUERY
    general = np.array([[1, 0, 0], [0, 1, 0.5], [0.5, 0, 1]])
    expected = [
        KEYS @ query,
        KEYS @ query / math.sqrt(3),
        KEYS @ general.T @ query,
        4 * np.tanh(0.5 * query + 0.5 * KEYS - 1.5).sum(1),
    ]
    for table, scores in enumerate(expected):
        np.testing.assert_allclose(shown(page, table), np.stack([scores, softmax(scores)], 1), rtol=1e-9)


def test_query_key_value_is_that_of_numpy(open_chapter: Any) -> None:
    page = open_chapter("start?chapter=query-key-value&guess=0")
    x = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    query = np.array([[1, 2, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [2, 1, 0, 0]]) @ x[0]
    keys = x @ np.diag([1, 1, 2, 1])
    values = x @ np.array([[0.5, 0.5, -0.5, 0.5], [0.5, 0, 0.5, -0.5], [-0.5, 0, 0.5, 0.5]]).T
    scores = keys @ query / 2
    np.testing.assert_allclose(shown(page, 0), np.stack([scores, softmax(scores)], 1), rtol=1e-12)
    output = page.locator(".lesson-steps li").last.locator("tbody tr").evaluate_all(VALUES)
    np.testing.assert_allclose(output, [softmax(scores) @ values], rtol=1e-12)


def normal_numbers(seed: int, count: int) -> Array:
    """The page's normal numbers: mulberry32, then Box and Muller's formula."""
    state = np.uint32(seed) + np.arange(1, 2 * count + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    mixed = (state ^ (state >> 15)) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> 7)) * (mixed | np.uint32(61))
    uniform = (mixed ^ (mixed >> 14)).astype(np.float64) / 2**32
    result: Array = np.sqrt(-2 * np.log(1 - uniform[::2])) * np.cos(2 * math.pi * uniform[1::2])
    return result


def test_square_root_statistics_are_those_of_numpy(open_chapter: Any) -> None:
    page = open_chapter("start?chapter=square-root&guess=root&setting=64")
    draws = normal_numbers(2017, 100 * 7 * 512).reshape(100, 7, 512)[:, :, :64]
    products = np.einsum("nkd,nd->nk", draws[:, 1:], draws[:, 0])
    for table, divisor in enumerate((1, 8)):
        scores = products / divisor
        weights = softmax(scores)
        np.testing.assert_allclose(shown(page, table), np.stack([scores[0], weights[0]], 1), rtol=1e-9)
        figures = page.locator(".lesson-figures").nth(table).evaluate_all(VALUES)[0]
        expected = [scores.std(), weights.max(1).mean(), (weights * (1 - weights)).max(1).mean()]
        np.testing.assert_allclose(figures, expected, rtol=1e-9)


def test_pronoun_attends_to_the_noun_of_numpy(open_chapter: Any) -> None:
    model = json.loads(FIGURES.read_text(encoding="utf-8"))["pronoun"]
    weights = {name: np.array(value) for name, value in model["weights"].items()}
    words = ["the", "cow", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired"]
    vectors = weights["tokens"][[model["words"].index(word) for word in words]]
    placed = vectors + weights["positions"]

    def attend(layer: int, x: Array) -> Array:
        keys = placed @ weights[f"key{layer}"].T
        return softmax(keys @ (weights[f"query{layer}"] @ x) / math.sqrt(len(x)))

    it = placed[words.index("it")]
    first = attend(1, it)
    second = attend(2, it + first @ (placed @ weights["value1"].T))
    page = open_chapter("start?chapter=pronoun&guess=street&setting=cow.street.tired.")
    np.testing.assert_allclose(shown(page, 0)[:, 0], first, rtol=1e-9)
    np.testing.assert_allclose(shown(page, 1)[:, 0], second, rtol=1e-9)
    assert words[int(second.argmax())] == "cow"
    expect(page.locator(".lesson-figures dd").last).to_contain_text("elle")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_printed_chapter_has_question_and_result(open_chapter: Any, chapter: str) -> None:
    page = open_chapter(f"start?chapter={chapter}", color_scheme="dark", viewport={"width": 718, "height": 1000})  # A4
    page.emulate_media(media="print")
    expect(page.locator(".answer >> nth=0")).to_be_visible()
    expect(page.locator(".result")).to_have_count(0)
    page.emulate_media(media="screen")
    page.locator(".answer").first.click()
    page.locator(".verdict").wait_for()
    page.emulate_media(media="print")
    expect(page.locator(".regard")).to_have_attribute("data-theme", "light")
    for hidden in (".chapters", ".turner", ".continue", ".views"):
        expect(page.locator(hidden)).to_be_hidden()
    for visible in (".idea >> nth=0", ".question h2", ".answer >> nth=0", ".verdict", ".result > :nth-last-child(2)"):
        expect(page.locator(visible)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_passive_shows_the_shortcut_of_a_classifier(open_chapter: Any) -> None:
    page = open_chapter("start?chapter=deciding&guess=nurse")
    expect(page.locator(".result .bars").first.locator("li").first).to_contain_text("boy")
    expect(page.locator(".verdict")).not_to_have_class("verdict is-right")
    page.get_by_role("button", name="The nurse helped the boy").click()
    expect(page.locator(".result .bars").first.locator("li").first).to_contain_text("nurse")

"""What holds for every view: links restore it, nothing leaks, leaving ends its requests, and everybody can use it."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, SENTENCE
from tests.browser.test_axe import problems
from tests.support.small_language import turns

PARAMS_FILE = Path(__file__).parents[2] / "src" / "regard" / "web" / "core" / "url.js"
POLLED = re.compile(r"/api/v1/(models|runs)$|/events\b")  # asked for again and again, whatever the view
BUSY = "() => document.querySelector('main .is-busy, main .waiting') !== null"
MALFORMED = ["-1", "1.5", "99999", "__proto__"]  # of an address that was cut, or is of another model
VISITS, CLICKS = 10, 50
ALLOWED_GROWTH = 1.2

# Everything that a reader can have chosen in a view, in either language: values, what is pressed, what is open.
CHOICES = """() => {
  const all = (selector) => [...document.querySelectorAll(`main ${selector}`)];
  const value = (control) => control.type === 'checkbox' ? control.checked : control.value;
  return {
    values: all('select, textarea, input:not([type=file])').map(value),
    pressed: all('[aria-pressed]').map((button) => button.getAttribute('aria-pressed')),
    open: all('details').map((details) => details.open),
    words: all('.word, .output-text, .region-word b').map((word) => word.textContent),
    shapes: all('svg').map((svg) => svg.querySelectorAll('*').length),
  };
}"""


@dataclass(frozen=True)
class View:
    """A view, an address with many choices, what is there when it is complete, and what is clicked in turn."""

    id: str
    params: dict[str, str]
    ready: str
    clicks: tuple[str, ...]
    leave_to: str = "inside"  # its worked example requests nothing
    base: tuple[str, ...] = ("model", "text", "mode", "run")  # choices that others depend on
    random: bool = field(default=False)  # part of what it shows is drawn at random

    def address(self, *without: str) -> str:
        params = {name: value for name, value in self.params.items() if name not in without}
        return f"{self.id}?{urlencode(params)}"


LONG = " ".join([SENTENCE] * 7)  # more tokens than a table has rows
OWN = {"mode": "own", "model": "transformer", "text": SENTENCE}
VIEWS = {
    "start": View(
        "start",
        {"chapter": "square-root", "guess": "one", "setting": "64"},
        ".result .lines svg",
        (".answer >> nth=0", ".answer >> nth=1"),
        base=("chapter",),  # answer and setting are those of the chapter
    ),
    "translate": View(
        "translate",
        {"model": "transformer", "text": SENTENCE, "align": "0.1.input", "pinned": "target.1", "target": "빨간 고양이"},
        ".word-detail",
        (".word-row-source .word >> nth=1", ".reading .segments button >> nth=0", ".reading .segments button >> nth=1"),
    ),
    "search": View(
        "translate",
        {"model": "transformer", "text": SENTENCE, "next": "1", "predict": "2", "tree": "1", "beam": "3"},
        ".tree-scroll svg",
        (".tree-scroll .chart-tools button >> nth=-1", ".tree-scroll .chart-tools button >> nth=-1"),
    ),
    "compare": View(
        "compare",
        {"model": "transformer", "text": SENTENCE, "bucket": "0"},
        ".bucket-sentence >> nth=0",
        (".compare-card .chart-tools button >> nth=-1", ".card .chart-tools button >> nth=-1"),
    ),
    "heads": View(
        "heads",
        {"model": "transformer", "text": SENTENCE, "role": "all", "map": "1/1", "units": "words", "measure": "norm"},
        ".head-thumb >> nth=0",
        (".head-thumb >> nth=0", ".head-thumb >> nth=3"),
    ),
    "example": View(
        "inside",
        {"order": "2013", "causal": "1", "query": "1", "key": "1", "step": "softmax", "exercise": "1"},
        "section.step >> nth=-1",
        ("input[name=causal]", "input[name=unscaled]"),
        leave_to="start",
    ),
    "inside": View(
        "inside",
        {
            **OWN,
            "layer": "4",
            "head": "1",
            "query": "2",
            "key": "1",
            "vector": "v",
            "number": "3",
            "context": "2",
            "output": "3",
            "unscaled": "1",
            "unmasked": "1",
            "fc1_row": "2",
            "fc2_row": "3",
            "token": "1",
            "lens": "1",
            "target": "빨간 고양이 달린다",
        },
        ".deviation >> nth=0",
        ("input[name=unscaled]", "input[name=unmasked]"),
        leave_to="start",
    ),
    "long": View(
        "inside",
        {"mode": "own", "model": "transformer", "text": LONG, "keys": "all"},
        ".deviation >> nth=0",
        ("[data-key='0'] >> nth=0", "[data-key='1'] >> nth=0"),
        leave_to="start",
    ),
    "changed": View(
        "translate",
        {
            "model": "transformer",
            "text": SENTENCE,
            "what_if": "1",
            "changes": "cross.1.1=zero\nhide.source.2\nwithout.scaling",
            "ablation": "mean",
            "predict": "1",
            "needs": "1",
            "cell": "0.0",
        },
        ".head-switch >> nth=0",
        (".head-switch >> nth=0", ".word-switches button >> nth=0"),
        base=("model", "text", "what_if"),  # the card is open wherever there is a change
    ),
    "general": View(
        "inside",
        {**OWN, "model": "general", "prepared": "2"},
        ".deviation >> nth=0",
        ("[data-key='0'] >> nth=0", "[data-key='1'] >> nth=0"),
        leave_to="start",
    ),
    "positions": View(
        "positions",
        {"kind": "count", "length": "40", "width": "32", "rotary": "7.3"},
        ".card svg >> nth=0",
        (".chart-tools button >> nth=-1", ".chart-tools button >> nth=-1"),
    ),
    "language": View(
        "language",
        {"model": "writer", "text": turns(0, 4), "look": turns(0, 4), "prompt": turns(0, 2), "temperature": "0.4"},
        ".map-area >> nth=0",
        (".outputs >> nth=0 >> .output >> nth=0", ".outputs >> nth=1 >> .output >> nth=0"),
        random=True,
    ),
    "decide": View(
        "decide",
        {"model": "world-classifier", "text": "The nurse helped the boy", "what_if": "1", "changes": "hide.source.1"},
        ".decide .bars >> nth=1",
        (".word-switches button >> nth=0", ".word-switches button >> nth=0"),
        base=("model", "text", "what_if"),  # the card is open wherever there is a change
    ),
    "pictures": View(
        "pictures",
        {"model": "heads", "image": "1", "layer": "1", "head": "1", "word": "1"},
        "section.step >> nth=-1",
        (".region-word >> nth=0", ".region-word >> nth=1"),
    ),
    "training": View(
        "training",
        {"run": "transformer", "time": "25", "probe": "1", "probe_map": "3/1", "validation": "1"},
        ".map-drawing >> nth=0",
        (".segments button >> nth=0", ".chart-tools button >> nth=-1"),
    ),
}
each_view = pytest.mark.parametrize("name", VIEWS)
LIGHTER = {"search", "long", "general"}  # other states of a view whose nodes are counted in a richer one
each_view_once = pytest.mark.parametrize("name", [name for name in VIEWS if name not in LIGHTER])


@dataclass
class Opened:
    """A page whose requests are counted."""

    page: Any
    server: str
    sent: list[str] = field(default_factory=list)
    pending: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.on("request", self._begin)
        self.page.on("requestfinished", self._end)
        self.page.on("requestfailed", self._end)

    def _begin(self, request: Any) -> None:
        is_image = request.resource_type == "image"  # the browser goes on to load an image that has left the page
        if "/api/v1/" in request.url and not is_image and not POLLED.search(request.url):
            self.sent.append(request.url)
            self.pending.add(request)

    def _end(self, request: Any) -> None:
        self.pending.discard(request)

    def open(self, address: str) -> None:
        self.page.goto(f"{self.server}#{address}")

    def settle(self) -> None:
        """Wait until nothing is requested or announced as loading."""
        calm = 0
        for _ in range(PATIENCE * 20):
            self.page.wait_for_timeout(50)
            calm = 0 if self.pending or self.page.evaluate(BUSY) else calm + 1
            if calm == 5:
                return
        pytest.fail(f"still busy: {[request.url for request in self.pending]}")

    def wait_until(self, is_so: Callable[[], bool], problem: str) -> None:
        """Wait until a condition holds: a busy machine may begin to draw a moment after the address has changed."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, problem
            self.page.wait_for_timeout(50)

    def complete(self, view: View) -> None:
        self.page.locator(view.ready).wait_for()
        self.settle()

    def go(self, view: str) -> None:
        self.page.click(f".views a[href^='#{view}']")

    def nodes(self) -> int:
        """DOM nodes that are alive, on the page or kept by some script."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("HeapProfiler.collectGarbage")
        counted: int = session.send("Memory.getDOMCounters")["nodes"]
        session.detach()
        return counted


@pytest.fixture
def new_page(browser: Any, everything: str) -> Iterator[Any]:
    """Open a browser of its own; no script may complain."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def opened(**options: Any) -> Opened:
        defaults = {"locale": "en-US", "viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce"}
        contexts.append(browser.new_context(**{**defaults, **options}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return Opened(page, everything)

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def test_every_parameter_is_tried() -> None:
    known = set(re.findall(r"^  (\w+): \{", PARAMS_FILE.read_text(encoding="utf-8"), re.MULTILINE)) - {
        "view",
        "present",
    }  # presentation hides the links that these tests click
    assert known == {name for view in VIEWS.values() for name in view.params}


@each_view
def test_a_link_restores_every_choice(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    first, second = new_page(), new_page()
    first.open(view.address())
    first.complete(view)
    link = first.page.evaluate("location.href")
    assert view.params.items() <= dict(parse_qsl(link.split("?", 1)[1])).items()
    second.page.goto(link)
    second.complete(view)
    chosen, restored = (opened.page.evaluate(CHOICES) for opened in (first, second))
    if view.random:
        chosen, restored = ({**found, "words": None, "pressed": None} for found in (chosen, restored))
    assert restored == chosen


@each_view
def test_every_choice_is_reflected_in_the_address(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page()
    opened.open(view.address())
    opened.complete(view)
    chosen = opened.page.inner_html("main")
    for param in set(view.params) - set(view.base):
        opened.page.evaluate("address => { location.hash = address; }", view.address(param))
        opened.wait_until(lambda: opened.page.inner_html("main") != chosen, f"{param} changes nothing")
        opened.page.evaluate("address => { location.hash = address; }", view.address())
        opened.complete(view)


@each_view
def test_malformed_parameters_break_no_view(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page()  # fails where a script complains
    opened.open(view.address())
    opened.complete(view)
    for param in set(view.params) - {"model", "text", "run", "mode"}:
        for value in MALFORMED:
            address = f"{view.address(param)}&{urlencode({param: value})}"
            opened.page.evaluate("address => { location.hash = address; }", address)
            opened.page.wait_for_timeout(100)
    opened.page.evaluate("address => { location.hash = address; }", view.address())
    opened.complete(view)


@each_view
def test_language_and_theme_keep_choices_without_requests(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page(viewport={"width": 1200, "height": 2400})  # small maps are fetched when they scroll into view
    opened.open(view.address())
    opened.complete(view)
    chosen, sent = opened.page.evaluate(CHOICES), list(opened.sent)
    opened.page.click("button[lang=ko]")
    opened.page.click("button.theme")
    opened.page.click("button.theme")
    expect(opened.page.locator(".regard")).to_have_attribute("data-theme", "dark")
    expect(opened.page.locator(".regard")).to_have_attribute("lang", "ko")
    opened.settle()
    shown = opened.page.evaluate(CHOICES)
    assert {**shown, "shapes": None} == {**chosen, "shapes": None}  # axes may have other labels
    assert opened.sent == sent


@each_view
def test_leaving_while_loading_cancels_all_requests(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page()
    passing, held = [0], [False]

    def hold(route: Any) -> None:
        if POLLED.search(route.request.url) or route.request.resource_type == "image":
            route.continue_()
        elif passing[0] > 0:
            passing[0] -= 1
            route.continue_()
        else:
            held[0] = True  # never answered

    opened.page.route("**/api/v1/**", hold)
    for stage in range(40):
        opened.page.goto("about:blank")  # the page begins anew at each stage
        passing[0], held[0] = stage, False
        opened.open(view.address())
        for _ in range(100):
            opened.page.wait_for_timeout(50)
            if held[0] or (not opened.pending and opened.page.locator(view.ready).count()):
                break
        if not held[0]:
            break
        opened.go(view.leave_to)
        opened.page.wait_for_timeout(150)
        sent = len(opened.sent)
        assert not opened.pending, f"stage {stage}: {[request.url for request in opened.pending]}"
        opened.page.wait_for_timeout(150)
        assert opened.sent[sent:] == []
    else:
        pytest.fail("the view never came to its end")


@each_view_once
def test_visits_leave_no_nodes_behind(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page()
    opened.open(view.address())
    opened.complete(view)

    def visit(times: int) -> int:
        for _ in range(times):
            opened.go(view.leave_to)
            opened.page.locator("main h1").wait_for()
            opened.page.go_back()
            opened.complete(view)
        return opened.nodes()

    before = visit(2)
    assert visit(VISITS) <= ALLOWED_GROWTH * before


@each_view_once
def test_clicks_leave_no_nodes_behind(new_page: Any, name: str) -> None:
    view = VIEWS[name]
    opened = new_page()
    opened.open(view.address())
    opened.complete(view)

    def click(times: int) -> int:
        for turn in range(times):
            opened.page.locator(view.clicks[turn % len(view.clicks)]).click()
        opened.settle()
        return opened.nodes()

    before = click(4)
    assert click(CLICKS) <= ALLOWED_GROWTH * before


@each_view
def test_axe_finds_nothing(new_page: Any, axe: str, name: str) -> None:
    opened = new_page()
    opened.open(VIEWS[name].address())
    opened.complete(VIEWS[name])
    opened.page.evaluate(axe)
    found = {"light": problems(opened.page)}
    opened.page.click("button[lang=ko]")
    for colours in ({"color_scheme": "dark"}, {"color_scheme": "light", "forced_colors": "active"}):
        opened.page.emulate_media(**colours)
        found[str(colours)] = problems(opened.page)
    assert not any(found.values()), found


@each_view
def test_a_phone_needs_no_sideways_scrolling(new_page: Any, name: str) -> None:
    opened = new_page(viewport={"width": 320, "height": 640})
    opened.open(VIEWS[name].address())
    opened.complete(VIEWS[name])
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320
    opened.page.click("button[lang=ko]")
    opened.settle()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("file", ["app.*.js", "more_views.*.js", "style.*.css"])
def test_missing_file_is_reported(new_page: Any, file: str) -> None:
    opened = new_page()
    opened.page.route(f"**/page/{file}", lambda route: route.abort())
    opened.open("translate")
    if file.startswith("more"):
        expect(opened.page.get_by_text("the script of this view did not load. Reload the page.")).to_be_visible()
    elif file.startswith("app"):
        expect(opened.page.get_by_text("The page's script did not load.")).to_be_visible()
        expect(opened.page.get_by_text("페이지의 스크립트를 불러오지 못했어요.")).to_be_visible()
    else:
        opened.page.locator(".word").first.wait_for()  # plain, but there

"""The single HTML file, opened from disk in a real browser with the network off; and its views in a notebook."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

import regard.plotting
from regard.plotting.html_data import trace_page_data
from regard.tracing.trace import Trace
from regard.web.bundle import bundle
from regard.web.pages import FOLDER, render_html_file
from tests.support.browser import settled
from tests.support.traces import (
    ADDITIVE,
    CAPTION,
    GENERAL,
    LEARNED,
    ROTARY,
    TARGET,
    TEXT,
    TRANSFORMER,
    caption_trace,
    trace_of,
)

VIEWS = ["translate", "inside", "heads", "positions"]
HACKS = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "<img/src=x/onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "\"'><body/onload=window.hacked=1>",
    "{{constructor.constructor('window.hacked=1')()}}",
]
READY = "() => document.querySelector('main.panel')?.innerText.includes('AI')"


@dataclass
class Opened:
    """A page, and all that it complained of or asked for."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    context = browser.new_context(offline=True, locale="en-US", viewport={"width": 1200, "height": 900})
    seen = Opened(context.new_page())
    seen.page.on("console", lambda message: message.type in ("error", "warning") and seen.problems.append(message.text))
    seen.page.on("pageerror", lambda error: seen.problems.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    yield seen
    context.close()


def written(folder: Path, trace: Trace, **options: Any) -> str:
    path = folder / "a file.html"
    path.write_text(render_html_file(trace_page_data(trace, **options), title=trace.text), encoding="utf-8")
    return path.as_uri()


def shown(opened: Opened) -> str:
    text: str = opened.page.inner_text("main.panel")
    return text


@pytest.mark.parametrize("name", [TRANSFORMER, ADDITIVE, GENERAL])
def test_every_view_opens_from_disk_without_network(opened: Opened, tmp_path: Path, name: str) -> None:
    address = written(tmp_path, trace_of(name), name="small", languages=("en", "ko"))
    opened.page.goto(address)
    opened.page.wait_for_function(READY)
    for view in VIEWS:
        opened.page.click(f".views a[href^='#{view}']")
        opened.page.wait_for_function("() => document.querySelector('main.panel :is(.map, table, svg)') !== null")
        assert not opened.page.query_selector("main.panel .problem"), shown(opened)
    assert opened.problems == []
    assert {url.split("#")[0] for url in opened.requests if not url.startswith(("blob:", "data:"))} == {address}


def test_words_and_links_equal_those_of_the_trace(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(written(tmp_path, trace_of(TRANSFORMER)))
    opened.page.wait_for_function(READY)
    assert all(word in opened.page.inner_text("#page") for word in TARGET.split())
    assert opened.page.inner_text("main.panel .fixed-sentence") == TEXT
    assert opened.page.locator("main.panel :is(textarea, form)").count() == 0  # nothing else can be translated here


@pytest.mark.parametrize("name", [ROTARY, ADDITIVE])
def test_inside_shows_the_models_own_weights(opened: Opened, tmp_path: Path, name: str) -> None:
    trace = trace_of(name)
    opened.page.goto(written(tmp_path, trace) + "#inside")
    opened.page.click("main.panel [role=group] button:last-child >> nth=0")
    opened.page.wait_for_function("() => document.querySelectorAll('main.panel table').length > 3")
    text = shown(opened)
    rows = [
        [f"{weight:.4f}" for weight in trace.arithmetic(layer, head, query).weights]
        for layer, described in enumerate(trace.layers)
        for head in range(described.heads)
        for query in range(len(trace.labels(layer)[0]))
    ]
    telling = [row for row in rows if len(set(row)) > 3]  # a row of zeros and a one could be found by chance
    assert any(all(weight in text for weight in row) for row in telling)
    assert opened.problems == []


def test_view_links_work_by_keyboard_and_in_korean(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(written(tmp_path, trace_of(TRANSFORMER)))
    opened.page.wait_for_function(READY)
    opened.page.focus(".views a[href^='#translate']")
    for view in VIEWS[1:]:
        opened.page.keyboard.press("Tab")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_selector(f".views a[href^='#{view}'][aria-current=page]:focus")
    english = opened.page.inner_text(".views")
    opened.page.click("button[lang=ko]")
    korean = opened.page.inner_text(".views")
    assert english != korean
    assert any("가" <= letter <= "힣" for letter in korean)
    assert opened.problems == []


def test_back_returns_to_the_previous_view(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(written(tmp_path, trace_of(TRANSFORMER)))
    opened.page.wait_for_function(READY)
    opened.page.click(".views a[href^='#heads']")
    opened.page.wait_for_url(re.compile("#heads$"))  # the file's one sentence and model need no place in it
    opened.page.go_back()
    opened.page.wait_for_selector(".views a[href^='#translate'][aria-current]")
    assert opened.problems == []


def test_no_text_of_sentence_vocabulary_or_model_runs(opened: Opened, tmp_path: Path) -> None:
    every = " ".join(HACKS)
    trace = trace_of(TRANSFORMER, f"AI {every}", f"{every} AI가")
    opened.page.goto(written(tmp_path, trace, name=every, languages=(HACKS[0], HACKS[2])))
    opened.page.wait_for_function(READY)
    for view in VIEWS:
        opened.page.click(f".views a[href^='#{view}']")
        opened.page.wait_for_function("() => document.querySelector('main.panel :is(.map, table, svg)') !== null")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.problems == []  # a violation of the policy would be told here
    text = opened.page.evaluate("document.querySelector('#page').textContent")
    assert [hack for hack in HACKS if hack not in text] == []


def test_script_from_outside_the_file_is_refused(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(written(tmp_path, trace_of(TRANSFORMER)))
    opened.page.wait_for_function(READY)
    opened.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
    )
    assert opened.page.evaluate("window.hacked") is None
    is_told = settled(opened.page, lambda: any("Content Security Policy" in one for one in opened.problems), True)
    assert is_told
    assert opened.page.evaluate("fetch('data:text/plain,a').then(() => 'fetched', () => 'refused')") == "refused"


@pytest.mark.parametrize("name", [TRANSFORMER, ROTARY, ADDITIVE, GENERAL])
def test_assembled_numbers_equal_those_of_the_trace(opened: Opened, name: str) -> None:
    trace = trace_of(name)
    places = [
        {"layer": layer, "head": head, "query": query}
        for layer, described in enumerate(trace.layers)
        for head in range(described.heads)
        for query in range(len(trace.labels(layer)[0]))
    ]
    ask = """async ([code, data, places]) => {
        const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
        const api = (await import(address)).embeddedBackend(JSON.parse(data));
        return JSON.stringify(await Promise.all(places.map((place) => api.arithmetic("embedded", place))));
    }"""
    code = bundle(FOLDER / "data" / "embedded.js", exports=("embeddedBackend",))
    opened.page.goto("about:blank")
    answers = json.loads(opened.page.evaluate(ask, [code, json.dumps(trace_page_data(trace)), places]))
    for place, answer in zip(places, answers, strict=True):
        assert answer == json.loads(msgspec.json.encode(trace.arithmetic(**place))), place


DRAW = """async ([code, style, data]) => {
    document.head.append(Object.assign(document.createElement("style"), {textContent: style}));
    const address = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
    const module = await import(address);
    await module.default.render({model: {get: (name) => ({data})[name]}, el: document.body});
}"""


def test_widget_renders_the_same_views_in_a_cell(opened: Opened) -> None:
    widget = regard.plotting.show(trace_of(TRANSFORMER), name="small")
    opened.page.goto("about:blank")
    opened.page.evaluate(DRAW, [widget._esm, widget._css, widget.data])
    opened.page.wait_for_function(READY)
    for view in VIEWS:
        opened.page.click(f".views a[href^='#{view}']")
        opened.page.wait_for_function("() => document.querySelector('main.panel :is(.map, table, svg)') !== null")
    assert opened.problems == []


DRAW_TWICE = """async ([code, data]) => {
    const model = { get: (name) => ({ data })[name] };
    window.ends = [];
    for (const name of ["first", "second"]) {
        const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        const el = document.body.appendChild(Object.assign(document.createElement("div"), { id: name }));
        window.ends.push((await import(address)).default.render({ model, el }));
    }
}"""


def test_one_of_two_widgets_can_close(opened: Opened) -> None:
    page, widget = opened.page, regard.plotting.show(trace_of(TRANSFORMER), name="small")
    page.goto("about:blank")
    page.evaluate(DRAW_TWICE, [widget._esm, widget.data])
    for name in ("first", "second"):
        page.locator(f"#{name} .views a", has_text="Positions").click()
        page.locator(f"#{name} main.panel svg").first.wait_for()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids)) >= 4
    page.evaluate("window.ends[0]()")
    assert page.evaluate("document.getElementById('first').childNodes.length") == 0
    page.locator("#second .views a", has_text="Heads").click()
    page.locator("#second .head-thumb").first.wait_for()
    assert opened.problems == []


def test_learned_position_table_is_shown_to_its_end(opened: Opened, tmp_path: Path) -> None:
    trace = trace_of(LEARNED)
    assert trace.position_table is not None
    longest = len(trace.position_table.table)
    opened.page.goto(written(tmp_path, trace, name="small") + "#positions")
    opened.page.wait_for_selector("main.panel select option[value=own]", state="attached")
    opened.page.select_option("main.panel select", "own")
    length = opened.page.locator("main.panel input[type=range]").first
    length.fill(str(min(longest, 8)))
    opened.page.wait_for_function("() => !document.querySelector('main.panel .problem')")
    length.fill("200")
    opened.page.wait_for_function("() => document.querySelector('main.panel .problem') !== null")
    assert longest < 200
    assert opened.problems == []


def test_captioned_image_has_its_words_and_heads(opened: Opened, tmp_path: Path) -> None:
    regard.plotting.save(caption_trace(), tmp_path / "page.html", name="small")
    opened.page.goto((tmp_path / "page.html").as_uri())
    seen_with_its_heads(opened)
    assert [url for url in opened.requests if not url.startswith(("file:", "blob:", "data:"))] == []


def test_widget_shows_a_captioned_image(opened: Opened) -> None:
    widget = regard.plotting.show(caption_trace(), name="small")
    opened.page.goto("about:blank")
    opened.page.evaluate(DRAW, [widget._esm, widget._css, widget.data])
    seen_with_its_heads(opened)


def seen_with_its_heads(opened: Opened) -> None:
    opened.page.wait_for_selector("main.panel section.step")
    assert opened.page.inner_text("main.panel .caption-text") == CAPTION
    assert opened.page.locator("button.region-word").count() == len(CAPTION.split())
    opened.page.click(".views a[href^='#heads']")
    uses = {"Decoder to image": 3, "Image encoder, self": 3, "Decoder, self (masked)": 3}  # two heads and their mean
    for name, count in uses.items():
        opened.page.get_by_role("button", name=name, exact=True).click()
        opened.page.wait_for_function(f"() => document.querySelectorAll('.head-thumb').length === {count}")
        opened.page.wait_for_selector(f".heads-body h2:has-text('{name}')")
    assert not opened.page.query_selector("main.panel .problem")
    assert opened.problems == []

"""Translate, used as people use it: by mouse, by keyboard, in both languages."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SENTENCE, Open, Watched, serving
from tests.support.browser import answer, settled, translation

TARGET_WORD = ".word-row-target .word"
SOURCE_WORD = ".word-row-source .word"
MARKS = {"en-US": ("Word by word", "Translate"), "ko-KR": ("단어별로 보기", "번역하기")}


def translated(page: Any, text: str = SENTENCE, model: str = "transformer") -> Any:
    """The page after it has translated a sentence with a model, and looked into it."""
    page.wait_for_selector(".outputs li")
    page.select_option(".model-picker", model)
    page.fill("#source-text", text)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "text => document.querySelector('.word-row-source')?.innerText.split(/\\s+/).join(' ') === text", arg=text
    )
    page.wait_for_selector(".outputs li")
    page.wait_for_selector(".best-head")  # the server has measured the heads
    page.wait_for_function("() => !document.querySelector('.is-busy')")
    return page


def words_said(server: str) -> list[str]:
    """The model's own translation of the sentence."""
    return translation(server, SENTENCE).split()


def alignment(server: str, **reading: object) -> Any:
    trace = answer(server, "traces", {"model": "transformer", "text": SENTENCE})
    query = "&".join(f"{name}={value}" for name, value in reading.items())
    return answer(server, f"traces/{trace['id']}/alignment?{query}")


def detail(page: Any) -> dict[str, float]:
    """The bars of the active word."""
    rows = [row.inner_text().split() for row in page.query_selector_all(".bars li")]
    return {word: float(weight) for word, weight in rows}


@pytest.mark.parametrize("locale", MARKS)
def test_typed_sentence_is_translated_and_words_highlight(open_page: Open, server: str, locale: str) -> None:
    page = translated(open_page(locale=locale))
    assert page.get_attribute("html", "lang") == locale[:2]
    assert all(mark in page.inner_text("main.panel") for mark in MARKS[locale])
    assert [word.inner_text() for word in page.query_selector_all(TARGET_WORD)] == words_said(server)
    best = answer(server, "models/transformer/head-alignment")["heads"][0]
    reading = {name: "mean" if best[name] is None else best[name] for name in ("layer", "head")}
    page.hover(f"{TARGET_WORD} >> nth=2")
    result = alignment(server, **reading, at=best["at"])
    row = dict(zip(result["source_words"], result["weights"][2], strict=True))
    shown = detail(page)
    assert {word: f"{row[word]:.3f}" for word in row} == {word: f"{shown[word]:.3f}" for word in row}
    strongest = max(row, key=lambda word: row[word])
    assert settled(page, lambda: darkest(page), strongest) == strongest  # on light paper; colours take a while


def darkest(page: Any) -> str:
    lit: dict[str, int] = {word.inner_text(): lightness(word) for word in page.query_selector_all(SOURCE_WORD)}
    return min(lit, key=lambda word: lit[word])


def lightness(word: Any) -> int:
    colour = word.evaluate("word => getComputedStyle(word).backgroundColor")
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def test_attention_of_a_word_sums_to_one(open_page: Open) -> None:
    page = translated(open_page(locale="ko-KR"), "one red cat sees two big dog")
    for reading in ("mean", "0"):
        page.locator(".reading select").first.select_option(reading)
        page.wait_for_function("() => !document.querySelector('.is-busy')")
        page.hover(f"{TARGET_WORD} >> nth=1")
        shown = detail(page)
        assert list(shown)[-2:] == ["</s>", "나머지"]
        assert sum(shown.values()) == pytest.approx(1, abs=0.005)


def test_words_work_by_keyboard_and_screen_reader(open_page: Open, server: str) -> None:
    page = translated(open_page())
    second = words_said(server)[1]
    page.focus(f"{TARGET_WORD} >> nth=0")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.innerText") == second
    assert "is-active" in page.evaluate("document.activeElement.className")
    assert page.inner_text("[aria-live=polite].only-heard").startswith(second)
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.innerText") == SENTENCE.split()[1]
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.get_attribute(f"{SOURCE_WORD} >> nth=3", "aria-pressed") == "true"
    in_order = page.evaluate("[...document.querySelectorAll('.word-row-source .word')].map(word => word.tabIndex)")
    assert in_order == [-1, -1, -1, 0]


def test_arrow_keys_walk_the_map_of_the_server(open_page: Open, server: str) -> None:
    page = translated(open_page())
    for field, value in enumerate(("1", "0")):  # layer, head
        page.locator(".reading select").nth(field).select_option(value)
    page.wait_for_function("() => !document.querySelector('.is-busy')")
    page.focus(".map-area")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    result = alignment(server, layer=1, head=0, at="output")
    row, column, value = words_said(server)[1], SENTENCE.split()[1], result["weights"][1][1]
    assert page.inner_text(".map-readout") == f"{row} → {column} {value:.3f}"


def test_attention_at_output_and_input_are_two_maps(open_page: Open, server: str) -> None:
    page = translated(open_page())
    for at in ("input", "output"):
        page.click(f".reading .segments button >> text={at}")
        page.wait_for_function("() => !document.querySelector('.is-busy')")
        layer, head = (field.input_value() for field in page.query_selector_all(".reading select"))
        page.hover(f"{TARGET_WORD} >> nth=1")
        row = alignment(server, layer=layer, head=head, at=at)["weights"][1]
        shown = detail(page)
        assert [f"{weight:.3f}" for weight in row] == [f"{shown[word]:.3f}" for word in SENTENCE.split()]


def test_other_outputs_are_ordered_by_score_and_inspectable(open_page: Open) -> None:
    page = translated(open_page())
    outputs = page.query_selector_all(".output")
    scores = [float(output.query_selector(".number").inner_text()) for output in outputs]
    assert len(outputs) == 5
    assert scores == sorted(scores, reverse=True)
    second = outputs[1].query_selector(".output-text").inner_text()
    outputs[1].click()
    page.wait_for_function(
        "text => document.querySelector('.word-row-target').innerText.split(/\\s+/).join(' ') === text", arg=second
    )
    assert page.get_attribute(".output >> nth=1", "aria-pressed") == "true"


@pytest.mark.parametrize("view", ["translate", "heads"])
def test_without_links_validation_sentences_are_offered(browser: Any, corpus: Path, tmp_path: Path, view: str) -> None:
    events = [json.loads(line) for line in (corpus / "runs" / "transformer" / "events.jsonl").read_text().splitlines()]
    validation = [event for event in events if event["event"] == "validation"][-1]
    sources = sorted((source for source, _, _ in validation["samples"]), key=len)
    for address in serving(tmp_path / "serve.log", corpus / "runs" / "transformer"):
        page = browser.new_page(locale="en-US")
        page.goto(f"{address}#{view}")
        page.wait_for_selector(".chips button")
        assert [chip.inner_text() for chip in page.query_selector_all(".chips button")] == sources[:5]
        assert page.input_value("#source-text") == sources[0]
        page.close()


def test_gold_links_are_outlined_for_the_reference_output(open_page: Open, server: str) -> None:
    example = answer(server, "examples?source=en&target=ko")["examples"][0]
    page = open_page()
    page.wait_for_selector(".outputs li")
    page.check(".reference input")
    page.wait_for_selector(".gold-key")
    words = [word.inner_text() for word in page.query_selector_all(TARGET_WORD)]
    assert words == example["target"].split()
    assert len(page.query_selector_all(".map-drawing rect[stroke-width='2.5']")) == len(example["links"])


def test_model_without_attention_shows_no_map(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".outputs li")
    page.select_option(".model-picker", "fixed")
    page.wait_for_selector(".nothing")
    assert "one vector" in page.inner_text(".nothing")
    assert not page.query_selector(".map-area")


def test_maps_are_saved_as_svg_and_png(open_page: Open, tmp_path: Path) -> None:
    page = translated(open_page())
    for place in (".translate-result > .card:first-child", ".map"):
        for kind in ("SVG", "PNG"):
            with page.expect_download() as download:
                page.click(f"{place} .saving >> text={kind}")
            path = tmp_path / download.value.suggested_filename
            download.value.save_as(path)
            assert path.suffix == f".{kind.lower()}"
            content = path.read_bytes()
            if kind == "SVG":
                words = "".join(ElementTree.fromstring(content).itertext())  # noqa: S314  (our own file)
                assert all(word in words for word in SENTENCE.split())
            else:
                assert content.startswith(b"\x89PNG")


def test_theme_and_language_persist(open_page: Open) -> None:
    page = translated(open_page())
    assert page.get_attribute(".regard", "data-theme") == "light"
    page.click("button.theme")
    page.click("button.theme")
    page.click("button[lang=ko]")
    page.reload()
    page.wait_for_selector(".outputs li")
    assert page.get_attribute(".regard", "data-theme") == "dark"
    assert page.get_attribute("html", "lang") == "ko"


def test_a_narrow_screen_needs_no_scrolling_sideways(open_page: Open) -> None:
    page = translated(open_page(viewport={"width": 360, "height": 740}))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_evicted_trace_is_requested_again(browser: Any, server: str) -> None:
    context = browser.new_context(locale="en-US")
    watched = Watched.of(context.new_page())
    first: list[str] = []  # the id of the trace that the server has forgotten

    def lose_first(route: Any) -> None:
        trace = route.request.url.split("/traces/")[1].split("/")[0]
        first[:] = first or [trace]
        if trace == first[0]:
            route.fulfill(status=404, json={"error": {"code": "trace_gone", "message": "gone"}})
        else:
            route.continue_()

    watched.page.route("**/alignment?*", lose_first)
    watched.page.goto(f"{server}#translate")
    watched.page.wait_for_selector(".map-area")
    assert len(first) == 1
    assert len([url for url in watched.requests if url.endswith("/traces")]) == 2
    context.close()


RIBBONS = """() => {
    const top = document.querySelector('.words').getBoundingClientRect().top;
    const [above, below] = ['source', 'target'].map((side) => document.querySelector(`.word-row-${side}`).getBoundingClientRect());
    const ends = [...document.querySelectorAll('.ribbons path')].flatMap((path) => {
        const length = path.getTotalLength();
        return [0, length].map((at) => path.getPointAtLength(at).y + top);
    });
    const ties = [...document.querySelectorAll('.words .word')].map((word) => word.style.boxShadow.match(/rgb[^)]*\\)/)?.[0]).filter(Boolean);
    const dots = [...document.querySelectorAll('.ribbons circle')].map((dot) => getComputedStyle(dot).fill);
    return {ends, ties, dots, gap: [above.bottom, below.top]};
}"""  # noqa: E501


def test_ribbons_of_wrapped_sentences_stay_between_rows(open_page: Open) -> None:
    text = "one red cat runs two big dog sees one big cat"
    page = translated(open_page(viewport={"width": 360, "height": 900}), text)
    page.mouse.move(1, 1)
    assert page.evaluate(RIBBONS)["ends"] == []  # idle links could not be followed to their words
    tied = 0
    for word in page.query_selector_all(f"{SOURCE_WORD}, {TARGET_WORD}"):
        word.hover()
        result = page.evaluate(RIBBONS)
        low, high = result["gap"]
        assert all(low - 1 <= end <= high + 1 for end in result["ends"])
        assert set(result["ties"]) <= set(result["dots"])  # a word's line has the colour of its ribbon
        tied += len(result["ties"])
    assert tied > 0


@pytest.mark.parametrize(("locale", "name"), [("en-US", "English"), ("ko-KR", "영어")])
def test_text_box_names_the_source_language(open_page: Open, locale: str, name: str) -> None:
    page = open_page(locale=locale)
    page.wait_for_selector(".outputs li")
    assert name in page.inner_text("label[for=source-text]")
    assert name in page.get_attribute("#source-text", "placeholder")


def test_words_that_the_model_never_learned_are_named(open_page: Open) -> None:
    page = open_page(locale="ko-KR")
    page.wait_for_selector(".outputs li")
    assert page.inner_text(".unlearned") == ""
    page.fill("#source-text", "one zebra runs 가")
    page.keyboard.press("Enter")
    page.wait_for_selector(".unlearned:not(:empty)")
    assert page.inner_text(".unlearned").startswith("이 모델의 토크나이저에는 ‘zebra’, ‘가’가 없어요.")
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".unlearned:empty", state="attached")


def test_focus_follows_to_the_arithmetic_of_a_word(open_page: Open) -> None:
    page = translated(open_page())
    page.click(f"{TARGET_WORD} >> nth=1")
    page.focus(".word-detail .link")
    page.keyboard.press("Enter")
    page.wait_for_selector(".views a[href^='#inside'][aria-current]")
    assert page.evaluate("document.activeElement.className") == "panel"


def test_without_captioner_the_readme_commands_are_shown(open_page: Open) -> None:
    shown = open_page("pictures").inner_text(".command").splitlines()
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert len(shown) == 2
    assert all(f".venv/bin/{line}\n" in readme for line in shown)


def test_the_map_is_above_the_fold(open_page: Open) -> None:
    page = open_page(viewport={"width": 1440, "height": 800})
    chart = page.locator(".map-area svg")
    chart.wait_for()
    box = chart.bounding_box()
    assert box["y"] + box["height"] / 2 < 800


@pytest.mark.parametrize("locale", ["en-US", "ko-KR"])
def test_the_header_is_one_row(open_page: Open, locale: str) -> None:
    page = open_page(locale=locale, viewport={"width": 1280, "height": 800})
    page.locator(".tabs a").first.wait_for()
    assert page.locator(".top").bounding_box()["height"] < 70


def test_print_leaves_out_the_controls(open_page: Open) -> None:
    page = translated(open_page())
    page.emulate_media(media="print")
    for part in (".tabs", ".choices", ".composer button", ".chart-tools", ".what-if"):
        expect(page.locator(part).first).to_be_hidden()
    for part in (".map-area svg", ".reading [aria-pressed=true]"):  # what is chosen belongs to the map
        expect(page.locator(part).first).to_be_visible()
    expect(page.locator(".reading [aria-pressed=false]").first).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.regard')).backgroundColor") == "rgb(255, 255, 255)"


def test_presentation_hides_the_frame_and_is_linked(open_page: Open) -> None:
    page = translated(open_page())
    size = page.locator(".word").first.bounding_box()["height"]
    page.get_by_role("button", name="Presentation mode").click()
    expect(page.locator(".top")).to_have_count(0)
    assert page.locator(".word").first.bounding_box()["height"] > 1.1 * size
    page.wait_for_url(re.compile("present=1"))
    linked = open_page(page.url.split("#")[1])
    expect(linked.get_by_role("button", name="End presentation")).to_be_visible()
    page.get_by_role("button", name="End presentation").click()
    expect(page.locator(".top")).to_be_visible()

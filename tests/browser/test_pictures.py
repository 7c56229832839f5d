"""The Pictures view in a real browser: a picture given, the words with their maps, boxes, heads, and the arithmetic."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import Watched
from tests.browser.test_axe import problems
from tests.support.browser import settled
from tests.support.captioning_server import CaptioningServer, captioning_server, make_captioners
from tests.support.commands import run_command
from tests.support.shared_results import build_once


@pytest.fixture(scope="module")
def captioners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptioningServer]:
    directory, _ = build_once(tmp_path_factory, "captioners", make_captioners)
    with captioning_server(directory) as shown:
        yield shown


@pytest.fixture
def page(browser: Any, captioners: CaptioningServer) -> Iterator[Any]:
    """The view, without motion; nothing may be complained of, or asked of others."""
    context = browser.new_context(locale="en-US", viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    watched = Watched.of(context.new_page())
    watched.page.set_default_timeout(60_000)
    watched.page.goto(f"{captioners.url}#pictures")
    watched.page.locator("section.step").first.wait_for()  # all of the first picture is there
    yield watched.page
    context.close()
    unexpected = [problem for problem in watched.problems if "status of 415" not in problem]  # of a refused file
    assert unexpected == []
    assert [url for url in watched.requests if not url.startswith((captioners.url, "blob:", "data:"))] == []


def words_shown(page: Any) -> list[str]:
    return list(page.locator(".region-word b").all_inner_texts())


def test_first_example_shows_caption_and_pointing_result(page: Any) -> None:
    page.locator(".region-word").nth(1).wait_for()
    page.wait_for_function("() => document.querySelector('.caption-text').textContent.split(' ').length > 1")
    assert page.locator(".caption-text").inner_text().split() == words_shown(page)
    first, second = (page.locator(".region-word").nth(index) for index in (0, 1))
    assert "attends to what it refers to" in first.text_content()
    assert "attends elsewhere" in second.text_content()
    assert page.get_by_text("for 1 of 2 words").is_visible()


def test_words_are_shown_while_streaming(page: Any, captioners: CaptioningServer) -> None:
    """The stream is held back after its second word: by then those words stand there with their maps."""
    content = captioners.image(1).read_bytes()
    address = f"{captioners.url}api/v1/captions/stream?model=heads"
    whole = httpx.post(address, content=content, timeout=60).text
    blocks = [f"{block}\n\n" for block in whole.split("\n\n") if block]
    held = blocks[: 1 + 2]  # the picture as it was seen, and two words
    output = json.loads(held[-1].split("data: ")[1])
    page.evaluate(
        """blocks => {
          const answered = window.fetch;
          window.fetch = (address, request) => {
            if (!String(address).includes("captions/stream")) return answered(address, request);
            const encoder = new TextEncoder();
            const send = (sender) => blocks.forEach((block) => sender.enqueue(encoder.encode(block)));
            const body = new ReadableStream({ start: send }); // never closed
            return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
          };
        }""",
        held,
    )
    page.set_input_files(".picture-file", str(captioners.image(1)))
    page.wait_for_function("text => document.querySelector('.caption-text')?.textContent === text", arg=output["text"])
    assert words_shown(page) == [word["text"] for word in output["words"]]
    assert page.locator(".region-word").first.locator("svg").count() == 2
    assert page.locator("button.region-word").count() == 0  # nothing can be looked into yet


def test_uploaded_image_is_captioned(page: Any, captioners: CaptioningServer) -> None:
    content = captioners.image(2).read_bytes()
    answer = httpx.post(f"{captioners.url}api/v1/captions?model=heads", content=content, timeout=60).json()
    page.set_input_files(".picture-file", str(captioners.image(2)))
    page.wait_for_function("text => document.querySelector('.caption-text')?.textContent === text", arg=answer["text"])
    page.locator("button.region-word").first.wait_for()  # all words, and not only the last one generated
    assert words_shown(page) == answer["target"]["words"][1:]
    assert page.locator(".picture-seen").get_attribute("src") == answer["image"]
    assert page.locator(".region-word").first.locator("svg").count() == 2


def dropped(page: Any, where: str, content: bytes) -> bool:
    """Drop a picture somewhere; whether the browser would leave the page for it."""
    found: bool = page.evaluate(
        """([where, bytes]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], "a.png", { type: "image/png" }));
          const options = { dataTransfer: data, bubbles: true, cancelable: true };
          const send = (type) => document.querySelector(where).dispatchEvent(new DragEvent(type, options));
          return ["dragover", "drop"].some(send);
        }""",
        [where, list(content)],
    )
    return found


@pytest.mark.parametrize("where", [".picture-drop", ".lead", "header"])
def test_image_dropped_anywhere_is_captioned(page: Any, captioners: CaptioningServer, where: str) -> None:
    with page.expect_response(lambda response: "captions/stream" in response.url) as answered:
        assert not dropped(page, where, captioners.image(1).read_bytes())
    assert answered.value.ok
    assert "is-over" not in page.locator(".picture-drop").get_attribute("class")


def test_other_views_ignore_a_dropped_file(page: Any, captioners: CaptioningServer) -> None:
    page.locator(".views a[href^='#positions']").click()
    assert dropped(page, "header", captioners.image(1).read_bytes())


def test_the_same_file_can_be_chosen_again(page: Any, captioners: CaptioningServer) -> None:
    for _ in range(2):
        with page.expect_file_chooser() as chooser:
            page.locator(".picture-file").click()
        assert page.evaluate("document.querySelector('.picture-file').value") == ""  # so choosing it is a change
        with page.expect_response(lambda response: "captions/stream" in response.url) as answered:
            chooser.value.set_files(str(captioners.image(1)))
        assert answered.value.ok


def test_small_file_with_many_pixels_is_downscaled(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    Image.new("1", (6000, 5000), 1).save(path)
    assert path.stat().st_size < 4_000_000
    with page.expect_response(lambda response: "captions/stream" in response.url) as answered:
        page.set_input_files(".picture-file", str(path))
    assert answered.value.ok
    assert answered.value.request.headers["content-type"] == "image/jpeg"


def pressed(page: Any) -> list[bool]:
    result = page.locator(".picture-example").evaluate_all("all => all.map((one) => one.getAttribute('aria-pressed'))")
    return [one == "true" for one in result]


def test_another_model_starts_with_its_own_first_example(page: Any) -> None:
    assert pressed(page) == [True, False, False]
    with page.expect_request(lambda request: "captions/stream" in request.url) as asked:
        page.locator(".picture-example").nth(1).click()
    assert "example=1" in asked.value.url
    assert pressed(page) == [False, True, False]
    with page.expect_request(lambda request: "captions/stream" in request.url) as asked:
        page.locator(".model-picker").select_option("attention")
    assert "model=attention&example=0" in asked.value.url
    assert pressed(page) == [True, False, False]


def test_own_image_survives_model_and_view_changes(page: Any, captioners: CaptioningServer) -> None:
    def wait_for(model: str) -> None:
        content = captioners.image(2).read_bytes()
        result = httpx.post(f"{captioners.url}api/v1/captions?model={model}", content=content, timeout=60).json()
        seen = """([model, picture, text]) => document.querySelector(`.picture-seen[alt*="${model}"]`)?.src === picture
          && document.querySelector(".caption-text").textContent === text"""
        page.wait_for_function(seen, arg=[model, result["image"], result["text"]])

    page.set_input_files(".picture-file", str(captioners.image(2)))
    wait_for("heads")
    assert pressed(page) == [False, False, False]
    page.locator(".model-picker").select_option("attention")
    wait_for("attention")
    page.locator(".views a[href^='#positions']").click()
    page.locator(".views a[href^='#pictures']").click()
    wait_for("attention")
    assert pressed(page) == [False, False, False]


def test_the_arithmetic_turns_dark_with_the_page(page: Any) -> None:
    is_bar = "colour => document.querySelector('.weight-bars rect')?.getAttribute('fill') === colour"
    page.wait_for_function(is_bar, arg="#0060a8")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(is_bar, arg="#62b4f0")


def test_focus_stays_on_the_chosen_key(page: Any) -> None:
    key = page.locator(".key-button[aria-pressed=false]").first
    name = key.get_attribute("data-key")
    key.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.key") == name
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_focus_stays_on_the_chosen_head(page: Any) -> None:
    head = page.locator("label.field", has_text="Head").locator("select")
    head.focus()
    with page.expect_response(lambda response: "arithmetic" in response.url):
        head.select_option("1")
    assert page.evaluate("document.activeElement.value") == "1"


@pytest.mark.parametrize("model", ["heads", "attention"])
def test_arithmetic_refers_to_the_image(page: Any, model: str) -> None:
    page.locator(".model-picker").select_option(model)
    page.get_by_text("what it takes from the image").wait_for()
    result = page.locator(".steps").inner_text()
    assert "region of the image" in result
    assert not re.search("source token|from the other words|Each token", result)


def test_a_narrow_page_does_not_scroll_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
    edges = """parts => parts.map((part) => document.querySelector(part).getBoundingClientRect())
      .map(({ left, right }) => [left, right])"""
    field, *inside = page.evaluate(edges, [f".picture-drop{part}" for part in ("", " span", " input")])
    assert all(field[0] <= left and right <= field[1] for left, right in inside)


def test_another_head_shows_other_maps_shaded_by_weight(page: Any) -> None:
    def darkness() -> list[float]:
        cells = page.locator(".region-word").first.locator("svg").first.locator("rect[fill-opacity]")
        return [float(cell) for cell in cells.evaluate_all("cells => cells.map(c => c.getAttribute('fill-opacity'))")]

    before = darkness()
    with page.expect_response(lambda response: "head=1" in response.url and "weights" in response.url) as answered:
        page.locator("label.field", has_text="Head").locator("select").select_option("1")
    weights = np.frombuffer(answered.value.body(), "<f4").reshape(-1, 64)[0]
    wanted = pytest.approx(0.8 * (1 - weights / weights.max()), abs=2e-3)
    assert settled(page, darkness, wanted) == wanted
    assert darkness() != before


def test_choosing_a_word_shows_its_arithmetic(page: Any) -> None:
    with page.expect_response(lambda response: "arithmetic" in response.url) as answered:
        page.locator(".region-word").nth(1).click()
    arithmetic = answered.value.json()
    assert arithmetic["query_index"] == 1
    word = words_shown(page)[1]
    assert page.get_by_role("heading", name=f"The arithmetic behind “{word}”").is_visible()
    assert page.locator(".region-word").nth(1).get_attribute("aria-pressed") == "true"
    assert page.locator("section.step").count() >= 4


def test_model_without_attention_explains_it(page: Any) -> None:
    page.locator(".model-picker").select_option("fixed")
    page.get_by_text("fixed has no attention").wait_for()
    assert page.locator(".region-word").count() == 0
    assert page.locator(".caption-text").inner_text()


def test_file_that_is_not_an_image_is_explained(page: Any) -> None:
    page.set_input_files(".picture-file", {"name": "a.png", "mimeType": "image/png", "buffer": b"not a picture"})
    page.get_by_role("alert").filter(has_text="cannot be read as an image").wait_for()


def test_captions_are_available_in_korean(browser: Any, captioners: CaptioningServer) -> None:
    context = browser.new_context(locale="ko-KR", reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{captioners.url}#pictures")
    page.get_by_role("heading", name="단어를 쓸 때 이미지의 어디를 볼까요?").wait_for()
    page.locator(".region-word").first.wait_for()
    context.close()


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en-US"), ("dark", "ko-KR")])
@pytest.mark.parametrize("model", ["heads", "fixed"])
def test_captions_view_passes_axe(
    browser: Any, captioners: CaptioningServer, axe: str, scheme: str, locale: str, model: str
) -> None:
    context = browser.new_context(locale=locale, color_scheme=scheme, viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.goto(f"{captioners.url}#pictures")
    page.locator("section.step").first.wait_for()
    page.locator(".model-picker").select_option(model)
    page.locator(".explain" if model == "fixed" else "section.step").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate(axe)
    assert problems(page) == []
    context.close()


def test_image_file_works_from_disk_without_network(browser: Any, captioners: CaptioningServer, tmp_path: Path) -> None:
    pictures = [captioners.image(0), captioners.image(1)]
    shown = run_command("show", captioners.folder / "heads" / "model", *pictures, "--out", tmp_path / "a.html")
    assert shown.code == 0, shown.err
    context = browser.new_context(locale="en-US", offline=True, reduced_motion="reduce")
    watched = Watched.of(context.new_page())
    page = watched.page
    page.goto((tmp_path / "a.html").as_uri())
    page.locator("section.step").first.wait_for()
    output = [
        httpx.post(f"{captioners.url}api/v1/captions?model=heads", content=one.read_bytes(), timeout=60).json()
        for one in pictures
    ]
    assert page.locator(".caption-text").inner_text() == output[0]["text"]
    assert page.locator(".picture-file").count() == 0
    page.locator(".picture-example").nth(1).click()
    page.wait_for_function("text => document.querySelector('.picture-seen').src === text", arg=output[1]["image"])
    page.locator("label.field", has_text="Head").locator("select").select_option("1")
    page.locator("label.field", has_text="Layer").locator("select").select_option(
        str(page.evaluate("() => document.querySelector('label.field select').options[0].value"))
    )
    page.locator(".region-word").nth(1).click()
    page.get_by_role("heading", name=f"The arithmetic behind “{words_shown(page)[1]}”").wait_for()
    assert watched.problems == []
    assert [url for url in watched.requests if not url.startswith(("file:", "blob:", "data:"))] == []
    context.close()


def test_heads_of_a_captioner_follow_the_image(page: Any) -> None:
    page.click(".views a[href^='#heads']")
    page.locator(".head-thumb").first.wait_for()
    assert not page.locator(".composer").is_visible()
    for name in ("Decoder to image", "Decoder, self (masked)"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(f".heads-body h2:has-text('{name}')").wait_for()
        assert page.locator(".head-thumb").count() == 2 * (3 + 1)  # of two layers, each head and the mean
    with page.expect_response(re.compile("captions/stream.*example=1")):
        page.locator(".picture-example").nth(1).click()
    page.locator(".head-thumb").first.wait_for()
    page.select_option(".model-picker", "fixed")
    page.get_by_text("it encodes the whole image as one vector").wait_for()

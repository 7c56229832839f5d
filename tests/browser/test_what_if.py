"""What if: changes by mouse and keyboard in every view, the output before and after, and what the address holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, SENTENCE
from tests.support.browser import answer
from tests.support.commands import run_command
from tests.support.small_language import turns

WORDS = {
    "en-US": {"open": "Try a change", "undo": "Undo", "clear": "Clear all", "off": "layer 1, head 2 is off"},
    "ko-KR": {"open": "바꿔 보기", "undo": "되돌리기", "clear": "모두 지우기", "off": "1층, 헤드 2 끔"},
}
HEAD = "cross.1.2=zero"
OUTPUTS = ".what-if-output .growing"
TRANSLATE = {"model": "transformer", "text": SENTENCE}
each_language = pytest.mark.parametrize("page", WORDS, indirect=True)


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that may complain of nothing."""
    locale = getattr(request, "param", "en-US")
    context = browser.new_context(locale=locale, viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE * 1000)
    opened.words = WORDS[locale]
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda line: line.type in ("error", "warning") and complaints.append(line.text))
    yield opened
    context.close()
    assert [line for line in complaints if "400 (Bad Request)" not in line] == []  # what one test asks for


def changes(page: Any) -> list[str]:
    """The interventions in the address."""
    query = page.evaluate("location.hash.split('?')[1] ?? ''")
    return parse_qs(query).get("changes", [""])[0].split("\n")


def wait_for_changes(page: Any, *expected: str) -> None:
    script = "text => (new URLSearchParams(location.hash.split('?')[1]).get('changes') ?? '') === text"
    page.wait_for_function(script, arg="\n".join(expected))


def head(page: Any) -> Any:
    """The button of the second head of the first cross-attention."""
    return (
        page.locator(".head-board", has_text="→" if page.words is WORDS["ko-KR"] else "Decoder to encoder")
        .locator("tbody tr:first-child button")
        .nth(1)
    )


def translated(server: str, *interventions: str) -> str:
    """The translation of the changed model, by the API alone."""
    text: str = answer(server, "traces", {**TRANSLATE, "interventions": list(interventions)})["text"]
    return text


def expect_outputs(page: Any, before: str, after: str) -> None:
    expect(page.locator(OUTPUTS)).to_have_text([before or "∅", after or "∅"])


@each_language
def test_a_head_is_disabled_by_mouse(page: Any, everything: str) -> None:
    page.goto(f"{everything}#translate?{urlencode(TRANSLATE)}")
    page.get_by_role("button", name=page.words["open"]).click()
    head(page).click()
    wait_for_changes(page, HEAD)
    expect_outputs(page, translated(everything), translated(everything, HEAD))
    expect(page.locator(".changes li span")).to_contain_text(page.words["off"])
    expect(head(page)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name=page.words["undo"]).click()
    wait_for_changes(page, "")
    page.go_back()
    wait_for_changes(page, HEAD)
    page.get_by_role("button", name=page.words["clear"]).click()
    wait_for_changes(page, "")
    expect_outputs(page, translated(everything), translated(everything))


@each_language
def test_a_head_is_disabled_by_keyboard(page: Any, everything: str) -> None:
    page.goto(f"{everything}#translate?{urlencode(TRANSLATE)}")
    page.get_by_role("button", name=page.words["open"]).press("Enter")
    head(page).wait_for()
    page.locator(".head-board").last.locator("button").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    wait_for_changes(page, HEAD)
    expect_outputs(page, translated(everything), translated(everything, HEAD))
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    expect(page.locator("[aria-live=polite].only-heard")).to_contain_text(translated(everything, HEAD))


def test_next_token_is_shown_before_and_after(page: Any, everything: str) -> None:
    query = {**TRANSLATE, "changes": HEAD, "predict": "1"}
    page.goto(f"{everything}#translate?{urlencode(query)}")
    before = answer(everything, "traces", TRANSLATE)
    after = answer(everything, "traces", {**TRANSLATE, "target": before["text"], "interventions": [HEAD]})
    rows = page.locator(".prediction-bars tbody tr")
    expect(page.locator(".prediction-bars thead th")).to_have_count(3)  # the column comes with its numbers
    shown = {
        row[0].rstrip(" ◀"): row[1:]
        for row in rows.evaluate_all(
            "rows => rows.map((row) => [row.querySelector('th').textContent, "
            "...[...row.querySelectorAll('.number')].map((number) => number.textContent)])"
        )
    }
    for when, trace in enumerate((before, after)):
        most = answer(everything, f"traces/{trace['id']}/predictions")["positions"][1][0]
        assert shown[most["piece"]][when] == f"{most['probability']:.3f}"


def test_head_importance_is_the_servers(page: Any, everything: str) -> None:
    page.goto(f"{everything}#translate?{urlencode({**TRANSLATE, 'what_if': '1', 'needs': '1', 'predict': '2'})}")
    trace = answer(everything, "traces", TRANSLATE)
    layers = answer(everything, f"traces/{trace['id']}/head-importance?position=2")["layers"]
    expected = {(layer["role"], layer["layer"]): layer["changes"] for layer in layers}
    shown = page.locator(".head-board").last.locator("tbody tr")
    expect(shown.first.locator("button").first).not_to_contain_text("●")
    for number in range(shown.count()):
        texts = shown.nth(number).locator("button").all_inner_texts()
        values = [float(text.split()[-1].replace("−", "-")) for text in texts]
        assert values == pytest.approx(expected["cross", number], abs=0.006)


def test_a_struck_word_is_hidden(page: Any, everything: str) -> None:
    page.goto(f"{everything}#inside?{urlencode({**TRANSLATE, 'mode': 'own', 'what_if': '1'})}")
    page.locator(".word-switches button").nth(1).press("Enter")
    wait_for_changes(page, "hide.source.2")
    expect(page.locator(".word-switches del")).to_have_text(SENTENCE.split()[1])
    expect_outputs(page, translated(everything), translated(everything, "hide.source.2"))


def test_parts_of_the_model_are_switched_off(page: Any, everything: str) -> None:
    page.goto(f"{everything}#heads?{urlencode({**TRANSLATE, 'what_if': '1'})}")
    for part in ("scaling", "positions", "residual"):
        page.locator(f"input[name={part}]").check()
    wait_for_changes(page, "without.scaling", "without.positions", "without.residual")
    expect_outputs(page, translated(everything), translated(everything, *changes(page)))


def test_a_weight_is_set_by_keyboard(page: Any, everything: str) -> None:
    page.goto(f"{everything}#heads?{urlencode({**TRANSLATE, 'what_if': '1', 'map': '3/0'})}")
    area = page.locator(".map-area").first
    area.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        area.press(key)
    slider = page.locator(".weight-editor input")
    expect(slider).to_be_focused()
    slider.press("End")
    wait_for_changes(page, "cross.1.1@2>2")
    expect(page.locator(".map-readout").first).to_contain_text("1.000")


def test_a_weight_is_dragged_by_mouse(page: Any, everything: str) -> None:
    page.goto(f"{everything}#heads?{urlencode({**TRANSLATE, 'what_if': '1', 'map': '3/0'})}")
    cell = page.locator(".map-drawing rect").first
    cell.wait_for()
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=6)
    page.mouse.move(x, y + 200, steps=6)
    page.mouse.up()
    wait_for_changes(page, "cross.1.1@1:1=0")
    expect(page.locator(".weight-editor .slider .number")).to_have_text("0.00")


def test_a_word_attends_only_to_another(page: Any, everything: str) -> None:
    page.goto(
        f"{everything}#translate?{urlencode({**TRANSLATE, 'what_if': '1', 'align': 'mean.mean.output', 'cell': '1.2'})}"
    )
    page.get_by_role("button", name="Attend only to it").click()
    wait_for_changes(page, "cross.*.*@2>3")
    expect_outputs(page, translated(everything), translated(everything, "cross.*.*@2>3"))


@pytest.mark.parametrize("model", ["writer", "reader"])
def test_language_models_are_changed(page: Any, everything: str, model: str) -> None:
    text = turns(0, 3) if model == "writer" else f"{turns(0, 2)} ___ {turns(3, 1)}"
    page.goto(f"{everything}#language?{urlencode({'model': model, 'text': text, 'what_if': '1'})}")
    page.locator("input[name=residual]").check()
    wait_for_changes(page, "without.residual")

    def output(interventions: list[str]) -> str:
        body = {"model": model, "text": text, "interventions": interventions}
        if model == "reader":
            return str(answer(everything, "fill", body)["text"])
        return str(answer(everything, "complete", {**body, "beam_size": 1})["continuations"][0]["text"])

    expect_outputs(page, output([]), output(["without.residual"]))


def test_a_region_of_an_image_is_hidden(page: Any, everything: str) -> None:
    page.goto(f"{everything}#pictures?{urlencode({'model': 'heads', 'image': '1', 'what_if': '1'})}")
    area = page.locator(".region-switches .map-area")
    area.focus()
    area.press("ArrowRight")
    area.press("Enter")
    wait_for_changes(page, "hide.image.2")
    captions = [
        answer(everything, f"captions?{urlencode({'model': 'heads', 'example': 1, **changed})}", {})["text"]
        for changed in ({}, {"interventions": "hide.image.2"})
    ]
    expect_outputs(page, *captions)
    expect(page.locator(".caption-text")).to_have_text(captions[1])


def test_a_change_that_does_not_fit_is_explained(page: Any, everything: str) -> None:
    page.goto(f"{everything}#translate?{urlencode({**TRANSLATE, 'changes': 'cross.9.1=zero'})}")
    expect(page.locator(".what-if .problem")).to_contain_text("does not fit this model or this text")
    page.get_by_role("button", name="Clear all").click()
    expect_outputs(page, translated(everything), translated(everything))


@each_language
def test_a_file_shows_the_recorded_experiment(page: Any, corpus: Path, everything: str, tmp_path: Path) -> None:
    model = corpus / "runs" / "transformer" / "model"
    ended = run_command("show", model, SENTENCE, "--ablate", "1.2", "--out", tmp_path / "a.html")
    assert ended.code == 0, ended.err
    page.context.set_offline(True)
    page.goto((tmp_path / "a.html").as_uri())
    expect_outputs(page, translated(everything), translated(everything, HEAD))
    expect(page.locator(".changes li")).to_contain_text(page.words["off"])
    assert page.locator(".what-if button").count() == 0

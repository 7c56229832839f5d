"""Compare: the generations on one sentence, side by side, and their quality against length."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SENTENCE, Open
from tests.support.browser import answer, translation

ORDER = ["fixed", "attending", "general", "transformer", "rotary"]


def compared(page: Any) -> Any:
    """The page when every model has answered."""
    expect(page.locator(".compare-card .figures")).to_have_count(len(ORDER))
    return page


def card(page: Any, model: str) -> Any:
    return page.locator(f"[data-model={model}]")


def test_models_translate_side_by_side_in_lineage_order(open_page: Open, server: str) -> None:
    page = open_page("compare")
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    expect(card(page, "transformer").locator(".translation")).to_have_text(translation(server, SENTENCE))
    compared(page)
    assert page.locator(".compare-card").evaluate_all("cards => cards.map((card) => card.dataset.model)") == ORDER
    expect(card(page, "fixed")).to_contain_text("this model has no attention")
    expect(card(page, "fixed").locator(".map")).to_have_count(0)
    expect(card(page, "fixed")).to_contain_text("Generation 1")
    expect(card(page, "transformer").locator(".map")).to_be_visible()
    expect(card(page, "transformer").locator(".figures")).to_contain_text(re.compile(r"time\s*[\d,]+ ms"))


def test_the_sentence_is_shared_with_the_other_views(open_page: Open, server: str) -> None:
    page = open_page("compare")
    page.fill("#source-text", "two big dog")
    page.keyboard.press("Enter")
    expect(card(page, "transformer").locator(".translation")).to_have_text(translation(server, "two big dog"))
    page.click(".views a[href^='#heads']")
    expect(page.locator("#source-text")).to_have_value("two big dog")


def test_a_length_opens_its_sentences_by_keyboard(open_page: Open, server: str) -> None:
    page = open_page("compare")
    plot = page.get_by_role("group", name="Quality against length")
    plot.press("End")
    plot.press("Enter")
    lengths = answer(server, "evaluation")["models"][0]["lengths"]
    sentences = answer(server, f"evaluation/{len(lengths) - 1}")["sentences"]
    shown = page.locator(".bucket-sentence")
    expect(shown).to_have_count(len(sentences))
    for index, sentence in enumerate(sentences):
        expect(shown.nth(index)).to_contain_text(sentence["source"])
        for model, output in sentence["outputs"].items():
            found = shown.nth(index).locator(f"dt:text-is('{model}') + dd")
            expect(found).to_contain_text(output)
            expect(found.locator(".same")).to_have_count(int(output == sentence["reference"]))
            expect(found.locator("mark")).to_have_count(marked(output, sentence["reference"]))


def test_clicking_a_length_opens_its_sentences(open_page: Open) -> None:
    page = open_page("compare")
    chips = page.get_by_role("group", name="Sentences of")
    chips.get_by_role("button").first.click()
    expect(chips.get_by_role("button").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".bucket-sentence").first).to_be_visible()


def test_plot_and_table_show_the_comparison_figures(open_page: Open, server: str) -> None:
    page = open_page("compare")
    models = answer(server, "evaluation")["models"]
    plot = page.get_by_role("group", name="Quality against length")
    plot.press("Home")
    for one in models:
        value = f"{one['lengths'][0]['score']:.3g}"
        expect(page.locator(".lines .read-out").last).to_contain_text(f"{one['model']} {value}")
        bleu = next(score for score in one["scores"] if score["name"] == "BLEU")
        result = f"{bleu['value']:.1f} [{bleu['low']:.1f}, {bleu['high']:.1f}]"
        expect(page.locator("table.numbers")).to_contain_text(result)


POSITIONS = {
    "en": {"output": "at the output", "input": "at the input"},
    "ko": {"output": "생성할 때", "input": "다시 입력될 때"},
}


@pytest.mark.parametrize(("locale", "title"), [("en-US", "alignment error"), ("ko-KR", "정렬 오류율")])
def test_table_shows_alignment_error_and_its_method(open_page: Open, server: str, locale: str, title: str) -> None:
    page = open_page("compare", locale=locale)
    row = page.locator("table.numbers tr", has=page.get_by_role("rowheader", name=title))
    models = {one["model"]: one["alignment"] for one in answer(server, "evaluation")["models"]}
    expect(row.locator("td").first).to_have_text("–")
    names = page.locator("table.numbers thead th").all_inner_texts()
    assert names[0] == "fixed"
    for place, name in enumerate(names[1:], start=1):
        cell, result = row.locator("td").nth(place), models[name]
        expect(cell).to_contain_text(f"{result['aer']:.3f}")
        expect(cell).to_contain_text(POSITIONS[locale[:2]][result["at"]])
        expect(cell).to_contain_text(re.compile(rf"{result['layer']}\b|\b{result['layer']}층|mean|평균"))


def test_rnns_are_labelled_by_score_and_wiring(open_page: Open) -> None:
    page = open_page("compare")
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    compared(page)
    result = {
        "attending": "additive score, the query is the previous state",
        "general": "general score, the query is the previous state",
    }
    kinds = page.locator("table.numbers tr", has=page.get_by_role("rowheader", name="kind"))
    for name, words in result.items():
        expect(card(page, name).locator(".wiring")).to_have_text(words)
        expect(kinds).to_contain_text(f"RNN with attention{words}")
    expect(card(page, "transformer").locator(".wiring")).to_have_count(0)


def test_the_plot_is_saved_as_svg_and_png(open_page: Open, tmp_path: Path) -> None:
    page = open_page("compare")
    card_of_plot = page.locator(".card", has=page.get_by_role("group", name="Quality against length"))
    for kind, beginning in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saved:
            card_of_plot.get_by_role("button", name=kind).click()
        path = tmp_path / f"plot.{kind.lower()}"
        saved.value.save_as(path)
        assert path.read_bytes().startswith(beginning)


def marked(text: str, reference: str) -> int:
    """How many words of a text have to be marked."""
    return len(text.split()) - common(text.split(), reference.split())


def common(one: list[str], other: list[str]) -> int:
    """How long the longest common subsequence is, by its definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + common(one[1:], other[1:])
    return max(common(one[1:], other), common(one, other[1:]))


def test_compare_is_available_in_korean(open_page: Open) -> None:
    page = open_page("compare", locale="ko-KR")
    expect(card(page, "fixed")).to_contain_text("고정 문맥 RNN")
    expect(card(page, "fixed")).to_contain_text("이 모델에는 어텐션이 없거든요")

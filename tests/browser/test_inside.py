"""Inside: every number that is shown equals a float64 recomputation, to the digits shown."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.browser.conftest import SENTENCE, Open

Row = NDArray[np.float64]


def shown_number(text: str) -> tuple[float, float]:
    """A number as written, and half a unit of its last digit."""
    plain = text.strip().replace("−", "-")
    if plain == "-∞":
        return -math.inf, 0.0
    mantissa, _, exponent = plain.partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(plain), 0.5 * 10.0 ** (int(exponent or 0) - digits)


def same(texts: list[str], expected: Any) -> None:
    """The numbers as written are the expected ones, to the digits written."""
    assert len(texts) == len(expected)
    for text, value in zip(texts, expected, strict=True):
        written, half = shown_number(text)
        assert written == value or abs(written - value) <= half * (1 + 1e-6) + 1e-12, (text, value)


def step(page: Any, title: str) -> Any:
    return page.locator("section.step").filter(has=page.get_by_role("heading", name=title, exact=True))


def column(card: Any, number: int) -> list[str]:
    """A column of the card's table of keys; 1 is the first after the keys' names."""
    return list(card.locator("table.keys tbody tr").locator(f"td:nth-child({number + 1})").all_inner_texts())


def written_sum(card: Any) -> tuple[list[str], str]:
    """The terms of the sum that a card writes out in full, and its total."""
    more = card.get_by_role("button", name="more terms")
    if more.count():
        more.first.click()
    table = card.locator("table.terms").last
    return table.locator("tbody tr td:last-child").all_inner_texts(), table.locator("tfoot td").inner_text()


def linear(x: Any, weight: Any, bias: Any) -> Row:
    return np.asarray(x) @ np.asarray(weight, dtype=np.float64).T + (0 if bias is None else np.asarray(bias))


def recomputed(inside: Any, *, is_scaled: bool = True, is_masked: bool = True) -> dict[str, Row]:
    """Every step in float64, from the float32 numbers that the API gives."""
    query, keys, values = (np.asarray(inside[name], dtype=np.float64) for name in ("query", "keys", "values"))
    if inside["query_weight"] and not inside["is_rotary"]:
        query = linear(inside["x"], inside["query_weight"], inside["query_bias"])
        keys = linear(inside["key_inputs"], inside["key_weight"], inside["key_bias"])
    if inside["value_weight"]:
        values = linear(inside["key_inputs"], inside["value_weight"], inside["value_bias"])
    if inside["general"]:
        keys = linear(inside["general"]["unprepared_keys"], inside["general"]["weight"], None)
    terms = keys * query if not inside["additive"] else additive_terms(inside["additive"], query, keys)
    raw = terms.sum(axis=1)
    divisor = math.sqrt(len(query)) if inside["layer"]["score"] == "scaled_dot" else 1.0
    scores = raw / divisor if is_scaled else raw
    seen = np.where(np.asarray(inside["visible"]) | (not is_masked), scores, -np.inf)
    exponents = np.exp(seen)
    weights = exponents / exponents.sum()
    found = {"terms": terms, "raw": raw, "scores": scores, "seen": seen, "exponents": exponents, "weights": weights}
    return found | {"query": query, "context": weights @ values, "shares": weights[:, None] * values}


def additive_terms(additive: Any, query: Row, keys: Row) -> Row:
    own = linear(query, additive["query_weight"], None)
    others = linear(keys, additive["key_weight"], additive["key_bias"])
    return np.tanh(own + others) * np.asarray(additive["vector"])


def open_own(open_page: Open, model: str) -> Any:
    """The user's own sentence on a model, worked through."""
    page = open_page("inside")
    page.wait_for_selector(".step")
    page.select_option("#model", model)
    page.get_by_role("button", name="Your sentence, your model").click()
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".deviation")
    return page


def choose(page: Any, layer: int, head: int, query: int) -> Any:
    """Choose a place where the page is not yet, and return what the API says of it."""
    page.select_option("[data-focus=layer]", str(layer))
    page.wait_for_function("layer => document.querySelector('[data-focus=layer]').value === layer", arg=str(layer))
    page.select_option("[data-focus=head]", str(head))
    with page.expect_response(f"**/inside?layer={layer}&head={head}&query={query}") as answer:
        page.click(f".token >> nth={query}")
    page.wait_for_selector(f".tokens > :nth-child({query + 1})[aria-checked=true]")
    inside = answer.value.json()
    assert inside["layer"]["deviation"] < 1e-6
    return inside


def check_steps(page: Any, inside: Any) -> None:
    """All cards, against the recomputation."""
    work = recomputed(inside)
    scores = step(page, "Compare the query with every key")
    same(column(scores, 1), work["raw"])
    key = int(np.argmax(inside["weights"]))
    terms, total = written_sum(scores)
    same(terms, work["terms"][key])
    same([total], [work["raw"][key]])
    if inside["layer"]["score"] == "scaled_dot":
        same(column(step(page, "Divide by the root of d"), 2), work["scores"])
    softmax = step(page, "Softmax: scores become shares")
    for number, name in enumerate(("seen", "exponents", "weights"), start=1):
        same(column(softmax, number), work[name])
    context = step(page, "Weighted sum of the values")
    context.locator(".dimension input").fill("2")
    context.locator(".dimension input").press("Enter")
    shares, total = written_sum(step(page, "Weighted sum of the values"))
    same(shares, work["shares"][:, 1])
    same([total], [work["context"][1]])


@pytest.mark.parametrize("layer", range(6))
def test_every_attention_of_a_transformer_is_worked_through_as_numpy_does(open_page: Open, layer: int) -> None:
    page = open_own(open_page, "transformer")
    inside = choose(page, layer, head=1, query=2)
    check_steps(page, inside)
    work = recomputed(inside)
    terms, total = written_sum(step(page, "Query, keys and values"))
    same(terms, [inside["query_bias"][0], *np.asarray(inside["query_weight"][0]) * np.asarray(inside["x"])])
    same([total], [work["query"][0]])
    output = step(page, "Back to the model's width: W_O")
    part = np.asarray(inside["output_weight"]) @ work["context"]
    terms, total = written_sum(output)
    same(terms, np.asarray(inside["output_weight"][0]) * work["context"])
    same([total], [part[0]])
    adding = output.locator(".adding .number").all_inner_texts()
    rest = inside["output"][0] - part[0] - inside["output_bias"][0]
    same(adding, [part[0], rest, inside["output_bias"][0], inside["output"][0]])


@pytest.mark.parametrize(("model", "layer"), [("attending", 0), ("general", 0), ("rotary", 0)])
def test_other_scores_and_rotary_positions_are_worked_through_too(open_page: Open, model: str, layer: int) -> None:
    page = open_own(open_page, model)
    inside = choose(page, layer, head=0, query=2 if model == "rotary" else 0)  # an untrained model may say nothing
    assert inside["layer"]["score"] == {"attending": "additive", "general": "general", "rotary": "scaled_dot"}[model]
    check_steps(page, inside)
    told = page.inner_text(".deviation")
    assert "differ" in told


def test_the_switches_recompute_without_scaling_and_without_masking(open_page: Open) -> None:
    page = open_own(open_page, "transformer")
    inside = choose(page, 2, head=0, query=1)  # the decoder looking at itself
    assert inside["layer"]["use"] == "decoder-self"
    assert not all(inside["visible"])
    for name, options in (("withoutScaling", {"is_scaled": False}), ("withoutMasking", {"is_masked": False})):
        page.check(f"[data-focus={name}]")
        other = recomputed(inside, **options)
        softmax = step(page, "Softmax: scores become shares")
        same(column(softmax, 3), recomputed(inside)["weights"])
        same(column(softmax, 4), other["weights"])
        largest = softmax.locator(".changed tbody tr").first.locator("td").all_inner_texts()
        same(largest, [recomputed(inside)["weights"].max(), other["weights"].max()])
        page.uncheck(f"[data-focus={name}]")
    assert page.locator(".changed").count() == 0


def test_the_worked_example_comes_first_and_needs_no_model(open_page: Open) -> None:
    page = open_page("inside")
    page.wait_for_selector(".step")
    assert "AI가 세상을 바꾼다" in page.inner_text("#panel")
    tokens = page.locator(".token").all_inner_texts()
    assert tokens == ["AI", "가", "세상을", "바꾼다"]
    same(column(step(page, "Compare the query with every key"), 1), [3, 0, 5, 6])
    weights = np.exp([1.5, 0, 2.5, 3]) / np.exp([1.5, 0, 2.5, 3]).sum()
    same(column(step(page, "Softmax: scores become shares"), 3), weights)
    values = np.array([[1, 0, 0], [0.5, 0, 0], [0, 1, 0], [0, 0, 1]])
    same(page.locator("table.terms tfoot").last.locator("td .number").all_inner_texts(), weights @ values)


def test_the_example_is_used_by_keyboard_in_korean(open_page: Open) -> None:
    page = open_page("inside", locale="ko-KR")
    page.wait_for_selector(".step")
    page.focus(".token[aria-checked=true]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.innerText") == "가"
    same(column(step(page, "쿼리를 모든 키와 견주기"), 1), [3, 0, 2, 1])
    page.focus("[data-focus=isCausal]")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.dataset.focus") == "isCausal"
    weights = [*np.exp([1.5, 0]) / np.exp([1.5, 0]).sum(), 0, 0]
    same(column(step(page, "소프트맥스: 점수가 비율이 돼요"), 3), weights)
    page.focus("[data-focus=key-2]")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.focus") == "key-2"
    assert page.get_by_role("heading", name="가 대 세상을").count() == 1


def test_a_word_of_a_translation_leads_to_its_arithmetic(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".best-head")
    page.wait_for_function("() => !document.querySelector('.is-busy')")
    page.click(".word-row-target .word >> nth=1")
    page.get_by_role("button", name="Show the arithmetic behind this word").click()
    page.wait_for_selector(".deviation")
    assert page.get_attribute("#tab-inside", "aria-selected") == "true"
    chosen = page.evaluate("[...document.querySelectorAll('.token')].findIndex(token => token.ariaChecked === 'true')")
    assert chosen in (1, 2)  # the row that says the second word, or the one that has read it

"""Inside: every number that is shown equals a float64 recomputation, to the digits shown."""

import math
import re
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
    table = card.locator("table.terms").last
    more = table.get_by_role("button", name="more terms")
    if more.count():
        more.click()
    return table.locator("tbody tr td:last-child").all_inner_texts(), table.locator("tfoot td").inner_text()


def linear(x: Any, weight: Any, bias: Any) -> Row:
    return np.asarray(x) @ np.asarray(weight, dtype=np.float64).T + (0 if bias is None else np.asarray(bias))


def turned(vectors: Row, positions: Any, base: float) -> Row:
    """Vectors turned by their positions: numbers i and i + D/2 together, as one complex number."""
    half = vectors.shape[1] // 2
    angles = np.asarray(positions)[:, None] / base ** (np.arange(half) / half)
    pairs = (vectors[:, :half] + 1j * vectors[:, half:]) * np.exp(1j * angles)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def recomputed(inside: Any, *, is_scaled: bool = True, is_masked: bool = True) -> dict[str, Row]:
    """Every step in float64, from the float32 numbers that the API gives."""
    query, keys, values = (np.asarray(inside[name], dtype=np.float64) for name in ("query", "keys", "values"))
    if inside["query_weight"]:
        query = linear(inside["x"], inside["query_weight"], inside["query_bias"])
        keys = linear(inside["key_inputs"], inside["key_weight"], inside["key_bias"])
    if inside["is_rotary"]:
        query = turned(query[None], [inside["query_index"]], inside["rotary_base"])[0]
        keys = turned(keys, range(len(keys)), inside["rotary_base"])
    if inside["value_weight"]:
        values = linear(inside["key_inputs"], inside["value_weight"], inside["value_bias"])
    score, parameters = inside["layer"]["score"], inside["score_parameters"]
    if score == "general":
        keys = linear(keys, parameters["project_keys.weight"], None)
    terms = keys * query if score != "additive" else additive_terms(parameters, query, keys)
    raw = terms.sum(axis=1)
    divisor = math.sqrt(len(query)) if score == "scaled_dot" else 1.0
    scores = raw / divisor if is_scaled else raw
    seen = np.where(np.asarray(inside["visible"]) | (not is_masked), scores, -np.inf)
    exponents = np.exp(seen)
    weights = exponents / exponents.sum()
    found = {"terms": terms, "raw": raw, "scores": scores, "seen": seen, "exponents": exponents, "weights": weights}
    return found | {"query": query, "context": weights @ values, "shares": weights[:, None] * values}


def additive_terms(parameters: Any, query: Row, keys: Row) -> Row:
    own = linear(query, parameters["query.weight"], None)
    others = linear(keys, parameters["project_keys.weight"], parameters["project_keys.bias"][0])
    return np.tanh(own + others) * np.asarray(parameters["vector"][0])


def open_own(open_page: Open, model: str) -> Any:
    """The user's own sentence on a model, worked through; `page.answers` has the API's answers by their queries."""
    page = open_page("inside")
    page.answers = {}
    page.on("response", lambda answer: "/arithmetic?" in answer.url and page.answers.update({query_of(answer): answer}))
    page.wait_for_selector(".step")
    page.select_option(".model-picker", model)
    page.get_by_role("button", name="Your sentence, your model").click()
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    page.wait_for_selector(f".pair:has-text('{SENTENCE}')")
    page.wait_for_selector(".deviation")
    return page


def query_of(answer: Any) -> str:
    return str(answer.url.partition("?")[2])


def choose(page: Any, layer: int, head: int, query: int) -> Any:
    """Choose a place and return what the API says of it; a page that is there already does not ask again."""
    page.select_option("select[name=layer]", str(layer))
    page.select_option("select[name=head]", str(head))
    page.click(f".token >> nth={query}")
    page.wait_for_selector(f".tokens > :nth-child({query + 1})[aria-checked=true]")
    page.wait_for_selector(".steps[aria-busy=false]")
    inside = page.answers[f"layer={layer}&head={head}&query={query}"].json()
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
        same(column(step(page, "Divide by the square root of d"), 2), work["scores"])
    softmax = step(page, "Softmax: scores become weights")
    for number, name in enumerate(("seen", "exponents", "weights"), start=1):
        same(column(softmax, number), work[name])
    context = step(page, "Weighted sum of the values")
    context.locator(".dimension input").fill("2")
    context.locator(".dimension input").press("Enter")
    shares, total = written_sum(step(page, "Weighted sum of the values"))
    same(shares, work["shares"][:, 1])
    same([total], [work["context"][1]])


@pytest.mark.parametrize("layer", range(6))
def test_transformer_attention_arithmetic_equals_numpy(open_page: Open, layer: int) -> None:
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
    assert "+ the other head " in output.locator(".adding").inner_text()
    adding = output.locator(".adding .number").all_inner_texts()
    rest = inside["output"][0] - part[0] - inside["output_bias"][0]
    same(adding, [part[0], rest, inside["output_bias"][0], inside["output"][0]])


def test_projection_formula_shows_bias_and_names_its_indices(open_page: Open) -> None:
    page = open_page("inside")
    page.wait_for_selector(".step")
    card = step(page, "Query, keys and values")
    formula = "math => math.textContent.replace(/\\s/g, '')"
    assert card.locator(".formula").evaluate(formula) == "q=WQx,kj=WKxj,vj=WVxj"
    page = open_own(open_page, "transformer")
    card = step(page, "Query, keys and values")
    assert card.locator(".formula").evaluate(formula) == "q=WQx+bQ,kj=WKxj+bK,vj=WVxj+bV"
    card.locator(".dimension input").fill("12")
    card.locator(".dimension input").press("Enter")
    labels = card.locator("table.terms tbody th").all_inner_texts()
    assert labels[:3] == ["bias b₁₂", "W₁₂,₁ x₁", "W₁₂,₂ x₂"]


@pytest.mark.parametrize(("model", "layer"), [("attending", 0), ("general", 0), ("rotary", 0)])
def test_other_scores_and_rotary_positions_are_worked_through(open_page: Open, model: str, layer: int) -> None:
    page = open_own(open_page, model)
    inside = choose(page, layer, head=0, query=2 if model == "rotary" else 0)  # an untrained model may say nothing
    assert inside["layer"]["score"] == {"attending": "additive", "general": "general", "rotary": "scaled_dot"}[model]
    check_steps(page, inside)
    told = page.inner_text(".deviation")
    assert "differ" in told


@pytest.mark.parametrize("number", [3, 11])  # of 16: one of either half
@pytest.mark.parametrize("letter", ["q", "k"])
def test_rotary_queries_and_keys_show_both_stages(open_page: Open, letter: str, number: int) -> None:
    page = open_own(open_page, "rotary")
    inside = choose(page, 0, head=1, query=2)
    key = int(np.argmax(inside["weights"]))
    name, x, place = ("query", inside["x"], 2) if letter == "q" else ("key", inside["key_inputs"][key], key)
    weight, bias = np.asarray(inside[f"{name}_weight"]), np.asarray(inside[f"{name}_bias"])
    card = step(page, "Query, keys and values")
    card.get_by_role("group", name="Vector").get_by_role("button", name=letter).click()
    card.locator(".dimension input").fill(str(number))
    card.locator(".dimension input").press("Enter")
    before = linear(x, weight, bias)
    sums = card.locator("table.terms")
    sums.first.get_by_role("button", name="more terms").click()
    same(sums.first.locator("tbody td:last-child").all_inner_texts(), [bias[number - 1], *weight[number - 1] * x])
    same([sums.first.locator("tfoot td").inner_text()], [before[number - 1]])
    pair = (number - 1) % 8
    angle = place / 10000 ** (pair / 8)
    first, second = before[pair], before[pair + 8]
    turns = (np.cos(angle), -np.sin(angle)) if number <= 8 else (np.sin(angle), np.cos(angle))
    terms, total = written_sum(card)
    same(terms, [first * turns[0], second * turns[1]])
    same([total], [turned(before[None], [place], 10_000.0)[0, number - 1]])
    assert f"position {place}," in card.locator(".turn").inner_text()
    given = inside["query"] if letter == "q" else inside["keys"][key]
    np.testing.assert_allclose(turned(before[None], [place], 10_000.0)[0], given, atol=1e-5)


def bars(card: Any, letter: str) -> list[float]:
    """The heights of a vector's bars, those that point down negative, against the largest."""
    row = card.locator(".vector-row").filter(has=card.page.locator(f"dt i:text-is('{letter}')"))
    outlines = row.last.locator(".strip path").evaluate_all("paths => paths.map(path => path.getAttribute('d'))")
    found = sorted((float(x), -float(height)) for x, height in re.findall(r"M(\d+) \S+?v(-?[\d.]+)", "".join(outlines)))
    heights = np.array([height for _, height in found])
    return list(heights / np.abs(heights).max())


def drawn(values: Any) -> Any:
    """A vector against its largest number, as bars show it: a bar of nearly nothing is one pixel of nineteen high."""
    return pytest.approx(list(np.asarray(values) / np.abs(values).max()), abs=1.01 / 19)


def test_vector_fits_its_card_at_any_width(open_page: Open) -> None:
    page = open_own(lambda view: open_page(view, viewport={"width": 280, "height": 800}), "transformer")
    card = step(page, "Query, keys and values")
    x = card.locator(".strip").first
    assert len(bars(card, "x")) == 32
    right = "node => node.getBoundingClientRect().right"
    assert x.evaluate(right) < card.evaluate(right)
    context = step(page, "Weighted sum of the values")
    box = context.locator(".strip").bounding_box()
    context.locator(".strip").click(position={"x": box["width"] - 2, "y": 10})
    assert context.locator(".dimension input").input_value() == "16"  # the last number is where its bar is


def test_general_score_shows_keys_before_and_after_projection(open_page: Open) -> None:
    page = open_own(open_page, "general")
    inside = choose(page, 0, head=0, query=0)
    key, weight = int(np.argmax(inside["weights"])), inside["score_parameters"]["project_keys.weight"]
    states = step(page, "States are queries, keys and values")
    assert bars(states, "k") == drawn(inside["keys"][key])
    assert bars(states, "v") == bars(states, "k")
    scores = step(page, "Compare the query with every key")
    assert scores.locator("table.keys thead th").last.inner_text() == "q · (W k)"
    prepared = scores.locator(".prepared")
    assert bars(prepared, "W k") == drawn(linear(inside["keys"][key], weight, None))
    prepared.locator(".dimension input").fill("3")
    prepared.locator(".dimension input").press("Enter")
    terms, total = written_sum(prepared)
    products = np.asarray(weight[2]) * np.asarray(inside["keys"][key])
    same(terms, products)
    same([total], [products.sum()])


def test_the_switches_recompute_without_scaling_and_without_masking(open_page: Open) -> None:
    page = open_own(open_page, "transformer")
    inside = choose(page, 2, head=0, query=1)  # the decoder looking at itself
    assert inside["layer"]["role"] == "decoder-self"
    assert not all(inside["visible"])
    for name, options in (("unscaled", {"is_scaled": False}), ("unmasked", {"is_masked": False})):
        page.check(f"input[name={name}]")
        other = recomputed(inside, **options)
        softmax = step(page, "Softmax: scores become weights")
        same(column(softmax, 3), recomputed(inside)["weights"])
        same(column(softmax, 4), other["weights"])
        largest = softmax.locator(".changed tbody tr").first.locator("td").all_inner_texts()
        same(largest, [recomputed(inside)["weights"].max(), other["weights"].max()])
        page.uncheck(f"input[name={name}]")
    assert page.locator(".changed").count() == 0


def test_worked_example_comes_first_without_a_model(open_page: Open) -> None:
    page = open_page("inside")
    page.wait_for_selector(".step")
    assert "AI가 세상을 바꾼다" in page.inner_text("main.panel")
    tokens = page.locator(".token").all_inner_texts()
    assert tokens == ["AI", "가", "세상을", "바꾼다"]
    same(column(step(page, "Compare the query with every key"), 1), [3, 0, 5, 6])
    weights = np.exp([1.5, 0, 2.5, 3]) / np.exp([1.5, 0, 2.5, 3]).sum()
    same(column(step(page, "Softmax: scores become weights"), 3), weights)
    values = np.array([[1, 0, 0], [0.5, 0, 0], [0, 1, 0], [0, 0, 1]])
    same(page.locator("table.terms tfoot").last.locator("td .number").all_inner_texts(), weights @ values)


def test_the_example_is_used_by_keyboard_in_korean(open_page: Open) -> None:
    page = open_page("inside", locale="ko-KR")
    page.wait_for_selector(".step")
    page.focus(".token[aria-checked=true]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.innerText") == "가"
    same(column(step(page, "쿼리를 모든 키와 비교하기"), 1), [3, 0, 2, 1])
    page.focus("input[name=causal]")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.name") == "causal"
    weights = [*np.exp([1.5, 0]) / np.exp([1.5, 0]).sum(), 0, 0]
    same(column(step(page, "소프트맥스: 스코어가 가중치가 돼요"), 3), weights)
    page.focus("[data-key='2']")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.key") == "2"
    assert page.get_by_role("heading", name="가, 세상을").count() == 1


def test_word_of_a_translation_links_to_its_arithmetic(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector(".best-head")
    page.wait_for_function("() => !document.querySelector('.is-busy')")
    page.click(".word-row-target .word >> nth=1")
    page.get_by_role("button", name="Show the arithmetic behind this word").click()
    page.wait_for_selector(".deviation")
    assert page.get_attribute(".views a[href^='#inside']", "aria-current") == "page"
    chosen = page.evaluate("[...document.querySelectorAll('.token')].findIndex(token => token.ariaChecked === 'true')")
    assert chosen in (1, 2)  # the row that says the second word, or the one that has read it


def matrices(page: Any) -> dict[str, tuple[list[str], NDArray[np.float64]]]:
    """The tables of the shuffled example by their captions: the words of the rows, and the numbers."""
    found = {}
    for table in page.locator(".shuffled table").all():
        words = table.locator("tbody th").all_inner_texts()
        rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
        numbers = [[float(cell.replace("−", "-")) for cell in row] for row in rows]
        found[table.locator("caption").inner_text()] = (words, np.array(numbers))
    return found


def test_shuffled_words_keep_weights_and_permute_outputs(open_page: Open) -> None:
    page = open_page("inside")
    page.wait_for_selector(".step")
    first = ["AI", "가", "세상을", "바꾼다"]
    assert page.locator(".shuffled").count() == 0
    assert page.locator("button[name=unshuffle]").is_disabled()
    before = column(step(page, "Softmax: scores become weights"), 3)
    page.focus("button[name=shuffle]")
    page.keyboard.press("Enter")
    words = page.locator(".token").all_inner_texts()
    assert words != first
    assert sorted(words) == sorted(first)
    assert page.locator(".token[aria-checked=true]").inner_text() == "AI"  # who was looking still is
    assert page.evaluate("document.activeElement.name") == "shuffle"
    after = column(step(page, "Softmax: scores become weights"), 3)
    assert after == [before[first.index(word)] for word in words]
    order = [first.index(word) for word in words]
    tables = matrices(page)
    (rows, weights), (_, shuffled) = tables["original: weight"], tables["shuffled: weight"]
    assert rows == first
    assert tables["shuffled: weight"][0] == words
    np.testing.assert_array_equal(shuffled, weights[np.ix_(order, order)])
    np.testing.assert_array_equal(tables["shuffled: output"][1], tables["original: output"][1][order])
    exponents = np.exp([1.5, 0, 2.5, 3])
    np.testing.assert_allclose(weights[0], exponents / exponents.sum(), atol=5.1e-5)
    assert "in another order" in page.inner_text(".shuffled [role=status]")
    page.check("input[name=causal]")
    assert "order matters" in page.inner_text(".shuffled [role=status]")
    page.click("button[name=unshuffle]")
    assert page.locator(".token").all_inner_texts() == first
    assert page.locator(".shuffled").count() == 0

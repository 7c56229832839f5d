"""The block around an attention on the page: every number that is shown equals a float64 recomputation."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from regard.bundle import new_bundle
from regard.config import Config, DecoderOnlyConfig, EncoderOnlyConfig, TransformerStackConfig
from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.plotting import html_data as page_data_module
from regard.plotting.html_data import trace_page_data
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.trace import Trace
from regard.web.pages import render_html_file
from tests.browser.conftest import Open
from tests.browser.test_inside import bars, choose, open_own, same, step, written_sum
from tests.support.browser import settled
from tests.support.small_models import randomise
from tests.support.traces import TRANSFORMER, trace_of
from tests.unit.tracing.test_block_arithmetic import BENDS

EMBEDDING = "Where x comes from: token and position"
BELOW = "Where x comes from: the previous block"
CANDIDATES = "Output layer and softmax: the most probable tokens"
WORDS = "ba be bi bo bu da de di do du ga ge gi go gu"
TEXT = "ba be gi go"


def columns(card: Any, *, whole: bool = True) -> list[list[str]]:
    """The columns of a card's table of numbers; the first is the first after the numbers' places."""
    table = card.locator("table.along").last
    more = table.get_by_role("button", name="more numbers")
    if whole and more.count():
        more.click()
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    return [list(column) for column in zip(*rows, strict=True)]


def facts(card: Any) -> list[str]:
    return list(card.locator(".adding .number").all_inner_texts())


def normed(norm: Any) -> tuple[list[float], Any, Any]:
    """Mean and deviation, the numbers divided by it, and the numbers with gain and bias, in float64."""
    x = np.asarray(norm["x"])
    mean, deviation = x.mean(), np.sqrt(x.var() + norm["epsilon"])
    standard = (x - mean) / deviation
    return [mean, deviation], standard, standard * np.asarray(norm["gain"]) + np.asarray(norm["bias"])


def check_norm(card: Any, norm: Any, before: list[Any]) -> None:
    """A card that normalises, with the columns that stand before."""
    told, standard, output = normed(norm)
    same(facts(card), told)
    for found, expected in zip(columns(card), [*before, standard, norm["gain"], norm["bias"], output], strict=True):
        same(found, expected)


def check_added(card: Any, sub: Any) -> None:
    parts = [sub["x"], sub["output"], np.asarray(sub["x"]) + np.asarray(sub["output"])]
    if sub["post_norm"]:
        check_norm(card, sub["post_norm"], parts)
    else:
        for found, expected in zip(columns(card), parts, strict=True):
            same(found, expected)


def check_network(page: Any, network: Any, letter: str) -> None:
    """Both sums of a feed-forward network, and its activation between them."""
    inner, outer = network["fc1_row"], network["fc2_row"]
    name = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}[network["activation"]]
    card = step(page, f"Feed-forward network: W₁ and {name}")
    terms = [network["fc1_bias"], *np.asarray(network["fc1_weight"]) * np.asarray(network["x"])]
    shown, total = written_sum(card)
    same(shown, terms)
    same([total], [sum(terms)])
    bent = BENDS[network["activation"]](np.float64(sum(terms)))
    same(card.locator(".bent .number").all_inner_texts(), [sum(terms), bent])
    assert f"{letter}₁" in card.locator("table.terms tbody th").nth(1).inner_text()
    assert card.locator(".dimension input").input_value() == str(inner + 1)
    card = step(page, "Feed-forward network: W₂")
    terms = [network["fc2_bias"], *np.asarray(network["fc2_weight"]) * np.asarray(network["activated"])]
    shown, total = written_sum(card)
    same(shown, terms)
    same([total], [sum(terms)])
    assert card.locator(".dimension input").input_value() == str(outer + 1)


def check_candidates(card: Any, output: Any) -> None:
    """The likeliest tokens in their order, the generated one marked, and one logit as the sum that it is."""
    rows = card.locator(".spoken tbody tr")
    hidden = np.asarray(output["hidden"])
    logits = np.array([np.asarray(one["weight"]) @ hidden + one["bias"] for one in output["tokens"]])
    same(rows.locator("td:nth-child(3)").all_inner_texts(), logits)
    same(rows.locator("td:nth-child(4)").all_inner_texts(), np.exp(logits - output["log_partition"]))
    assert rows.locator("td:nth-child(2)").all_inner_texts() == [str(one["rank"]) for one in output["tokens"]]
    marks = rows.locator("td:nth-child(5)").all_inner_texts()
    assert [bool(mark) for mark in marks] == [one["is_chosen"] for one in output["tokens"]]
    rows.nth(1).locator("button").click()
    second = output["tokens"][1]
    bias = [second["bias"]] if second["bias"] else []
    terms, total = written_sum(card)
    same(terms, [*bias, *np.asarray(second["weight"]) * hidden])
    same([total], [logits[1]])


def check_block(page: Any, inside: Any) -> None:
    """Every card before and after the attention, against the recomputation."""
    block = inside["block"]
    is_pre = block["sublayers"][0]["pre_norm"] is not None
    own, last = block["sublayers"][block["attention_sublayer"]], block["sublayers"][-1]
    if block["embedding"]:
        check_embedding(step(page, EMBEDDING), block["embedding"])
    else:
        assert f"output of block {block['number']} for" in step(page, BELOW).inner_text()
    if is_pre:
        check_norm(step(page, "Layer norm before attention"), own["pre_norm"], [own["pre_norm"]["x"]])
        card = step(page, "Layer norm before the feed-forward network")
        check_norm(card, last["pre_norm"], [last["pre_norm"]["x"]])
    check_added(step(page, "Add: the residual connection" if is_pre else "Add & Norm"), own)
    check_added(step(page, f"{'Add' if is_pre else 'Add & Norm'}, around the feed-forward network"), last)
    others = {"self-attention": "In this block before: self-attention"}
    others |= {"cross-attention": "In this block next: attention to the source"}
    for sub in [one for one in block["sublayers"][:-1] if one is not own]:
        check_added(step(page, others[sub["kind"]]), sub)
    check_network(page, block["feed_forward"], "y" if is_pre else "x")
    assert step(page, "Layer norm after the last block").count() == bool(block["last_norm"])
    if block["last_norm"]:
        check_norm(step(page, "Layer norm after the last block"), block["last_norm"], [block["last_norm"]["x"]])
    assert step(page, CANDIDATES).count() == bool(inside["prediction"])
    assert step(page, "Where the output goes").count() == (not inside["prediction"])
    if inside["prediction"]:
        check_candidates(step(page, CANDIDATES), inside["prediction"])


def check_embedding(card: Any, embedding: Any) -> None:
    scaled = np.asarray(embedding["token"]) * embedding["scale"]
    parts = [embedding["token"]] + [scaled] * (embedding["scale"] != 1)
    parts += [embedding["position"]] if embedding["position"] else []
    for found, expected in zip(columns(card), [*parts, scaled + np.asarray(embedding["position"] or 0.0)], strict=True):
        same(found, expected)


@pytest.mark.parametrize(
    ("model", "layer"), [*(("transformer", layer) for layer in range(6)), ("rotary", 0), ("rotary", 1)]
)
def test_block_around_an_attention_equals_numpy(open_page: Open, model: str, layer: int) -> None:
    page = open_own(open_page, model)
    check_block(page, choose(page, layer, head=1, query=2))


CUT = """() => [...document.querySelectorAll('.steps .table-scroll')]
    .filter((table) => table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)"""


def test_no_table_is_cut_on_a_laptop(open_page: Open) -> None:
    page = open_own(open_page, "transformer")
    page.set_viewport_size({"width": 1280, "height": 800})
    assert settled(page, lambda: page.evaluate(CUT), []) == []


def test_another_feed_forward_unit_keeps_the_chosen_key(open_page: Open) -> None:
    page = open_own(open_page, "transformer")
    choose(page, 3, head=0, query=2)
    page.click("[data-key='1'] >> nth=0")
    numbers = (("W₁ and ReLU", "fc1_row", 40, "(W₁ x + b₁)₄₀"), ("W₂", "fc2_row", 17, "f₁₇"))
    for title, name, number, label in numbers:
        field = step(page, f"Feed-forward network: {title}").locator(".dimension input")
        with page.expect_response(f"**/arithmetic?*{name}={number - 1}*") as answer:
            field.fill(str(number))
            field.press("Enter")
        page.locator("tfoot th").get_by_text(label, exact=True).wait_for()
    inside = answer.value.json()
    assert (inside["block"]["feed_forward"]["fc1_row"], inside["block"]["feed_forward"]["fc2_row"]) == (
        39,
        16,
    )
    check_network(page, inside["block"]["feed_forward"], "x")
    assert page.get_attribute("[data-key='1'] >> nth=0", "aria-pressed") == "true"


def test_a_block_leads_to_its_neighbours(open_page: Open) -> None:
    page = open_own(open_page, "transformer")
    choose(page, 5, head=0, query=1)
    chosen = "layer => document.querySelector('select[name=layer]').value === layer"
    visits = [("See its arithmetic", "4"), ("See the previous block", "2"), ("See the next block", "4")]
    for name, layer in visits:
        page.get_by_role("button", name=name).click()
        page.wait_for_function(chosen, arg=layer)
        page.wait_for_function("() => document.activeElement.name === 'layer'")


@pytest.mark.parametrize("model", ["attending", "general"])
def test_rnn_without_add_and_norm_shows_next_tokens(open_page: Open, model: str) -> None:
    page = open_own(open_page, model)
    inside = choose(page, 0, head=0, query=0)
    card = step(page, "Then: an RNN has no Add & Norm")
    assert len(bars(card, "h")) == len(inside["prediction"]["hidden"])
    assert step(page, "Feed-forward network: W₂").count() == 0
    check_candidates(step(page, CANDIDATES), inside["prediction"])


# --- language models, in a file --------------------------------------------------------------------------------------


def language_trace(kind: str, norm: str) -> Trace:
    tokenizer = Tokenizer.train([WORDS], model_type="word", vocab_size=32)
    stack = TransformerStackConfig(layers=2, width=12, heads=2, ffn_width=10)
    config = (
        DecoderOnlyConfig(transformer=stack, norm=norm)
        if kind == "writer"
        else EncoderOnlyConfig(transformer=stack, norm=norm)
    )
    bundle = new_bundle(Config(model=config), TokenizerPair(tokenizer, tokenizer))
    randomise(bundle.model, seed=11).eval()
    return (
        TextGenerator(bundle).trace(TEXT) if kind == "writer" else MaskFiller(bundle).trace(TEXT.replace("be", "___"))
    )


def open_file(browser: Any, folder: Path, trace: Trace, **options: Any) -> Any:
    path = folder / "file.html"
    path.write_text(render_html_file(trace_page_data(trace), title="a file"), encoding="utf-8")
    page = browser.new_page(**{"locale": "en-US", "viewport": {"width": 1200, "height": 900}, **options})
    page.problems = []
    page.on("console", lambda told: told.type in ("error", "warning") and page.problems.append(told.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(path.as_uri() + "#inside")
    page.get_by_role("button", name="Your sentence, your model").click()
    page.wait_for_selector(".deviation")
    return page


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", ["writer", "reader"])
def test_language_model_blocks_work_in_a_file(browser: Any, tmp_path: Path, kind: str, norm: str) -> None:
    trace = language_trace(kind, norm)
    page = open_file(browser, tmp_path, trace)
    for layer in range(2):
        page.select_option("select[name=layer]", str(layer))
        page.click(".token >> nth=2")
        page.wait_for_selector(".tokens > :nth-child(3)[aria-checked=true]")
        inside = json.loads(msgspec.json.encode(trace.arithmetic(layer, 0, 2)))
        check_block(page, inside)
        if inside["block"]["head"]:
            norm_of_head = inside["block"]["head"]["norm"]
            check_norm(step(page, "Before the output layer"), norm_of_head, [norm_of_head["x"]])
    if kind == "reader":
        page.click(".token >> nth=1")  # the blank: nothing stands there
        page.wait_for_selector(".tokens > :nth-child(2)[aria-checked=true]")
        assert "in the text" not in step(page, CANDIDATES).locator("table.keys").inner_text()
    assert page.problems == []
    page.close()


def test_file_without_matrices_or_blocks_explains_it(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_data_module, "MAX_FEED_FORWARD_BYTES", 100)
    page = open_file(browser, tmp_path, trace_of(TRANSFORMER))
    assert "too large for this file" in step(page, "Feed-forward network: W₂").inner_text()
    assert page.problems == []
    page.close()
    monkeypatch.setattr(page_data_module, "MAX_BLOCK_BYTES", 100)
    page = open_file(browser, tmp_path, trace_of(TRANSFORMER))
    assert "too large for this file" in step(page, "What follows").inner_text()
    assert step(page, CANDIDATES).count() == 0
    assert page.problems == []
    page.close()

"""The page's own arithmetic, run by itself in the browser, against numpy; and that both languages say everything."""

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from regard.tokens import readable_piece


@pytest.fixture(scope="module")
def run_module(browser: Any, server: str) -> Iterator[Any]:
    """Call a function of a module of the page."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(server)

    def call(module: str, name: str, *arguments: object) -> Any:
        script = "async ([module, name, given]) => JSON.stringify((await import(module))[name](...JSON.parse(given)))"
        return json.loads(page.evaluate(script, [f"/page/{module}", name, json.dumps(arguments)]))

    yield call
    context.close()


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_the_softmax_is_numpys_whatever_the_size_of_the_scores(run_module: Any, scale: float) -> None:
    scores = np.random.default_rng(3).normal(size=9) * scale
    visible = [True] * 6 + [False] * 3
    found = run_module("inside_arithmetic.js", "softmaxOver", scores.tolist(), visible)
    exponents = np.exp(scores[:6] - scores[:6].max())
    np.testing.assert_allclose(found["weights"], [*exponents / exponents.sum(), 0, 0, 0], rtol=1e-12, atol=1e-300)


def test_a_query_that_sees_nothing_takes_nothing(run_module: Any) -> None:
    found = run_module("inside_arithmetic.js", "softmaxOver", [1.0, 2.0], [False, False])
    assert found["weights"] == [0, 0]


def test_a_linear_layer_is_a_matrix_product(run_module: Any) -> None:
    chance = np.random.default_rng(5)
    x, weight, bias = chance.normal(size=7), chance.normal(size=(3, 7)), chance.normal(size=3)
    found = run_module("inside_arithmetic.js", "linear", x.tolist(), weight.tolist(), bias.tolist())
    np.testing.assert_allclose(found, weight @ x + bias, rtol=1e-12)


def test_the_spread_of_weights_is_zero_for_one_key_and_the_log_of_their_number_for_all(run_module: Any) -> None:
    assert run_module("inside_arithmetic.js", "entropyBits", [1, 0, 0]) == 0
    assert run_module("inside_arithmetic.js", "entropyBits", [0.125] * 8) == pytest.approx(3)


def test_the_page_writes_every_byte_as_python_does(run_module: Any) -> None:
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    shown = [run_module("pieces.js", "readablePiece", piece) for piece in pieces]
    assert shown == [readable_piece(piece) for piece in pieces]
    assert "‹s›" in shown
    assert sum(piece != label for piece, label in zip(pieces, shown, strict=True)) == 94


@pytest.mark.parametrize(
    ("pieces", "first"),
    [
        (["<s>", "▁", "AI", "가"], 1),
        (["<s>", "▁소", "너"], 0),
        (["<s>", "▁", ".", "<0xEA>", "<0x4E>"], 3),
        (["<s>"], 0),
    ],
)
def test_inside_opens_where_some_of_a_word_is_about_to_be_said(run_module: Any, pieces: list[str], first: int) -> None:
    trace = {"target": {"pieces": pieces}, "source": {"pieces": [*pieces[1:], "</s>"]}}
    assert run_module("view_inside.js", "firstToSay", trace, {"queries": "target"}) == first
    assert run_module("view_inside.js", "firstToSay", trace, {"queries": "source"}) == first


def test_every_sentence_is_there_in_both_languages(run_module: Any) -> None:
    assert run_module("text.js", "missingKeys") == []


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("은/는", {"세상": "은", "나무": "는", "world-transformer": "는", "rnn-attention": "은", "</s>": "는"}),
        ("을/를", {"“길”": "을", "단어": "를", "고양이(둘)": "을", "3": "을", "2": "를", "": "를"}),
        ("으로/로", {"집": "으로", "길": "로", "학교": "로", "4.90": "으로", "4.12": "로", "model": "로"}),
    ],
)
def test_a_korean_particle_follows_the_sound_before_it(run_module: Any, pair: str, words: dict[str, str]) -> None:
    assert {word: run_module("particles.js", "particle", word, *pair.split("/")) for word in words} == words
    apart = {unicodedata.normalize("NFD", word): particle for word, particle in words.items()}
    assert {word: run_module("particles.js", "particle", word, *pair.split("/")) for word in apart} == apart


def test_a_particle_stands_where_a_sentence_asks_for_it(browser: Any, server: str) -> None:
    page = browser.new_page(locale="ko-KR")
    page.goto(server)
    said = "async (model) => (await import('./page/text.js')).t('note.notReady', {model})"
    assert page.evaluate(said, "세상").startswith("세상은 아직")
    assert page.evaluate(said, "나무").startswith("나무는 아직")
    page.close()

"""The page's own arithmetic, run by itself in the browser, against numpy; and that both languages say everything."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


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


def test_every_sentence_is_there_in_both_languages(run_module: Any) -> None:
    assert run_module("text.js", "missingKeys") == []

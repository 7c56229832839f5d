"""Text is only ever text: sixty scripts in sentences, vocabulary, names of models and files, and none runs."""

from collections.abc import Iterator
from typing import Any

import pytest

from regard.bundle import new_bundle, save_bundle
from regard.config import Config
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.browser.conftest import STACK, Watched, serving
from tests.support.script_payloads import PAYLOADS
from tests.support.small_models import randomise

TOGETHER = 12  # payloads in one sentence
# A model is called as its directory is; markup takes a space where a name of a file cannot have a slash.
NAMES = list(dict.fromkeys(payload.replace("/", " ").strip() for payload in PAYLOADS))
SHOWN = "text => document.querySelector('.word-row-source')?.textContent === text"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of models whose names and whose every word is a script; untrained, they say the words at random."""
    directory = tmp_path_factory.mktemp("hostile")
    tokenizer = Tokenizer.train(PAYLOADS, model_type="word", vocab_size=100)
    table = {
        "model": {"kind": "transformer", "encoder": STACK, "decoder": STACK},
        "data": {"languages": ["en", "ko"]},
        "decoding": {"max_length_ratio": 1.0, "max_length_extra": 1},
    }
    paths = [directory / name / "model" for name in NAMES]
    bundle = new_bundle(Config.from_dict(table, origin="hostile"), TokenizerPair(tokenizer, tokenizer))
    randomise(bundle.model, 0)
    for path in paths:
        save_bundle(path, bundle)
    yield from serving(directory / "serve.log", *paths)


def test_sixty_payloads_are_one_vocabulary_word_each() -> None:
    assert len(set(PAYLOADS)) == 60
    assert not [payload for payload in PAYLOADS if " " in payload]


def test_none_of_sixty_scripts_runs(browser: Any, hostile: str) -> None:
    context = browser.new_context(locale="en-US")
    watched = Watched.of(context.new_page())
    page = watched.page
    page.set_default_timeout(60_000)
    page.goto(f"{hostile}#translate")
    seen = ""
    for start in range(0, len(PAYLOADS), TOGETHER):
        own = PAYLOADS[start : start + TOGETHER]
        page.fill("#source-text", " ".join(own))
        page.keyboard.press("Enter")
        page.wait_for_function(SHOWN, arg="".join(own))
        page.wait_for_selector(".outputs li")
        page.hover(".word-row-target .word >> nth=0")
        seen += page.evaluate("document.body.textContent")
    page.click(".word-row-target .word >> nth=0")
    page.get_by_role("button", name="Show the arithmetic").click()
    page.wait_for_selector(".deviation")
    page.click(".views a[href^='#heads']")
    page.wait_for_selector(".head-thumb canvas.is-painted")
    assert [payload for payload in PAYLOADS if payload not in seen] == []
    shown = page.evaluate("document.querySelector('.model-picker').textContent")
    assert [name for name in NAMES if name not in shown] == []
    assert page.evaluate("window.hacked") is None
    assert watched.problems == []  # a violation of the policy would be told here
    assert [url for url in watched.requests if not url.startswith((hostile, "blob:", "data:"))] == []
    context.close()

"""A server of captioners and translators together: each view shows what it can with the model that is chosen."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import expect

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import Config
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.browser.conftest import STACK, Watched, serving
from tests.support.captioning_server import make_captioners
from tests.support.shared_results import build_once
from tests.support.small_models import randomise

RECURRENT = {"kind": "rnn", "embedding_width": 16, "encoder": {"width": 24}, "decoder": {"width": 24}}
TRANSLATORS = {
    "new": {"kind": "transformer", "encoder": STACK, "decoder": STACK},
    "old": RECURRENT,
}


def make_translators(folder: Path) -> None:
    """Two translators whose recipes name no languages."""
    tokenizer = Tokenizer.train(["AI changes the world"], model_type="word", vocab_size=40)
    for name, model in TRANSLATORS.items():
        table = {"model": model, "decoding": {"max_length_ratio": 1.0, "max_length_extra": 1}}
        bundle = new_bundle(Config.from_dict(table, origin=name), TokenizerPair(tokenizer, tokenizer))
        randomise(bundle.model, seed=5)
        save_bundle(folder / name / "model", bundle)


def make_alone(folder: Path, captioners: Path) -> Path:
    """A captioner whose validation set is not there, so that it has no examples."""
    bundle = load_bundle(captioners / "attention" / "model")
    data = msgspec.structs.replace(bundle.config.data, valid=[])
    path = folder / "alone" / "model"
    save_bundle(path, replace(bundle, config=msgspec.structs.replace(bundle.config, data=data)))
    return path


@pytest.fixture(scope="module")
def captioners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "captioners", make_captioners)[0]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, captioners: Path) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("mixed")
    make_translators(folder)
    models = [captioners / "heads" / "model", make_alone(folder, captioners)]
    yield from serving(folder / "serve.log", *models, *(folder / name / "model" for name in TRANSLATORS))


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(locale="en-US", reduced_motion="reduce")
    watched = Watched.of(context.new_page())
    watched.page.set_default_timeout(60_000)
    yield watched.page
    context.close()
    assert watched.problems == []


def test_page_opens_with_the_lesson(page: Any, address: str) -> None:
    page.goto(address)
    page.locator(".question").wait_for()
    expect(page).to_have_url(re.compile(r"#start\?model=heads$"))


def test_translate_links_a_captioner_to_pictures(page: Any, address: str) -> None:
    page.goto(f"{address}#translate?model=heads")
    note = page.get_by_text("This model describes images")
    expect(note).to_be_visible()
    expect(page.locator("#source-text")).to_be_hidden()
    page.locator(".model-picker").select_option("new")
    expect(page.locator("#source-text")).to_be_visible()
    expect(page.locator("#source-text")).to_have_attribute("placeholder", "Type a sentence and press Enter")
    expect(note).to_have_count(0)


def test_translate_waits_for_the_first_model(page: Any, tmp_path: Path) -> None:
    for address in serving(tmp_path / "serve.log", "--run", tmp_path / "not-yet"):
        page.goto(f"{address}#translate")
        page.get_by_text("As soon as one is, it appears here.").first.wait_for()
        page.goto("about:blank")  # a page that goes on asking a server that stops would be told so


def test_model_still_in_training_shows_no_alarm(page: Any, tmp_path: Path) -> None:
    make_translators(tmp_path)
    young = tmp_path / "young"
    young.mkdir()
    shutil.copy(tmp_path / "new" / "model" / "config.toml", young)
    for address in serving(tmp_path / "serve.log", "--run", young, unready=["young"]):
        page.goto(f"{address}#translate")
        page.get_by_text("young is not trained yet.").first.wait_for()
        assert page.get_by_role("alert").count() == 0
        shutil.copytree(tmp_path / "new" / "model", young / "model")
        expect(page.get_by_text("young is not trained yet.")).to_have_count(0)
        page.goto("about:blank")


@pytest.mark.parametrize("view", ["translate", "inside"])
def test_view_of_sentences_links_to_images(page: Any, address: str, view: str) -> None:
    page.goto(f"{address}#{view}?model=heads")
    if view == "inside":
        page.get_by_role("button", name="Your sentence, your model").click()
    page.get_by_text("This model describes images. Choose one that takes text.").wait_for()
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("button", name="Give it an image").click()
    page.locator(".region-word").first.wait_for()


def test_heads_follow_the_kind_of_the_chosen_model(page: Any, address: str) -> None:
    page.goto(f"{address}#heads")
    page.get_by_role("button", name="Decoder to image").wait_for()
    page.locator(".head-thumb").first.wait_for()
    expect(page.locator("#source-text")).to_be_hidden()
    page.locator(".model-picker").select_option("new")
    page.get_by_role("button", name="Decoder to encoder").wait_for()
    page.locator(".head-thumb").first.wait_for()
    expect(page.locator(".picture-file")).to_be_hidden()
    page.locator(".model-picker").select_option("alone")  # which has no examples, so there is nothing to show yet
    expect(page.locator(".picture-file")).to_be_visible()
    expect(page.locator(".head-thumb")).to_have_count(0)
    assert page.get_by_role("alert").count() == 0


def test_translators_are_compared_while_a_captioner_is_chosen(page: Any, address: str) -> None:
    page.goto(f"{address}#compare")
    expect(page.locator(".compare-card .figures")).to_have_count(2)
    assert page.locator(".compare-card").evaluate_all("cards => cards.map((card) => card.dataset.model)") == [
        "old",
        "new",
    ]
    expect(page.get_by_text("heads describes images, and captions are not compared here.")).to_be_visible()
    expect(page.get_by_text("There is one model for these languages")).to_have_count(0)
    page.locator(".model-picker").select_option("new")
    expect(page.get_by_text("describes images")).to_have_count(0)
    expect(page.locator(".compare-card")).to_have_count(2)


def test_model_without_examples_requests_no_others(page: Any, address: str, captioners: Path) -> None:
    page.goto(f"{address}#pictures")
    page.locator(".picture-example").nth(1).click()
    page.locator("section.step").first.wait_for()
    with page.expect_response("**/models/alone/examples"):
        page.locator(".model-picker").select_option("alone")
    expect(page.locator(".picture-example")).to_have_count(0)
    assert page.get_by_role("alert").count() == 0
    assert page.locator(".caption-text").count() == 0
    page.set_input_files(".picture-file", str(captioners / "images" / "valid" / "2.png"))
    page.locator("section.step").first.wait_for()


def test_heads_without_links_explain_how_to_get_them(page: Any, address: str) -> None:
    page.goto(f"{address}#heads?model=new")
    page.locator(".head-thumb").first.wait_for()
    note = page.locator(".explanation", has_text="--gold PREFIX")
    expect(note).to_have_text(re.compile("^How well each head aligns words is not known here"))
    page.get_by_role("button", name="Encoder, self").click()
    expect(note).to_have_count(0)  # such maps have nothing to do with links
    page.get_by_role("button", name="한국어").click()
    page.get_by_role("button", name="디코더 → 인코더").click()
    expect(note).to_have_text(re.compile("^헤드마다 단어를 얼마나 잘 정렬하는지는 아직 몰라요"))

"""Training of models that describe pictures: probes by their names, maps over the pictures, and words that fit."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from safetensors.numpy import load_file

from tests.browser.conftest import Watched, serving
from tests.browser.test_axe import problems
from tests.support.browser import settled
from tests.support.shared_results import build_once
from tests.support.small_images import ATTENDING, RECURRENT, TRANSFORMER, picture_config, write_scenes
from tests.support.small_run import run_to_the_end

MODELS = {"looking": ATTENDING, "heads": TRANSFORMER, "blind": RECURRENT}
DARKNESS = "cells => cells.map((cell) => Number(cell.getAttribute('fill-opacity')))"
SIDES = {"looking": 4, "heads": 4}


def make_runs(folder: Path) -> None:
    """A run of each kind; and one whose pictures are gone, with labels as they were before they named pictures."""
    scenes = write_scenes(folder)
    for name, model in MODELS.items():
        config = picture_config(scenes, model=model)
        run_to_the_end(config, folder / name)
        (folder / name / "config.toml").write_text(config.to_toml())
    lost = shutil.copytree(folder / "looking", folder / "lost", ignore=shutil.ignore_patterns("model", "pictures"))
    recipe = lost / "config.toml"
    recipe.write_text(recipe.read_text().replace(str(scenes), str(folder / "nowhere")))
    for path in lost.glob("probes/*/labels.json"):
        labels = json.loads(path.read_text())
        path.write_text(json.dumps([{side: one[side] for side in ("source", "target")} for one in labels]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "picture-runs", make_runs)[0]


@pytest.fixture(scope="module")
def address(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("serving") / "log"  # the runs are shared with other workers
    served = (argument for name in (*MODELS, "lost") for argument in ("--run", runs / name))
    yield from serving(log, *served, unready=["lost"])


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context(locale=getattr(request, "param", "en-US"), reduced_motion="reduce")
    watched = Watched.of(context.new_page())
    watched.page.set_default_timeout(60_000)
    watched.page.goto(f"{address}#training")
    yield watched.page
    context.close()
    assert watched.problems == []


def opened(page: Any, name: str) -> Any:
    page.locator(".controls select").first.select_option(name)
    page.locator(".timeline-map .region-word").first.wait_for()
    return page


def labels_of(runs: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((runs / name / "probes" / "step-00000008" / "labels.json").read_text())
    return found


def caption_of(label: dict[str, Any]) -> str:
    return "".join(label["target"][1:]).replace("▁", " ").strip()


def test_probes_are_named_by_image_and_caption(page: Any, runs: Path) -> None:
    options = opened(page, "looking").get_by_role("combobox", name="Image").locator("option").all_inner_texts()
    labels = labels_of(runs, "looking")
    assert [label["image"] for label in labels] == ["00000.png", "00002.png", "00003.png", "00005.png"]
    for option, label in zip(options, labels, strict=True):
        assert option.removesuffix("…") in f"{label['image']}: {caption_of(label)}"


@pytest.mark.parametrize("name", SIDES)
def test_each_word_highlights_its_image_regions(page: Any, runs: Path, name: str) -> None:
    opened(page, name).get_by_role("combobox", name="Image").select_option("1")
    label, side = labels_of(runs, name)[1], SIDES[name]
    words = page.locator(".timeline-map .region-word")
    expect(words).to_have_count(len(caption_of(label).split()))
    expect(words.locator("b")).to_have_text(caption_of(label).split())
    assert page.locator(".timeline-map .picture-seen").get_attribute("src").startswith("data:image/png")
    assert words.first.locator("image").first.get_attribute("href").startswith("data:image/png")
    for key, step in (("Home", 0), ("End", 8)):
        page.get_by_role("slider", name="Step of training").press(key)
        expect(page.locator(".timeline-step")).to_have_text(f"step {step}")
        maps = load_file(runs / name / "probes" / f"step-{step:08d}" / "attention.safetensors")
        (weights,) = [found for key, found in maps.items() if key.startswith("1/") and _is_of_picture(key)]
        weights = weights.astype(np.float32).mean(axis=0)[2]  # the row of the second word generates the third
        cells = words.nth(2).locator("svg").first.locator("rect[fill-opacity]")
        expect(cells).to_have_count(side**2)
        wanted = pytest.approx(0.8 * (1 - weights / weights.max()), abs=2e-3)
        assert settled(page, lambda cells=cells: cells.evaluate_all(DARKNESS), wanted) == wanted


def _is_of_picture(name: str) -> bool:
    return name.endswith(("image_attention", "cross_attention"))


def test_missing_images_are_replaced_by_grids_and_names(page: Any, runs: Path) -> None:
    opened(page, "lost")
    options = page.get_by_role("combobox", name="Image").locator("option").all_inner_texts()
    assert len(set(options)) == len(options)
    for option, label in zip(options, labels_of(runs, "lost"), strict=True):
        assert option.removesuffix("…") in caption_of(label)
    assert page.locator(".timeline-map .picture-seen").count() == 0
    first = page.locator(".timeline-map .region-word").first.locator("svg").first
    assert first.locator("image").count() == 0
    assert first.locator("rect[fill-opacity]").count() == 16


def test_model_without_attention_has_none_in_training(page: Any) -> None:
    page.locator(".controls select").first.select_option("blind")
    expect(page.get_by_text("This model has no attention.")).to_be_visible()
    expect(page.get_by_text("No attention has been saved yet")).to_have_count(0)


def test_cider_is_plotted_as_the_journal_has_it(page: Any, runs: Path) -> None:
    opened(page, "looking")
    events = [json.loads(line) for line in (runs / "looking" / "events.jsonl").read_text().splitlines()]
    last = [event for event in events if event["event"] == "validation"][-1]
    plot = page.get_by_role("group", name="CIDEr-D.")
    plot.press("End")
    result = page.locator(".lines", has=plot).locator(".read-out").inner_text()
    assert float(re.search(r"CIDEr-D ([\d.]+)", result)[1]) == pytest.approx(last["cider"], rel=6e-3)  # type: ignore[index]


def test_other_attentions_of_a_captioner_are_token_maps(page: Any) -> None:
    opened(page, "heads")
    choice = page.get_by_role("combobox", name="Attention")
    choice.select_option(label="Decoder, self (masked), layer 1")
    expect(page.locator(".timeline-map .map-area")).to_be_visible()
    choice.select_option(label="Image encoder, self, layer 1")
    expect(page.locator(".timeline-map .map-drawing")).to_contain_text("4,4")
    page.locator(".timeline-map .map-area").press("End")
    expect(page.locator(".timeline-map .map-readout")).to_contain_text("1,1 → 4,4")
    choice.select_option(label="Decoder to image, layer 1")
    expect(page.locator(".timeline-map .region-word").first).to_be_visible()


def test_nothing_mentions_sentences_to_translate(page: Any) -> None:
    opened(page, "looking")
    result = page.locator("main").inner_text()
    assert not re.search(r"translat|\btokens attended to|\bsource\b", result, re.IGNORECASE)


@pytest.mark.parametrize("page", ["ko-KR"], indirect=True)
def test_korean_page_passes_axe(page: Any, axe: str) -> None:
    opened(page, "looking")
    expect(page.get_by_text("학습하는 동안 기록한 한 이미지의 어텐션이에요.")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.evaluate(axe)
    assert problems(page) == []

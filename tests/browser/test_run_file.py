"""`regard show --run`: the course of a training in one file, opened from disk with the network off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from regard.plotting import run_data
from tests.browser.conftest import Watched
from tests.browser.test_axe import problems
from tests.browser.test_training import journal
from tests.support.commands import run_command


@pytest.fixture
def opened(browser: Any) -> Iterator[Watched]:
    context = browser.new_context(
        offline=True, locale="en-US", viewport={"width": 1200, "height": 900}, reduced_motion="reduce"
    )
    seen = Watched.of(context.new_page())
    seen.page.set_default_timeout(60_000)
    yield seen
    context.close()
    assert seen.problems == []
    assert [url for url in seen.requests if not url.startswith(("file:", "blob:", "data:"))] == []


@pytest.fixture(scope="module")
def file(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "training.html"
    ended = run_command("show", "--run", corpus / "runs" / "transformer", "--out", out)
    assert ended.code == 0, ended.err
    assert "shows: the training of transformer" in ended.err
    return out


def test_training_is_shown_from_first_map_to_last(opened: Watched, file: Path, corpus: Path) -> None:
    page = opened.page
    page.goto(file.as_uri())
    expect(page.locator(".timeline-map .map-area")).to_be_visible()
    expect(page.locator(".progress-line")).to_contain_text("step 60 of 60")
    steps = [event["step"] for event in journal(corpus) if event["event"] == "probe"]
    slider = page.locator(".timeline-ruler input[type=range]")
    result = []
    for place in range(len(steps)):
        slider.fill(str(place))
        result.append(page.locator(".timeline-step").inner_text())
    assert result == [f"step {step}" for step in steps]
    samples = [event for event in journal(corpus) if event["event"] == "validation"][-1]["samples"]
    expect(page.locator("table.samples tbody tr")).to_have_count(len(samples))
    assert page.locator(".views a").count() == 1
    assert not page.get_by_text("To keep this file small").is_visible()


def test_layers_and_heads_can_be_chosen_in_korean(opened: Watched, file: Path) -> None:
    page = opened.page
    page.goto(file.as_uri())
    expect(page.locator(".timeline-map .map-area")).to_be_visible()
    page.get_by_role("combobox", name="Attention").select_option(index=0)
    page.get_by_role("combobox", name="Head").select_option(index=1)
    expect(page.locator(".timeline-map .map-area")).to_be_visible()
    page.click("button[lang=ko]")
    expect(page.get_by_role("heading", name="어텐션 타임라인")).to_be_visible()
    assert not page.query_selector("main.panel .problem")


def test_run_file_passes_axe(opened: Watched, file: Path, axe: str) -> None:
    opened.page.goto(file.as_uri())
    expect(opened.page.locator(".timeline-map .map-area")).to_be_visible()
    opened.page.evaluate(axe)
    assert problems(opened.page) == []


def test_file_with_omissions_lists_them(
    opened: Watched, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.cli import run as run_command

    monkeypatch.setattr(run_data, "MAX_MAP_BYTES", 5000)
    directory = corpus / "runs" / "transformer"
    assert run_command(["show", "--run", str(directory), "--out", str(tmp_path / "small.html")]) == 0
    opened.page.goto((tmp_path / "small.html").as_uri())
    expect(opened.page.get_by_text("To keep this file small")).to_be_visible()
    expect(opened.page.locator(".timeline-map .map-area")).to_be_visible()

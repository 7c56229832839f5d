"""Training: a run's curves and samples out of its journal, its attention timeline, and a run that is under way."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from safetensors.numpy import load_file

from tests.browser.conftest import Open, Watched, serving
from tests.support.browser import settled


def journal(corpus: Path, name: str = "transformer") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (corpus / "runs" / name / "events.jsonl").read_text().splitlines()]


def opened_run(page: Any, name: str = "transformer") -> Any:
    page.get_by_role("combobox", name="Run").select_option(name)
    expect(page.locator(".timeline-map .map-area")).to_be_visible()
    return page


def test_progress_line_shows_how_it_ended(open_page: Open, corpus: Path) -> None:
    page = opened_run(open_page("training"))
    best = [event for event in journal(corpus) if event["event"] == "validation" and event["is_best"]][-1]
    line = page.locator(".progress-line")
    expect(line).to_contain_text("step 60 of 60")
    expect(line).to_contain_text(f"best BLEU {best['bleu']:.1f} at step {best['step']}")


def test_curves_read_out_the_journals_numbers(open_page: Open, corpus: Path) -> None:
    page = opened_run(open_page("training"))
    last = [event for event in journal(corpus) if event["event"] == "progress"][-1]
    validation = [event for event in journal(corpus) if event["event"] == "validation"][-1]
    losses = {"training": last["loss"], "validation": validation["loss"]}
    for title, names in (("Loss", losses), ("Validation scores", {"BLEU": validation["bleu"]})):
        plot = page.get_by_role("group", name=f"{title}.")
        plot.press("End")
        result = page.locator(".lines", has=plot).locator(".read-out").inner_text()
        assert result.startswith("step 60:")
        for name, value in names.items():
            shown = re.search(rf"{name} ([\d.]+)", result)
            assert shown, result
            assert float(shown[1]) == pytest.approx(value, rel=6e-3)


def test_samples_show_outputs_and_mark_differences(open_page: Open, corpus: Path) -> None:
    page = opened_run(open_page("training"))
    validations = [event for event in journal(corpus) if event["event"] == "validation"]
    table = page.locator("table.samples")
    for index, sample in enumerate(validations[-1]["samples"]):
        for column, text in enumerate(sample):
            expect(table.locator("tbody tr").nth(index).locator("td").nth(column)).to_have_text(
                re.compile(re.escape(text))
            )
    page.get_by_role("slider", name="Validation").press("Home")
    expect(table).to_contain_text(f"Step {validations[0]['step']}")


def test_timeline_shows_saved_maps_step_by_step(open_page: Open, corpus: Path) -> None:
    page = opened_run(open_page("training", reduced_motion="reduce"))
    slider = page.get_by_role("slider", name="Step of training")
    for key, step in (("Home", 0), ("ArrowRight", 25), ("End", 60)):
        slider.press(key)
        expect(page.locator(".timeline-step")).to_have_text(f"step {step}")
        saved = saved_weight(corpus, step)
        assert settled(page, lambda: first_weight(page), saved) == saved
        slider.focus()


def saved_weight(corpus: Path, step: int) -> Any:
    """The number in the first row and column of the map that the page shows at a step, as the run has it."""
    maps = load_file(corpus / "runs" / "transformer" / "probes" / f"step-{step:08d}" / "attention.safetensors")
    name = max(name for name in maps if name.startswith("0/") and "cross" in name)
    return pytest.approx(float(maps[name].astype("f4").mean(axis=0)[0, 0]), abs=1e-3)


def first_weight(page: Any) -> float:
    """The map's number in its first row and column, as announced to keyboard users."""
    area = page.locator(".timeline-map .map-area")
    area.blur()
    area.press("Home")
    return float(page.inner_text(".timeline-map .map-readout .number"))


def test_hovered_cell_shows_its_weight_at_each_step(open_page: Open, corpus: Path) -> None:
    page = opened_run(open_page("training", reduced_motion="reduce"))
    slider = page.get_by_role("slider", name="Step of training")
    number = page.locator(".timeline-map .map-readout .number")
    page.locator(".timeline-map .map-drawing rect").first.hover()
    for key, step in (("Home", 0), ("End", 60)):
        slider.press(key)
        expect(page.locator(".timeline-step")).to_have_text(f"step {step}")
        saved = saved_weight(corpus, step)
        assert settled(page, lambda: float(number.inner_text()), saved) == saved


def test_timeline_plays_to_its_end_and_stops(open_page: Open) -> None:
    page = opened_run(open_page("training"))
    slider = page.get_by_role("slider", name="Step of training")
    slider.press("Home")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".timeline-step")).to_have_text("step 60")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_attention_sharpens_during_training(open_page: Open) -> None:
    page = opened_run(open_page("training"))
    plot, result = page.get_by_role("group", name="Number of tokens attended to"), page.locator(".focus-plot .read-out")
    expect(result).to_contain_text("step 60: tokens")
    last = float(result.inner_text().split()[-1])
    plot.press("Home")
    expect(result).to_contain_text("step 0: tokens")
    assert last < float(result.inner_text().split()[-1])


@pytest.fixture
def half_way(corpus: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """A run that seems to be under way, and the lines of its journal that are still to come."""
    directory = tmp_path / "under-way"
    shutil.copytree(corpus / "runs" / "transformer", directory, ignore=shutil.ignore_patterns("model", "token_store"))
    lines = (directory / "events.jsonl").read_text().splitlines(keepends=True)
    middle = next(index for index, line in enumerate(lines) if '"validation"' in line) + 2
    progress = next(event for line in lines if (event := json.loads(line))["event"] == "progress")
    now = json.dumps(progress | {"step": 30, "seconds": 3.0}) + "\n"
    (directory / "events.jsonl").write_text("".join([*lines[:middle], now]))
    (directory / "lock").write_text(str(os.getpid()))
    return directory, lines[middle:]


def axis_numbers(plot: Any) -> list[str]:
    """The numbers along the step axis."""
    found = "plot => [...plot.querySelectorAll('text')].filter(one => one.getAttribute('text-anchor') === 'middle')"
    result: list[str] = plot.locator("svg").evaluate(f"({found}.map(one => one.textContent))")
    return [text for text in result if text.replace(",", "").lstrip("−").replace(".", "").isdigit()]


def test_step_axis_spans_the_run_before_any_data(
    browser: Any, half_way: tuple[Path, list[str]], tmp_path: Path
) -> None:
    directory, _ = half_way
    lines = (directory / "events.jsonl").read_text().splitlines(keepends=True)
    (directory / "events.jsonl").write_text("".join(line for line in lines if json.loads(line)["step"] == 0))
    for address in served(tmp_path, directory):
        page = browser.new_page(locale="en-US")
        page.goto(f"{address}#training")
        expect(page.locator(".focus-plot .read-out")).to_contain_text("step 0: tokens")
        for name, is_blank in (("Validation scores.", True), ("Number of tokens attended to.", False)):
            plot = page.get_by_role("group", name=name)
            assert [axis_numbers(plot)[0], axis_numbers(plot)[-1]] == ["0", "60"]
            assert plot.get_by_text("none yet").count() == is_blank
        page.close()


def test_run_in_progress_is_followed_to_its_end(browser: Any, half_way: tuple[Path, list[str]], tmp_path: Path) -> None:
    directory, coming = half_way
    for address in served(tmp_path, directory):
        seen = Watched.of(browser.new_page(locale="en-US"))
        seen.page.goto(f"{address}#training")
        expect(seen.page.locator(".progress-line")).to_contain_text("step 30 of 60")
        expect(seen.page.locator(".progress-line")).to_contain_text("left")
        with (directory / "events.jsonl").open("a") as file:
            file.writelines(coming)
        expect(seen.page.locator(".progress-line")).to_contain_text("step 60 of 60")
        expect(seen.page.locator(".progress-line")).to_contain_text("took")
        expect(seen.page.locator(".timeline-step")).to_have_text("step 60")
        seen.page.close()
        assert seen.problems == []


def served(folder: Path, run: Path) -> Iterator[str]:
    """A server of a run that leaves no model."""
    yield from serving(folder / "serve.log", "--run", run, unready=[run.name])


def test_a_run_that_ended_without_maps_promises_none(browser: Any, corpus: Path, tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns("model", "token_store", "probes")
    directory = shutil.copytree(corpus / "runs" / "transformer", tmp_path / "bare", ignore=left_out)
    lines = (directory / "events.jsonl").read_text().splitlines(keepends=True)
    (directory / "events.jsonl").write_text("".join(line for line in lines if '"probe"' not in line))
    for address in served(tmp_path, directory):
        page = browser.new_page(locale="en-US")
        page.goto(f"{address}#training")
        expect(page.get_by_text("This run has saved no attention.")).to_be_visible()
        expect(page.get_by_text("The first map is saved at the first step.")).to_have_count(0)
        page.close()


def test_training_is_available_in_korean(open_page: Open) -> None:
    page = open_page("training", locale="ko-KR")
    expect(page.locator(".progress-line")).to_contain_text("60스텝 중 60스텝")


def test_model_samples_fit_a_narrow_screen(open_page: Open) -> None:
    page = opened_run(open_page("training", viewport={"width": 390, "height": 800}))
    output = page.locator("table.samples tbody tr").first.locator("td").last
    box = output.bounding_box()
    assert box["x"] + box["width"] <= 390
    assert output.evaluate("cell => getComputedStyle(cell, '::before').content") == '"the model"'

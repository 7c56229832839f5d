"""Interaction times of the page in Chromium: with 512 tokens the target is 100 milliseconds, for What if 300 and 1000.

    .venv/bin/python benchmarks/page.py runs/world-transformer/model            # about two minutes
    .venv/bin/python benchmarks/page.py src/regard/pretrained/world-en-ko --parts what-if

Each line is one interaction: median and 95th percentile, in milliseconds, from the input event (when the system made
it) until the frame that shows its outcome has been handed over. For a hover that is the next frame; for a choice, the
one in which the chosen map is on the page. An interaction that fetches maps is marked and has no target. What if is
measured with a sentence of 21 words: a head is disabled, and the importance of every head is shown.
`load` is the load average: above the number of cores, every time is longer.
The exit code is 1 if a 95th percentile misses the target.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from regard.bundle import load_bundle

BAR, CHANGE_BAR, IMPORTANCE_BAR = 100.0, 300.0, 1000.0  # milliseconds
TOKENS = 511  # and the end of the sentence
HOVERS, CHOICES, CHANGES = 120, 40, 10
LOOK = 1000  # milliseconds in which a reader looks at a changed output before the next click
WITHOUT_CHANGE = 4000  # milliseconds: a click that has changed nothing by then changes nothing
DEMO_SENTENCE = "AI changes the world"
PARTS = ("what-if", "maps")
SENTENCE = "the king reads a book in the old house because the small dog sleeps and we sing a song at six o'clock"

WATCH = """() => {
  window.taken = [];
  const painted = (act) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = act;
    channel.port2.postMessage(0);
  });
  const take = (event) => painted(() => window.taken.push(performance.now() - event.timeStamp));
  addEventListener("pointermove", take, true);
  window.expectChange = (selector) => {
    const from = () => document.querySelector(selector)?.textContent;
    const before = from();
    for (const kind of ["click", "keydown"]) addEventListener(kind, (event) => {
      const watcher = new MutationObserver(() => {
        if (from() === before || !from()) return;
        watcher.disconnect();
        take(event);
      });
      watcher.observe(document.querySelector("main.panel"), { childList: true, subtree: true, characterData: true });
    }, { capture: true, once: true });
  };
}"""


def long_text(model: Path) -> str:
    """Words of which the model's tokenizer makes as many tokens as a trace may have."""
    tokenizer = load_bundle(model).tokenizers.source
    words = SENTENCE.split()
    text = " ".join(words[index % len(words)] for index in range(TOKENS))
    while len(tokenizer.encode(text)) > TOKENS:
        text = text.rsplit(" ", 1)[0]
    return text


@contextmanager
def served(model: Path) -> Iterator[str]:
    """The address of a server of that model; its log goes to a file, so that it never waits for a reader."""
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", "0"]
    with tempfile.NamedTemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            while not (found := re.search(r"^regard: (http\S+)", Path(log.name).read_text(), re.MULTILINE)):
                assert server.poll() is None, Path(log.name).read_text()
                time.sleep(0.1)
            yield found[1]
        finally:
            server.terminate()


def opened(browser: Browser, address: str, text: str) -> Page:
    """The Heads view with the long text traced and the encoder's maps in view."""
    page = browser.new_page(viewport={"width": 1280, "height": 1400}, locale="en-US")
    page.goto(f"{address}#heads")
    page.wait_for_selector(".map-area")
    page.fill("textarea", text)
    page.click("form button[type=submit]")
    page.wait_for_selector(".map-area canvas", timeout=120_000)
    page.evaluate(WATCH)
    return page


def taken(page: Page) -> list[float]:
    """The times since the last call."""
    return [float(time) for time in page.evaluate("window.taken.splice(0)")]


def hover(page: Page) -> list[float]:
    """Times from a move of the pointer over the large map to its read-out."""
    box = page.locator(".map-area").bounding_box()
    assert box is not None
    taken(page)
    for _ in range(HOVERS):
        page.mouse.move(
            box["x"] + random.uniform(20, box["width"] - 20), box["y"] + random.uniform(20, box["height"] - 20)
        )
        page.wait_for_timeout(15)
    assert page.inner_text(".map-readout").strip(), "the cursor reads nothing out"
    return taken(page)


def chosen(
    page: Page, selectors: list[str], change: str, *, count: int, by_key: bool = False, pause: int = 60
) -> list[float]:
    """Times from a click (or Enter) on one button after the other to the frame in which `change` has other words.

    `pause` is the time between them in milliseconds. What leaves these words as they are has no time.
    """
    found = []
    for index in range(count):
        button = page.locator(selectors[index % len(selectors)])
        button.scroll_into_view_if_needed()
        page.mouse.move(2, 2)
        page.wait_for_timeout(pause)
        taken(page)
        page.evaluate("(selector) => window.expectChange(selector)", change)
        if by_key:
            button.press("Enter")
        else:
            button.dispatch_event("click")
        for _ in range(WITHOUT_CHANGE // 20):
            if times := taken(page):
                found.append(times[-1])
                break
            page.wait_for_timeout(20)
    return found


def interactions(page: Page) -> Iterator[tuple[str, list[float], float | None]]:
    """Each interaction's name, times, and target; one that waits for maps of the server has none."""
    title, use = ".heads-body .card h2", ".heads-body .segments button"
    thumbs = page.locator(".head-thumb").count()
    every = [f".head-thumb >> nth={index}" for index in range(thumbs)]
    yield (
        "switch to the encoder's attention (fetches)",
        chosen(page, [f"{use} >> text='Encoder, self'"], title, count=1),
        None,
    )
    page.wait_for_timeout(4000)  # until all small maps are there
    yield "hover over 512 x 512", hover(page), BAR
    yield "enlarge a head", chosen(page, every[1:] + every[:1], title, count=CHOICES), BAR
    yield "enlarge a head by Enter", chosen(page, every[1:] + every[:1], title, count=CHOICES, by_key=True), BAR
    units = [f"{use} >> text=words", f"{use} >> text=tokens"]
    yield "tokens to words and back", chosen(page, units, ".heads-body .segments [aria-pressed=true]", count=20), BAR
    yield (
        "switch the attention (fetches)",
        chosen(page, [f"{use} >> text=/^Decoder, self/", f"{use} >> text='Encoder, self'"], title, count=10),
        None,
    )


def changes(browser: Browser, address: str) -> Iterator[tuple[str, list[float], float | None]]:
    """What if: the next tokens of the changed model after a click on a head, and the numbers of all heads."""
    for text in (DEMO_SENTENCE, SENTENCE):
        page = browser.new_page(viewport={"width": 1280, "height": 1400}, locale="en-US")
        page.goto(f"{address}#translate?{urlencode({'text': text, 'what_if': '1'})}")
        page.wait_for_selector(".head-switch", timeout=120_000)
        page.evaluate(WATCH)
        heads = [f".head-switch >> nth={index}" for index in range(page.locator(".head-switch").count())]
        times = chosen(page, heads, ".prediction-bars", count=CHOICES + 1, pause=LOOK)
        words = len(text.split())
        # The first click also adds the column of the changed model.
        yield f"disable or enable a head, {words} words", times[1:], CHANGE_BAR
        needs, found = "input[name=needs]", []
        for _ in range(CHANGES):
            found += chosen(page, [needs], ".head-boards", count=1)
            page.locator(needs).dispatch_event("click")  # and hide the numbers again
            page.wait_for_timeout(100)
        yield f"importance of every head, {words} words", found, IMPORTANCE_BAR
        page.close()


def row(name: str, times: list[float], bar: float | None) -> dict[str, Any]:
    """The row of an interaction."""
    high = sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]
    figures = {"count": len(times), "median_ms": round(statistics.median(times), 1), "p95_ms": round(high, 1)}
    return {"interaction": name, **figures, "load": round(os.getloadavg()[0], 1), "holds": bar is None or high <= bar}


def measure(model: Path, parts: list[str]) -> Iterator[dict[str, Any]]:
    """One row for each interaction of these parts."""
    executable = (
        shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("there is no Chromium on the PATH")
    )
    text = long_text(model)
    with served(model) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, times, bar in chain(
            changes(browser, address) if "what-if" in parts else (),
            interactions(opened(browser, address, text)) if "maps" in parts else (),
        ):
            if times:
                yield row(name, times, bar)
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    arguments = parser.parse_args()
    all_hold = True
    for result in measure(arguments.model, arguments.parts):
        print(json.dumps(result), flush=True)
        all_hold = all_hold and result["holds"]
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())

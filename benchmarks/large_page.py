"""The page with large models in Chromium: how long each action takes, and how long the page does not react.

    python -m benchmarks.large_page                                     # random models of these sizes: a minute
    python -m benchmarks.large_page --models zh-en minilm smollm2       # imported ones

The random models have 12 x 12 heads (BERT-base, GPT-2) and 30 x 9 heads (SmolLM2), and 65,000 words (OPUS-MT). For each
action a JSON line: `shown_ms` until the page shows its outcome, with the server's part, and `blocked_ms`, the longest
task of the page's thread meanwhile: so long it reacts to nothing. The exit code is 1 if one exceeds 300 milliseconds.
`load` is the load average: above the number of cores, every time is longer.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from benchmarks.page import served
from playwright.sync_api import Page, sync_playwright

from regard.bundle import new_bundle, save_bundle
from regard.config import Config, DecoderOnlyConfig, EncoderOnlyConfig, TransformerStackConfig
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

MOST_BLOCKED = 300.0  # milliseconds
WORDS = 65_000
SENTENCE = "w7 w11 w13 w17 w19 w23 w29 w31 w37 w41 w43 w47"
WATCH = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask", buffered: true });
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=Path, nargs="+", help="directories [default: random models]")
    parser.add_argument("--text", default=SENTENCE, help="to trace [default: %(default)s]")
    given = parser.parse_args()
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        parser.error("there is no Chromium on the PATH")
    longest = 0.0
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for model in given.models or random_models(Path(folder)):
            with served(model) as address:
                page = browser.new_page(viewport={"width": 1280, "height": 1000}, locale="en-US")
                page.add_init_script(f"({WATCH})()")
                for row in actions(page, address, given.text):
                    longest = max(longest, float(str(row["blocked_ms"])))
                    print(json.dumps({"model": model.name} | row), flush=True)
                page.close()
        browser.close()
    return 0 if longest <= MOST_BLOCKED else 1


def random_models(folder: Path) -> Iterator[Path]:
    """A model of each kind with many heads and words; they are narrow, because only their number matters here."""
    words = " ".join(f"w{number}" for number in range(WORDS))
    tokenizer = Tokenizer.train([words], model_type="word", vocab_size=WORDS + 8)
    both = TokenizerPair(tokenizer, tokenizer)
    encoder = TransformerStackConfig(layers=12, width=48, heads=12, ffn_width=48)
    decoder = TransformerStackConfig(layers=30, width=36, heads=9, ffn_width=36)
    for name, config in {
        "heads-12x12": EncoderOnlyConfig(transformer=encoder),
        "heads-30x9": DecoderOnlyConfig(transformer=decoder),
    }.items():
        save_bundle(folder / name, new_bundle(Config(model=config), both))
        yield folder / name


def actions(page: Page, address: str, text: str) -> Iterator[dict[str, object]]:
    """Open Heads, read all maps, choose one, list the words, and open Inside."""

    def measured(action: str, act: Callable[[], object]) -> dict[str, object]:
        page.evaluate("window.tasks = []")
        start = time.perf_counter()
        act()
        shown = 1000 * (time.perf_counter() - start)
        page.wait_for_timeout(300)
        blocked = max(page.evaluate("window.tasks"), default=0.0)
        load = round(os.getloadavg()[0], 1)
        return {"action": action, "shown_ms": round(shown), "blocked_ms": round(blocked), "load": load}

    def choose_last_head() -> None:
        page.locator(".head-thumb").last.click()
        page.wait_for_selector(".head-row:last-child .head-thumb[aria-pressed=true]")

    def open_words() -> None:
        page.locator(".composer-head button[aria-expanded]").click()
        page.wait_for_selector(".word-list button")

    page.goto(address)  # the page itself is loaded before anything is measured
    page.wait_for_selector("main")
    url = f"{address}#heads?{urlencode({'text': text})}"
    yield measured("open Heads", lambda: (page.goto(url), page.wait_for_selector(".map-area", timeout=120_000)))
    yield measured("draw every small map", lambda: scroll_to_the_end(page))
    yield measured("enlarge another head", choose_last_head)
    page.evaluate("scrollTo(0, 0)")
    yield measured("list the words", open_words)
    yield measured("filter the words", lambda: page.locator(".word-list input").press_sequentially("w64"))
    url = f"{address}#inside?{urlencode({'text': text, 'mode': 'own'})}"
    yield measured("open Inside", lambda: (page.goto(url), page.wait_for_selector(".step-map", timeout=120_000)))


def scroll_to_the_end(page: Page) -> None:
    """Until the maps of the last row are painted."""
    for row in range(page.locator(".head-row").count()):
        page.locator(".head-row").nth(row).scroll_into_view_if_needed()
        page.locator(".head-row").nth(row).locator("canvas.is-painted").first.wait_for(timeout=60_000)


if __name__ == "__main__":
    sys.exit(main())

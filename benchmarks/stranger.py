"""The first minutes of a new user, timed: `git clone`, `make demo`, a clicked word; and the screenshots of the README.

    .venv/bin/python benchmarks/stranger.py                                     # a fresh clone in a folder of its own
    .venv/bin/python benchmarks/stranger.py --installed                         # `regard demo` of this environment
    .venv/bin/python benchmarks/stranger.py --demo http://127.0.0.1:8000/       # a demo that is running already
    .venv/bin/python benchmarks/stranger.py --demo ... --pictures docs/images   # its views as PNG files

Each stage is a JSON line with the seconds since the first command; a browser with an empty tab is open before it, as a
user's is. Then follow the requests and bytes of a first visit,
and how many of 30 visitors at once, all from one address, see the page. Needs git, make and an installed Chromium.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SENTENCE = "I would like a cup of coffee, please."
VISITORS = 30
NAMES = ["chromium", "chromium-browser", "google-chrome", "chrome"]
PATIENCE = 1200  # seconds until a model must be ready
PICTURES = {  # the address of each, and options of the browser
    **{view: (view, {}) for view in ("translate", "inside", "heads", "positions", "compare", "training")},
    "language": ("language?model=world-encoder-only", {}),
    "what-if": ("translate?what_if=1&changes=cross.1.1%3Dzero&needs=1", {}),
    "translate-ko-dark": ("translate", {"locale": "ko-KR", "color_scheme": "dark"}),
}


class Watch:
    """Seconds since the first command, printed at each stage."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def report(self, stage: str) -> None:
        print(json.dumps({"stage": stage, "seconds": round(time.monotonic() - self.begun, 1)}), flush=True)


@contextmanager
def fresh_demo(watch: Watch) -> Iterator[str]:
    """Clone the project and call `make demo` in it; gives the page's address."""
    with tempfile.TemporaryDirectory(prefix="regard-stranger-") as place:
        clone = Path(place) / "regard"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        watch.report("cloned")
        demo = subprocess.Popen(["make", "demo"], cwd=clone, stdout=subprocess.PIPE, text=True, process_group=0)
        assert demo.stdout is not None
        address = next((found[1] for line in demo.stdout if (found := re.search(r"The page: (\S+)", line))), None)
        assert address, "the demo ended before it had an address"
        watch.report("the page answers")
        try:
            yield address
        finally:
            os.killpg(demo.pid, signal.SIGINT)
            demo.communicate(timeout=60)


@contextmanager
def installed_demo(watch: Watch) -> Iterator[str]:
    """`regard demo` of this environment in an empty folder: what a user has after the set-up."""
    with tempfile.TemporaryDirectory(prefix="regard-stranger-") as folder:
        command = [sys.executable, "-m", "regard", "demo", "--no-browser", "--port", "0"]
        demo = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, process_group=0)
        assert demo.stdout is not None
        address = next((found[1] for line in demo.stdout if (found := re.search(r"The page: (\S+)", line))), None)
        assert address, "the demo ended before it had an address"
        watch.report("the page answers")
        try:
            yield address
        finally:
            os.killpg(demo.pid, signal.SIGINT)
            demo.communicate(timeout=60)


def first_visit(browser: Any, address: str) -> None:
    """The requests of a visit with an empty cache, and the bytes that they transfer."""
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    sizes: list[float] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    page.wait_for_selector("main.panel *")
    page.wait_for_load_state("networkidle")
    print(json.dumps({"first visit": {"requests": len(sizes), "kB": round(sum(sizes) / 1000, 1)}}), flush=True)
    context.close()


def many_visitors(browser: Any, address: str) -> None:
    """All open the page before the first waits for it; a blank page has nothing in its main part."""
    pages = [browser.new_context().new_page() for _ in range(VISITORS)]
    for page in pages:
        page.goto(address, wait_until="commit")
    seen = 0
    for page in pages:
        with suppress(Exception):
            page.wait_for_selector("main.panel *", timeout=60_000)
            seen += bool(page.inner_text("main.panel").strip())
    print(json.dumps({"visitors at once": VISITORS, "see the page": seen}), flush=True)


def click_a_word(page: Any, address: str, watch: Watch) -> None:
    """Type a sentence as soon as a model can translate it, and click a word of the translation."""
    page.goto(f"{address}#translate")
    page.wait_for_selector("#source-text", timeout=PATIENCE * 1000)
    watch.report("the page is open")
    page.fill("#source-text", SENTENCE)
    page.focus("#source-text")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".word-row-source .word >> text={SENTENCE.split()[-2]}", timeout=PATIENCE * 1000)
    page.wait_for_selector(".word-row-target .word")
    watch.report("the sentence is translated")
    page.click(".word-row-target .word >> nth=1")
    page.wait_for_selector(".word-detail")
    watch.report(f"a word was clicked: {page.inner_text('.word-row-target')!r}")


def take_pictures(browser: Any, address: str, folder: Path) -> None:
    """The screenshots of the docs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (view, options) in PICTURES.items():
        context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1200, "height": 860}, **options})
        page = context.new_page()
        page.goto(f"{address}#translate")
        page.wait_for_selector(".word-row-target .word")
        page.click(".word-row-target .word >> nth=1")
        page.goto(f"{address}#{view}")
        page.wait_for_timeout(4000)  # what comes from the server is drawn
        page.screenshot(path=folder / f"{name}.png")
        print(json.dumps({"picture": str(folder / f"{name}.png")}), flush=True)
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demo", help="address of a demo that is running")
    parser.add_argument("--installed", action="store_true", help="no clone and no set-up")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of every view")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from playwright.sync_api import sync_playwright

    executable = next(path for name in NAMES if (path := shutil.which(name)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto("about:blank")  # a user's browser is open already
        watch = Watch()
        fresh = installed_demo if options.installed else fresh_demo
        with nullcontext(options.demo) if options.demo else fresh(watch) as address:
            click_a_word(tab, address, watch)
            first_visit(browser, address)
            many_visitors(browser, address)
        if options.pictures and options.demo:
            take_pictures(browser, options.demo, options.pictures)
        browser.close()


if __name__ == "__main__":
    main()

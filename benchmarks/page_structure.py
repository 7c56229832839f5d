"""The page before and after it was rebuilt from components: size, requests and times, as one table.

    npm install && .venv/bin/python benchmarks/page_structure.py      # about two minutes; needs git, Node, Chromium

"Before" is the commit ea3c505, unpacked into a temporary folder. Lines are counted after Biome has formatted both.
Times are medians in one Chromium, from the input until script and layout are done. The machine's load stretches all of
them alike: believe the ratios. The exit code is 1 if an acceptance bound is missed.
"""

import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from regard.web.bundle import bundle
from regard.web.pages import FOLDER, served_page

ROOT = Path(__file__).parents[1]
BEFORE = "ea3c505"
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
DOM_SITE = re.compile(
    r"(?<![.\w])clear\(|\.append\(|\.replaceChildren\(|\.replaceWith\(|\.setAttribute\(|\.removeAttribute\(|\.toggleAttribute\("
    r"|\.classList\b|\.textContent\s*=|\.innerHTML|\.remove\(\)|\.hidden\s*=|\.disabled\s*=|(?<!document)\.title\s*=|\.value\s*="
    r"|addEventListener\("
)
STORE_OR_SIGNAL = re.compile(r"\b\w+\.value\s*=(?!=)")  # in the new page `.value =` sets a signal, not an input
UNTYPED = ("TS7006", "TS7019", "TS7031")
MAX_REQUESTS, MAX_BYTES, MAX_RATIO, MIN_INSIDE = 8, 160_000, 1.3, 3.0
WORDS = 64  # rows and columns of the map that is timed
ROUNDS = 41


@dataclass(frozen=True)
class Side:
    """One version of the page: its modules, and a folder to write its files to."""

    modules: Path
    folder: Path
    is_new: bool


def main() -> int:
    """Print the table; 1 if a bound is missed."""
    with tempfile.TemporaryDirectory() as name:
        before = unpack(Path(name))
        rows = [*size_rows(before.modules), *delivery_rows(before.modules), *time_rows(before, Path(name))]
    print(f"\n| | before ({BEFORE}) | after |\n|---|---|---|")
    for label, old, new in rows:
        print(f"| {label} | {old} | {new} |")
    return check({label: (old, new) for label, old, new in rows})


Row = tuple[str, Any, Any]


def unpack(folder: Path) -> Side:
    """The old commit in a folder."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", BEFORE], capture_output=True, check=True).stdout
    tree = folder / "before"
    tree.mkdir()
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    return Side(tree / "src" / "regard" / "view" / "page", tree, is_new=False)


# --- size


def size_rows(old: Path) -> Iterator[Row]:
    """Files, formatted lines, imperative DOM sites, typed parameters."""
    both = [(old, False), (FOLDER, True)]
    scripts = [[path for path in sorted(folder.rglob("*.js")) if path.name != "api_types.d.ts"] for folder, _ in both]
    yield "files (JavaScript, JSON, CSS, types)", *(len(sources(folder)) for folder, _ in both)
    yield "lines of JavaScript, formatted", *(formatted_lines(folder, ".js") for folder, _ in both)
    yield "lines of messages, formatted", *(formatted_lines(folder, ".json", "_en.js", "_ko.js") for folder, _ in both)
    yield "lines of CSS, formatted", *(formatted_lines(folder, ".css") for folder, _ in both)
    yield "longest module", *(max(len(path.read_text("utf-8").splitlines()) for path in found) for found in scripts)
    yield "imperative DOM sites outside core/", *(dom_sites(folder, is_new) for folder, is_new in both)
    errors = [type_errors(folder) for folder, _ in both]
    yield "errors of tsc --strict", *map(len, errors)
    yield "of them parameters without a type", *(sum(code in UNTYPED for code in codes) for codes in errors)


def sources(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in (".js", ".json", ".css", ".ts")]


def formatted_lines(folder: Path, *endings: str) -> int:
    """Lines of the files with these endings, formatted by Biome; catalogues of messages count as messages."""
    is_message = any(ending.endswith(("_en.js", ".json")) for ending in endings)
    found = [
        path
        for path in sources(folder)
        if path.name.endswith(endings) and (is_message or not path.name.endswith(("_en.js", "_ko.js")))
    ]
    with tempfile.TemporaryDirectory() as name:
        copies = Path(name)
        for number, path in enumerate(found):
            shutil.copy(path, copies / f"{number}{path.suffix}")
        if found:
            options = ["--line-width=120", "--indent-style=space", "--indent-width=2", "--vcs-enabled=false"]
            subprocess.run(
                [tool("biome"), "format", "--write", *options, "."], cwd=copies, capture_output=True, check=False
            )
        return sum(len(path.read_text("utf-8").splitlines()) for path in copies.iterdir())


def dom_sites(folder: Path, is_new: bool) -> int:
    """Places that change the page by hand, outside of core/, of saving a file and of mounting the page."""
    count = 0
    for path in folder.rglob("*.js"):
        is_core = path.parent.name == "core" or path.name in ("make.js", "save.js", "saving.js", "mount_page.js")
        if is_core:
            continue
        for line in path.read_text("utf-8").splitlines():
            code = line.partition("//")[0]
            found = DOM_SITE.findall(STORE_OR_SIGNAL.sub("", code) if is_new else code)
            count += len([site for site in found if not (is_new and site == "addEventListener(")])
    return count


def type_errors(folder: Path) -> list[str]:
    """The codes of the errors of TypeScript's strict checker."""
    options = ["--allowJs", "--checkJs", "--noEmit", "--strict", "--target", "esnext", "--module", "esnext"]
    options += ["--moduleResolution", "bundler", "--resolveJsonModule", "--skipLibCheck", "--ignoreConfig"]
    files = [str(path) for path in folder.rglob("*.js")] + [str(path) for path in folder.rglob("*.d.ts")]
    output = subprocess.run(
        [tool("tsc"), *options, *files], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout
    return re.findall(r"error (TS\d+)", output)


def tool(name: str) -> str:
    path = ROOT / "node_modules" / ".bin" / name
    if not path.exists():
        sys.exit(f"{name} is not installed. Run: npm install")
    return str(path)


# --- delivery


def delivery_rows(old: Path) -> Iterator[Row]:
    """Requests and bytes of the page itself on a first visit, and of the views that it does not open with."""
    page = served_page()
    old_files = [path for path in old.iterdir() if path.name not in ("static.js", "widget.js", "embedded.js")]
    old_files = [path for path in old_files if not path.name.startswith("embedded_")]
    first = [file.compressed for name, file in page.files.items() if name.encode() in page.html]
    later = [file.compressed for name, file in page.files.items() if name.encode() not in page.html]
    yield "static requests of a first visit", len(old_files), 1 + len(first)
    yield "bytes sent for them", sum(path.stat().st_size for path in old_files), len(page.html) + sum(map(len, first))
    yield "requests for the other views, once", 0, len(later)
    yield "bytes sent for them, once", 0, sum(map(len, later))
    yield "requests of a later visit", len(old_files), 1
    yield (
        "kB of a single file's script, compressed",
        *(
            round(len(gzip.compress(text.encode(), 9)) / 1000)
            for text in (old_bundle(old, "static.js"), bundle(FOLDER / "entries" / "file.js"))
        ),
    )


def old_bundle(old: Path, entry: str) -> str:
    """A module of the old page and all that it imports, as its own bundler joins them."""
    code = f"import sys; from regard.view.page_file import one_module; sys.stdout.write(one_module({entry!r}))"
    return run_python(old.parents[3], code)


def run_python(tree: Path, code: str) -> str:
    """What a Python program prints that imports the package of a tree."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    if ended.returncode:
        sys.exit(ended.stderr)
    return ended.stdout


# --- times

OLD_FILE = """
import sys
from regard.view.page_data import page_data
from regard.view.page_file import html_file
from tests.view.small_traces import TRANSFORMER, trace_of
sys.stdout.write(html_file(page_data(trace_of(TRANSFORMER), name="small"), title="page"))
"""
NEW_FILE = """
import sys
from regard.plotting.html_data import trace_page_data
from regard.web.pages import render_html_file
from tests.support.traces import TRANSFORMER, trace_of
sys.stdout.write(render_html_file(trace_page_data(trace_of(TRANSFORMER), name="small"), title="page"))
"""
OLD_MAP = """
export function timedMap(root, labels, first) {
  const map = heatmap({ weights: first, rows: labels, columns: labels, title: "map", width: 640 });
  root.append(map.node);
  return (weights) => map.update(weights);
}
"""
NEW_MAP = """
import { heatmap } from "%(web)s/charts/heatmap.js";
import { Plot } from "%(web)s/charts/plot.js";
import { h, render } from "%(web)s/core/ui.js";
export function timedMap(root, labels, first) {
  const draw = (weights) => {
    const chart = heatmap({ weights, rows: labels, columns: labels, title: "map" }, { width: 640 });
    render(h(Plot, { chart, hasTools: false }), root);
  };
  draw(first);
  return draw;
}
"""
TIME_MAP = """async ([code, words, rounds]) => {
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const root = document.body.appendChild(document.createElement("div"));
  root.className = "regard";
  root.style.width = "640px";
  const labels = Array.from({ length: words }, (_, index) => `w${index}`);
  const weight = (k) => (_, at) => Math.abs(Math.sin(at * 12.9 + k));
  const maps = [0, 1].map((k) => Float32Array.from({ length: words * words }, weight(k)));
  const draw = module.timedMap(root, labels, maps[0]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const settled = async () => { for (let i = 0; i < 4; i += 1) await Promise.resolve(); root.getBoundingClientRect(); };
  const frames = [];
  const hovers = [];
  for (let round = 0; round < rounds; round += 1) {
    let start = performance.now();
    draw(maps[(round + 1) % 2]);
    await settled();
    frames.push(performance.now() - start);
  }
  const area = root.querySelector(".map-area");
  const box = area.getBoundingClientRect();
  for (let round = 0; round < rounds; round += 1) {
    const [x, y] = [box.left + box.width * (0.3 + (round % 9) / 20), box.top + box.height * (0.3 + (round % 7) / 20)];
    const start = performance.now();
    area.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
    await settled();
    hovers.push(performance.now() - start);
  }
  return { frames, hovers };
}"""
TIME_KEYS = """async (rounds) => {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const buttons = [...document.querySelectorAll(".key-button")];
    const button = buttons[round % buttons.length];
    if (button.getAttribute("aria-pressed") === "true") continue;
    const start = performance.now();
    button.click();
    for (let i = 0; i < 6; i += 1) await Promise.resolve();
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  return times;
}"""
TIME_SLIDER = """async (rounds) => {
  const input = document.querySelector("main.panel input[type=range]");
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 120));
    await frame();
    const start = performance.now();
    input.value = String(100 + (round % 20));
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""


def time_rows(before: Side, folder: Path) -> Iterator[Row]:
    """Medians in milliseconds of four interactions with both versions, in turn."""
    web = os.path.relpath(FOLDER, folder)
    (folder / "map.js").write_text(NEW_MAP % {"web": web if web.startswith(".") else f"./{web}"}, encoding="utf-8")
    maps = {
        False: old_bundle(before.modules, "heatmap.js") + OLD_MAP,
        True: bundle(folder / "map.js", exports=("timedMap",)),
    }
    pages = {False: folder / "old.html", True: folder / "new.html"}
    pages[False].write_text(run_python(before.folder, OLD_FILE), encoding="utf-8")
    pages[True].write_text(run_python(ROOT, NEW_FILE), encoding="utf-8")
    found: dict[str, dict[bool, list[float]]] = {}
    with opened() as page:
        for is_new in (False, True, False, True):
            for name, times in timed(page, maps[is_new], pages[is_new]).items():
                found.setdefault(name, {False: [], True: []})[is_new] += times
    for name, both in found.items():
        yield f"ms: {name}", *(round(statistics.median(both[is_new]), 1) for is_new in (False, True))
    yield "kB of the same single file", *(round(pages[is_new].stat().st_size / 1000) for is_new in (False, True))


def timed(page: Page, code: str, file: Path) -> dict[str, list[float]]:
    page.goto("about:blank")
    drawn = page.evaluate(TIME_MAP, [code, WORDS, ROUNDS])
    page.goto(f"{file.as_uri()}#inside?mode=own")
    open_own_sentence(page)
    keys = page.evaluate(TIME_KEYS, ROUNDS)
    page.goto("about:blank")
    page.goto(f"{file.as_uri()}#positions")
    page.wait_for_selector("main.panel input[type=range]")
    page.wait_for_timeout(500)
    slider = page.evaluate(TIME_SLIDER, ROUNDS)
    return {
        "another key in Inside": keys,
        f"a frame of a {WORDS} x {WORDS} map": drawn["frames"],
        f"hover over a {WORDS} x {WORDS} map": drawn["hovers"],
        "a step of a slider in Positions, to the next frame": slider,
    }


def open_own_sentence(page: Page) -> None:
    """Inside over the file's own sentence; the old page has a button for it, the new one an address."""
    page.wait_for_selector(".segments button")
    own = page.locator("main.panel .segments button", has_text="Your sentence")
    if own.count() and own.first.get_attribute("aria-pressed") == "false":
        own.first.click()
    page.wait_for_selector(".key-button")
    page.wait_for_timeout(500)


@contextmanager
def opened() -> Iterator[Page]:
    executable = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if executable is None:
        sys.exit(f"no Chromium on the PATH ({', '.join(BROWSERS)})")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
        browser.close()


# --- bounds


def check(rows: dict[str, tuple[Any, Any]]) -> int:
    """Print the bounds that are missed."""
    times = {name: both for name, both in rows.items() if name.startswith("ms: ")}
    inside = next(both for name, both in times.items() if "Inside" in name)
    bounds: dict[str, Callable[[], bool]] = {
        "no imperative DOM sites": lambda: rows["imperative DOM sites outside core/"][1] == 0,
        "no type errors": lambda: rows["errors of tsc --strict"][1] == 0,
        f"at most {MAX_REQUESTS} static requests": lambda: rows["static requests of a first visit"][1] <= MAX_REQUESTS,
        f"at most {MAX_BYTES:,} bytes": lambda: rows["bytes sent for them"][1] <= MAX_BYTES,
        "a single file is not larger": lambda: (
            rows["kB of the same single file"][1] <= rows["kB of the same single file"][0]
        ),
        f"nothing slower than {MAX_RATIO}x": lambda: all(new <= MAX_RATIO * old for old, new in times.values()),
        f"Inside at least {MIN_INSIDE:.0f}x faster": lambda: inside[1] * MIN_INSIDE <= inside[0],
    }
    missed = [name for name, holds in bounds.items() if not holds()]
    print("\n" + (f"missed: {json.dumps(missed)}" if missed else "every bound holds"))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())

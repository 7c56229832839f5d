"""The pictures of the page in docs/images, taken from a running server; take them again when the page changes.

    .venv/bin/regard serve en-fr en-fr-rnn-attention en-fr-rnn world-en-ko world-decoder-only world-encoder-only \
        world-classifier --run runs/world-transformer
    .venv/bin/python benchmarks/pictures.py http://127.0.0.1:8000 --out docs/images

The run is that of recipes/world-transformer.toml; *Training* shows it. A picture has the size of a browser's window.
"""

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

WIDTH, HEIGHT = 1200, 900
PATIENCE = 60_000  # milliseconds until a view has drawn everything
CATS = {"model": "en-fr", "text": "She has a black cat and a white dog."}
HOUSE = {"model": "en-fr", "text": "They live in a small white house."}  # a head agrees the adjective with its noun
WORLD = {"model": "world-en-ko", "text": "AI changes the world"}


@dataclass(frozen=True)
class Picture:
    """A view, its place in the address, and what is in the middle of the picture."""

    name: str
    view: str
    query: dict[str, str]
    shown: str = "main svg"  # is drawn last
    locale: str = "en-US"
    is_dark: bool = False
    whole: str = ""  # the picture is this element, at any height
    top: str = ""  # scroll to this heading first


PICTURES = (
    Picture("start", "start", {}, shown="main h1"),
    Picture("translate", "translate", {**CATS, "pinned": "target.4"}),
    Picture("translate-ko-dark", "translate", {**WORLD, "pinned": "target.1"}, locale="ko-KR", is_dark=True),
    Picture("inside", "inside", {**CATS, "mode": "own", "query": "5"}, top="Compare the query with every key"),
    Picture("heads", "heads", CATS),
    Picture("language", "language", {"model": "world-encoder-only", "text": "가수 열두 ___ 간호사를 부른다"}),
    Picture("positions", "positions", CATS),
    Picture("compare", "compare", {"model": "en-fr", "text": "I want to go home."}),
    Picture("training", "training", {"run": "world-transformer"}),
    Picture("decide", "decide", {"model": "world-classifier"}, shown="main .bars"),
    Picture(
        "what-if",
        "translate",
        {**HOUSE, "what_if": "1", "changes": "cross.2.4=zero", "needs": "1", "predict": "6"},
        whole=".what-if",
    ),
)


def take(browser: Browser, server: str, picture: Picture, out: Path) -> None:
    """Write one picture, once the view has drawn what it loads."""
    scheme = "dark" if picture.is_dark else "light"
    size = {"width": WIDTH, "height": HEIGHT}
    context = browser.new_context(locale=picture.locale, color_scheme=scheme, viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{server.rstrip('/')}/#{picture.view}?{urlencode(picture.query)}")
    page.locator(picture.shown).locator("visible=true").first.wait_for()
    page.wait_for_load_state("networkidle")
    if picture.top:
        page.get_by_role("heading", name=picture.top).evaluate("(heading) => heading.closest('.card').scrollIntoView()")
    path = out / f"{picture.name}.png"
    if picture.whole:
        page.locator(picture.whole).first.screenshot(path=path)
    else:
        page.screenshot(path=path)
    print(path, f"{path.stat().st_size:,} bytes")
    context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="address of `regard serve`")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--only", nargs="+", help="names of pictures")
    options = parser.parse_args()
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for picture in PICTURES:
            if not options.only or picture.name in options.only:
                take(browser, options.server, picture, options.out)
        browser.close()


if __name__ == "__main__":
    main()

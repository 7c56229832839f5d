"""A real Chromium, where one is installed; elsewhere the tests that need it are skipped, with the reason."""

import shutil
from collections.abc import Iterator

import pytest

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """One browser for all tests; each opens a context of its own."""
    executable = next((path for name in NAMES if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip(f"no Chromium on the PATH ({', '.join(NAMES)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()

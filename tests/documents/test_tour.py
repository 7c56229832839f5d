"""The tour leads through at most eight files, all of which are there, and links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_tour_has_at_most_eight_stops() -> None:
    stops = re.findall(r"^\d+\. \*\*\[(.+?)\]", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert 3 <= len(stops) <= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target

"""The tour leads through at most eight files, all of which are there, and links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_tour_has_at_most_eight_stops() -> None:
    stops = re.findall(r"^\d+\. \*\*\[(.+?)\]", (ROOT / "docs" / "tour.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert 3 <= len(stops) <= 8


@pytest.mark.parametrize("name", ["tour", "notation", "page", "language"])
def test_both_languages_lead_to_the_same_files_and_explain_the_same_names(name: str) -> None:
    english, korean = (
        re.sub(r" +# .*", "", (ROOT / "docs" / f"{name}{ending}").read_text(encoding="utf-8")).replace(".ko.md", ".md")
        for ending in (".md", ".ko.md")
    )
    for wanted in (r"\]\((\.\./[^)]+)\)", r"`[^`]+`", r"^\| ([A-Z]) \|"):  # sorted: Korean has another word order
        assert sorted(re.findall(wanted, english, re.MULTILINE)) == sorted(re.findall(wanted, korean, re.MULTILINE))
    commands = [re.findall(r"^    (\S.*)$", text, re.MULTILINE) for text in (english, korean)]
    assert commands[0] == commands[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
